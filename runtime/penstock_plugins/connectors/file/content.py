"""The content of a file that has or had the path, and the search for it beside the path."""

from collections.abc import Collection, Iterable

from penstock_plugins.connectors.file.fingerprint import Fingerprint, fingerprint_at, is_end
from penstock_plugins.connectors.file.handles import Handle, open_at
from penstock_plugins.connectors.file.siblings import Sibling, list_siblings

__all__ = ["Content", "find_copy", "find_moved", "has_end"]

_SECOND = 1_000_000_000  # nanoseconds


class Content:
    """The content of a file between two truncations.

    Args:
        handle: of the file.
        number: the number of files that had the path before.
        now: seconds.
        before: `Fingerprint.end` of the file before.
        modified: as `Fingerprint.modified`; by default the time of the last write.
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
        """The time of the last write that was seen while the file had the path."""
        self.met = self.modified
        """The time of the last write when the file was opened."""
        self.checked = -1
        """The time of the last write when the fingerprint was last compared."""
        self.changed_at = now
        self.end = ""
        """Its `Fingerprint.end`, once it is finished and was not empty."""
        self.seen = handle.size()
        """The size that was seen last."""
        self.lost = False
        """The rest of the content cannot be read any more."""
        self.looked_from = -1
        self.looked = 0
        """No line ends between `looked_from` and this position."""

    def fingerprint(self, position: int) -> Fingerprint | None:
        """The fingerprint at this position; None if the file is shorter now."""
        return fingerprint_at(self.handle.fd, position, file=self.number, modified=self.modified, before=self.before)

    def is_file(self, file: Sibling) -> bool:
        """Whether it is the content of this file beside the path."""
        return (self.handle.device, self.handle.inode) == (file.device, file.inode)


def find_moved(path: str, mark: Fingerprint) -> Handle | None:
    """The file of a fingerprint under another name beside the path: inode and content match.

    Its name may be anything, unless nothing was read of the file: then only the inode can match, and a compressed file may
    have got it since.
    """
    files = [
        b for b in list_siblings(path, [mark.inode])
        if mark.has_inode(b.inode) and (mark.position or (b.mark and not b.compressed))
    ]  # fmt: skip
    return _first_matching(files, mark)


def find_copy(path: str, mark: Fingerprint, ends: Collection[str]) -> Handle | None:
    """A copy of the content up to a fingerprint, beside the path.

    It must be written since then: an older file may begin with the same bytes. Finished files are excluded. Of several
    copies the longest is taken, then the newest.
    """
    if not mark.position:
        return None
    files = [
        b
        for b in list_siblings(path)
        if not b.compressed and b.size >= mark.position and _is_written_since(b, mark.modified)
    ]
    files.sort(key=lambda b: (b.size, b.modified), reverse=True)
    return _first_matching(files, mark, ends)


def has_end(handle: Handle, ends: Iterable[str]) -> bool:
    """Whether the file is one of the finished files."""
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
    """Whether the file was written at `modified` or later. A copy may have its original's time in whole seconds."""
    whole = file.modified % _SECOND == 0
    return file.modified >= (modified - modified % _SECOND if whole else modified)
