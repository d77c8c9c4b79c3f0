"""Files that had the path for a while although nobody looked: found beside it, in the order in which they had it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from penstock import RetriableError
from penstock_plugins.connectors.file.content import Content, has_end
from penstock_plugins.connectors.file.handles import Handle, open_at
from penstock_plugins.connectors.file.siblings import (
    RotationName,
    Sibling,
    is_named_later,
    list_siblings,
    written_since,
)

__all__ = ["MissedFiles", "find_missed"]

_MAX_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class MissedFiles:
    """What was found.

    Attributes:
        handles: files to be read, oldest first.
        unread: others that were written meanwhile, by whose names nobody can tell, or that are compressed.
    """

    handles: list[Handle]
    unread: list[Sibling]


def find_missed(
    path: str, last: Content, known: Collection[Handle], ends: Collection[str], *, since: int, most: int,
    until: int | None = None,
) -> MissedFiles:  # fmt: skip
    """The files that had the path after `last`, or held its content before it was truncated.

    Those are read whose names say that they were rotated (`Naming.AFTER`; `Naming.INSIDE` where the last file has gone the
    same way), that were written at `since` or later, and that are neither `known` nor were read to their `ends`.

    Args:
        path: as configured.
        last: the file that had the path before; a lost one may be any.
        known: files that are open.
        ends: as `Fingerprint.end`.
        since: nanoseconds.
        most: how many are opened.
        until: nanoseconds; only what was last written before, and whose name does not say that it had the path after `last`.

    Raises:
        RetriableError: one may not be read, or the folder changes all the time.
    """
    for _ in range(_MAX_TRIES):
        found = _find_once(path, last, known, ends, since, most, until)
        if found is not None:
            return found
    raise RetriableError(f"The files beside {path} are renamed again and again; they are looked through later.")


def _find_once(
    path: str, last: Content, known: Collection[Handle], ends: Collection[str], since: int, most: int, until: int | None
) -> MissedFiles | None:
    files = list_siblings(path, [last.handle.inode])
    own = None if last.lost else next((b for b in files if last.is_file(b)), None)
    open_files = {(h.device, h.inode) for h in known}
    later = written_since((b for b in files if b.size and (b.device, b.inode) not in open_files), since, own)
    if until is not None:
        later = [b for b in later if b.modified < until and not (own is not None and is_named_later(b, own))]
    readable = {RotationName.AFTER} | ({own.naming} if own is not None and own.naming is RotationName.INSIDE else set())
    written = since - 1 if last.lost else max(since, last.handle.modified())
    handles: list[Handle] = []
    unread = []
    for file in later:
        if file.naming not in readable:
            if file.modified > written and not (file.naming is RotationName.INSIDE and _was_read(file, ends)):
                unread.append(file)
        elif len(handles) < most:
            handle = _open(file)
            if handle is None:
                _close(handles)
                return None
            if has_end(handle, ends):
                handle.close()
            else:
                handles.append(handle)
    return MissedFiles(handles, unread)


def _open(file: Sibling) -> Handle | None:
    try:
        return open_at(file.path, file.device, file.inode)
    except OSError as e:
        raise RetriableError(f"File {file.path} had the path before and cannot be read: {e.strerror}.") from e


def _was_read(file: Sibling, ends: Collection[str]) -> bool:
    handle = _open(file)
    if handle is None:
        return True  # it is gone
    try:
        return has_end(handle, ends)
    finally:
        handle.close()


def _close(handles: list[Handle]) -> None:
    for handle in handles:
        handle.close()
