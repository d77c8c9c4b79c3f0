"""Content of a file that is or was at the path."""

from penstock_plugins.connectors.file.fingerprint import Fingerprint, fingerprint_at
from penstock_plugins.connectors.file.handles import Handle
from penstock_plugins.connectors.file.siblings import Sibling

__all__ = ["Content"]


class Content:
    """Content of a file between two truncations.

    Args:
        handle: handle of the file.
        number: number of earlier files with this path.
        now: current time in seconds.
        before: `Fingerprint.end` of the previous file.
        modified: see `Fingerprint.modified`; default: the time of the last write.
    """

    __slots__ = (
        "before",
        "changed_at",
        "checked",
        "end",
        "handle",
        "looked",
        "looked_from",
        "lost",
        "met",
        "modified",
        "number",
        "seen",
    )

    def __init__(
        self, handle: Handle, number: int, now: float, *, before: str = "", modified: int | None = None
    ) -> None:
        self.handle = handle
        self.number = number
        self.before = before
        self.modified = handle.modified() if modified is None else modified
        """Time of the last write that was observed while the file was at the path."""
        self.met = self.modified
        """Time of the last write when the file was opened."""
        self.checked = -1
        """Time of the last write when the fingerprint was last compared."""
        self.changed_at = now
        self.end = ""
        """`Fingerprint.end` of the finished content; empty before that, and if the file is empty."""
        self.seen = handle.size()
        """Last observed size."""
        self.lost = False
        """Whether the rest of the content can no longer be read."""
        self.looked_from = -1
        self.looked = 0
        """Position up to which no line ending was found, starting at `looked_from`."""

    def fingerprint(self, position: int) -> Fingerprint | None:
        """Return the fingerprint at this position; None if the file is shorter now."""
        return fingerprint_at(self.handle.fd, position, file=self.number, modified=self.modified, before=self.before)

    def is_file(self, file: Sibling) -> bool:
        """Return whether this is the content of the given sibling file."""
        return (self.handle.device, self.handle.inode) == (file.device, file.inode)
