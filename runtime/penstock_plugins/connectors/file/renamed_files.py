"""Search for the file of a fingerprint in the folder of the path: the file under another name, or a copy of it."""

from collections.abc import Collection, Iterable
from typing import Final

from penstock_plugins.connectors.file.fingerprint import Fingerprint, is_end
from penstock_plugins.connectors.file.handles import Handle, open_at
from penstock_plugins.connectors.file.siblings import Sibling, list_siblings

__all__ = ["find_copy", "find_renamed", "has_end"]

_NANOSECONDS: Final = 1_000_000_000
"""Nanoseconds per second."""


def find_renamed(path: str, mark: Fingerprint) -> Handle | None:
    """Open the file of a fingerprint under another name in the folder of the path: inode and content match.

    It may have any name, unless nothing was read of the file: then only the inode can match, and a compressed file may
    have reused it.
    """
    files = [
        b
        for b in list_siblings(path, [mark.inode])
        if mark.has_inode(b.inode) and (mark.position or (b.mark and not b.compressed))
    ]
    return _open_first_match(files, mark)


def find_copy(path: str, mark: Fingerprint, ends: Collection[str]) -> Handle | None:
    """Open a copy of the content up to a fingerprint, in the folder of the path.

    The copy must not be older than the time in the fingerprint: an older file may begin with the same bytes. Finished files
    are excluded. The longest copy is opened; among copies of that length, the newest.
    """
    if not mark.position:
        return None
    files = [
        b
        for b in list_siblings(path)
        if not b.compressed and b.size >= mark.position and _is_written_since(b, mark.modified)
    ]
    files.sort(key=lambda b: (b.size, b.modified), reverse=True)
    return _open_first_match(files, mark, ends)


def has_end(handle: Handle, ends: Iterable[str]) -> bool:
    """Return whether the file is one of the finished files."""
    return any(is_end(end, handle.fd) for end in ends)


def _open_first_match(files: Iterable[Sibling], mark: Fingerprint, ends: Collection[str] = ()) -> Handle | None:
    for file in files:
        handle = open_at(file.path, file.device, file.inode)
        if handle is None:
            continue
        if mark.holds(handle.fd) and not has_end(handle, ends):
            return handle
        handle.close()
    return None


def _is_written_since(file: Sibling, modified: int) -> bool:
    """Return whether the file was written at `modified` or later. A copy may have its original's time in whole seconds."""
    whole = file.modified % _NANOSECONDS == 0
    return file.modified >= (modified - modified % _NANOSECONDS if whole else modified)
