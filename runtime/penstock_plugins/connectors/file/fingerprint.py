"""Fingerprint of the file to which a committed position refers, so that the task recognizes the file after a restart.

A file is identified by a digest of the first and the last kilobyte before the position. The inode is only a hint, because a
copy has a different one, and a new file may reuse the inode of a deleted one. A short file, or a file of which nothing was
read, cannot be distinguished from another file with the same bytes; then the file with the right inode is preferred.
"""

import hashlib
import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock import Offset

__all__ = ["Fingerprint", "digest_before", "fingerprint_at", "is_end"]

_SAMPLE: Final = 1024  # bytes
_INODES: Final = (1 << 63) - 1
"""Largest inode that fits Java's `long`; higher bits are cut off."""


class Fingerprint(NamedTuple):
    """Position and its file, as stored in the offsets topic.

    Attributes:
        position: number of bytes read. The fingerprint is valid only with exactly this position.
        file: number of earlier files with this path, as far as they are known. It distinguishes files with the same bytes.
        inode: inode of the file.
        modified: time of the file's last write when the position was planned, in nanoseconds of its file system's
            clock. Files that were at the path later were written later.
        digest: digest of the bytes before the position.
        before: end of the previous file with this path: `<inode>-<position>-<digest>`, or empty.
    """

    position: int
    file: int
    inode: int
    modified: int
    digest: str
    before: str = ""

    @classmethod
    def of(cls, offset: Offset) -> "Fingerprint | None":
        """Return the fingerprint in a stored offset; None if the offset is not in its format."""
        texts, numbers = ("digest", "before"), ("position", "file", "inode", "modified")
        if not all(isinstance(offset.get(name), str) for name in texts):
            return None
        if not all(type(offset.get(name)) is int for name in numbers):
            return None
        return cls(**{name: offset[name] for name in (*numbers, *texts)})  # type: ignore[arg-type]

    def offset(self) -> Mapping[str, str | int]:
        """Return the offset to store."""
        return self._asdict()

    @property
    def end(self) -> str:
        """Return this position as the value of `before` of the next file."""
        return f"{self.inode}-{self.position}-{self.digest}"

    def has_inode(self, inode: int) -> bool:
        """Return whether the file has this inode."""
        return self.inode == inode & _INODES

    def holds(self, fd: int) -> bool:
        """Return whether the open file has the same bytes before the position."""
        return digest_before(fd, self.position) == self.digest


def is_end(end: str, fd: int) -> bool:
    """Return whether an open file matches this `Fingerprint.end`, including its inode."""
    inode, _, rest = end.partition("-")
    position, _, digest = rest.partition("-")
    try:
        return int(inode) == os.fstat(fd).st_ino & _INODES and digest_before(fd, int(position)) == digest
    except ValueError:
        return False


def fingerprint_at(fd: int, position: int, *, file: int, modified: int, before: str) -> Fingerprint | None:
    """Return the fingerprint of an open file at a position; None if the file is shorter now."""
    digest = digest_before(fd, position)
    if digest is None:
        return None
    return Fingerprint(position, file, os.fstat(fd).st_ino & _INODES, modified, digest, before)


def digest_before(fd: int, position: int) -> str | None:
    """Return the digest of the first and the last kilobyte before `position`, in hex; None if the file is shorter."""
    global _last
    sample = min(position, _SAMPLE)
    data = os.pread(fd, sample, 0) + os.pread(fd, sample, position - sample)
    if len(data) < 2 * sample:
        return None
    last_data, digest = _last  # a plan, its read and the next plan need the same digest
    if last_data != data:
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        _last = data, digest
    return digest


_last = (b"", hashlib.blake2b(digest_size=16).hexdigest())
"""Cached bytes of the last call, and their digest: comparing bytes is much faster than computing a digest. One tuple,
because threads share it."""
