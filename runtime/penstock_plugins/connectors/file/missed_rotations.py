"""Search for files that were at the path between two checks.

They are now in its folder under other names, and are read in the order in which they were at the path.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from penstock import RetriableError
from penstock_plugins.connectors.file.content import Content
from penstock_plugins.connectors.file.handles import Handle, open_at
from penstock_plugins.connectors.file.renamed_files import has_end
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
    """Files that were at the path, or may have been there.

    Attributes:
        handles: files to read, oldest first.
        unread: other files written in that time: their names are ambiguous, or they are compressed.
    """

    handles: list[Handle]
    unread: list[Sibling]


def find_missed(
    path: str,
    last: Content,
    known: Collection[Handle],
    ends: Collection[str],
    *,
    since: int,
    most: int,
    until: int | None = None,
) -> MissedFiles:
    """Return the files that were at the path after `last`, or copies of its content before it was truncated.

    A file is read if its name is that of a rotated file (`AFTER`; `INSIDE` if the last file has such a name now, too), if it
    was written at `since` or later, and if it is neither open (`known`) nor finished (`ends`).

    Args:
        path: the path as configured.
        last: previous file with this path. If it is lost, its name is unknown.
        known: open files.
        ends: `Fingerprint.end` of the finished files.
        since: time in nanoseconds.
        most: maximum number of files to open.
        until: time in nanoseconds; ignore files written then or later, and files whose names show that they were at the
            path later.

    Raises:
        RetriableError: there is no permission to read a file, or the folder keeps changing.
    """
    for _ in range(_MAX_TRIES):
        missed = _find_once(path, last, known, ends, since, most, until)
        if missed is not None:
            return missed
    raise RetriableError(f"cannot find rotated files of {path}: files in its folder keep being renamed; retrying")


def _find_once(
    path: str, last: Content, known: Collection[Handle], ends: Collection[str], since: int, most: int, until: int | None
) -> MissedFiles | None:
    files = list_siblings(path, [last.handle.inode])
    renamed = None if last.lost else next((b for b in files if last.is_file(b)), None)
    open_files = {(h.device, h.inode) for h in known}
    later = written_since((b for b in files if b.size and (b.device, b.inode) not in open_files), since, renamed)
    if until is not None:
        later = [b for b in later if b.modified < until and not (renamed and is_named_later(b, renamed))]
    readable = {RotationName.AFTER}
    if renamed is not None and renamed.naming is RotationName.INSIDE:
        readable.add(RotationName.INSIDE)
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
        raise RetriableError(f"cannot read rotated file {file.path}: {e.strerror}") from e


def _was_read(file: Sibling, ends: Collection[str]) -> bool:
    handle = _open(file)
    if handle is None:
        return True  # it was deleted
    try:
        return has_end(handle, ends)
    finally:
        handle.close()


def _close(handles: list[Handle]) -> None:
    for handle in handles:
        handle.close()
