"""What one of the files behind a path holds, and the search for it beside the path."""

from collections.abc import Collection, Iterable

from penstock_plugins.connectors.file.fingerprint import Fingerprint, fingerprint_at, is_end
from penstock_plugins.connectors.file.handles import Handle, open_at
from penstock_plugins.connectors.file.siblings import Sibling, list_siblings

__all__ = ["Content", "find_copy", "find_moved", "has_end"]

_SECOND = 1_000_000_000  # nanoseconds


class Content:
    """What a file holds between two truncations.

    Args:
        handle: the file.
        number: how many files had the path before it.
        now: seconds.
        before: `Fingerprint.end` of the one before it.
        modified: as `Fingerprint.modified`; by default when it was last written.
    """

    __slots__ = (
        "before", "changed_at", "checked", "end", "handle", "looked", "looked_from", "lost",
        "met", "modified", "number", "seen",
    )  # fmt: skip

    def __init__(
        self, handle: Handle, number: int, now: float, *, before: str = "", modified: int | None = None
    ) -> None:
        self.handle = handle
        self.number = number
        self.before = before
        self.modified = handle.modified() if modified is None else modified
        """When it was last written while the path was seen to name it."""
        self.met = self.modified
        """When it was last written as it was found."""
        self.checked = -1
        """When it was last written as its fingerprint was last compared."""
        self.changed_at = now
        self.end = ""
        """Its `Fingerprint.end`, once it is read and something was in it."""
        self.seen = handle.size()
        """The size so far."""
        self.lost = False
        """Nothing more is to be had of it."""
        self.looked_from = -1
        self.looked = 0
        """From `looked_from` to here no line ends."""

    def fingerprint(self, position: int) -> Fingerprint | None:
        """At this position; None where the file has become shorter."""
        return fingerprint_at(self.handle.fd, position, file=self.number, modified=self.modified, before=self.before)

    def is_file(self, file: Sibling) -> bool:
        """Whether it is that file which lies beside the path."""
        return (self.handle.device, self.handle.inode) == (file.device, file.inode)


def find_moved(path: str, mark: Fingerprint) -> Handle | None:
    """The file of a fingerprint under another name beside the path: its inode and its content agree.

    Any name will do, but for a file of which nothing is read: its inode alone says too little, and may have become that of
    a compressed file.
    """
    found = [
        b for b in list_siblings(path, [mark.inode])
        if mark.has_inode(b.inode) and (mark.position or (b.mark and not b.compressed))
    ]  # fmt: skip
    return _first_matching(found, mark)


def find_copy(path: str, mark: Fingerprint, ends: Collection[str]) -> Handle | None:
    """A copy of what was read up to a fingerprint, beside the path: its content agrees.

    Only what was written since is one, not an older file that begins alike, and none that was read to its end. Of several
    the longest, then the newest.
    """
    if not mark.position:
        return None
    found = [
        b
        for b in list_siblings(path)
        if not b.compressed and b.size >= mark.position and _is_written_since(b, mark.modified)
    ]
    found.sort(key=lambda b: (b.size, b.modified), reverse=True)
    return _first_matching(found, mark, ends)


def has_end(handle: Handle, ends: Iterable[str]) -> bool:
    """Whether that file is one of those that were read to their end."""
    return any(is_end(end, handle.fd) for end in ends)


def _first_matching(files: Iterable[Sibling], mark: Fingerprint, ends: Collection[str] = ()) -> Handle | None:
    for file in files:
        handle = open_at(file.path, file.device, file.inode)
        if handle is None:
            continue
        if mark.holds(handle.fd) and not has_end(handle, ends):
            return handle
        handle.close()
    return None


def _is_written_since(file: Sibling, modified: int) -> bool:
    """A copy may have its original's time of the last write, in whole seconds."""
    whole = file.modified % _SECOND == 0
    return file.modified >= (modified - modified % _SECOND if whole else modified)
