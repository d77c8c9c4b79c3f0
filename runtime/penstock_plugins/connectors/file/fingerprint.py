"""What a position in a file stands beside, so that a later life can tell whether a file is the one that it lies in.

The bytes before the position decide: a digest of the first and the last kilobyte of them. An inode is a hint only, for a
copy has another one, and a new file may get that of a deleted one. A file that is still short, or of which nothing is
read yet, has no more to tell than it holds: what is alike in all those bytes counts as one file, unless the file with the
inode lies there too.
"""

import hashlib
import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock import Offset

__all__ = ["Fingerprint", "digest_before", "fingerprint_at", "is_end"]

_SAMPLE: Final = 1024  # bytes
_INODES: Final = (1 << 63) - 1
"""Java's `long` holds so much of an inode."""


class Fingerprint(NamedTuple):
    """A position and its file, as they stand in the offsets topic.

    Attributes:
        position: bytes of the file that are read. A position that somebody else wrote is another one, and has no
            fingerprint.
        file: how many files had the path before this one, as far as is known: tells files with the same bytes apart.
        inode: of the file.
        modified: when the file was last written, as it was known with the position; nanoseconds of its file system's
            clock. Files that had the path later were written later.
        digest: of the bytes before the position.
        before: the same of the file that had the path before, at its end: `<inode>-<position>-<digest>`, or nothing.
    """

    position: int
    file: int
    inode: int
    modified: int
    digest: str
    before: str = ""

    @classmethod
    def of(cls, offset: Offset) -> "Fingerprint | None":
        """What was stored; None where it is none that we know."""
        texts, numbers = ("digest", "before"), ("position", "file", "inode", "modified")
        if not all(isinstance(offset.get(name), str) for name in texts):
            return None
        if not all(type(offset.get(name)) is int for name in numbers):
            return None
        return cls(**{name: offset[name] for name in (*numbers, *texts)})  # type: ignore[arg-type]

    def offset(self) -> Mapping[str, str | int]:
        """To be stored."""
        return self._asdict()

    @property
    def end(self) -> str:
        """For `before` of the next file."""
        return f"{self.inode}-{self.position}-{self.digest}"

    def has_inode(self, inode: int) -> bool:
        """Whether that is the file's."""
        return self.inode == inode & _INODES

    def holds(self, fd: int) -> bool:
        """Whether what that file holds before the position is what was read."""
        return digest_before(fd, self.position) == self.digest


def is_end(end: str, fd: int) -> bool:
    """Whether a file is the one with this `Fingerprint.end`: here the inode must agree too."""
    inode, _, rest = end.partition("-")
    position, _, digest = rest.partition("-")
    try:
        return int(inode) == os.fstat(fd).st_ino & _INODES and digest_before(fd, int(position)) == digest
    except ValueError:
        return False


def fingerprint_at(fd: int, position: int, *, file: int, modified: int, before: str) -> Fingerprint | None:
    """The fingerprint of an open file at a position; None when it has become shorter than that."""
    digest = digest_before(fd, position)
    if digest is None:
        return None
    return Fingerprint(position, file, os.fstat(fd).st_ino & _INODES, modified, digest, before)


def digest_before(fd: int, position: int) -> str | None:
    """Of the first and the last kilobyte before `position`, as hexadecimal digits; None when the file is shorter."""
    global _last
    sample = min(position, _SAMPLE)
    digested = os.pread(fd, sample, 0) + os.pread(fd, sample, position - sample)
    if len(digested) < 2 * sample:
        return None
    known, digest = _last  # the same place is asked for when a batch is planned, when it is read, and by the next plan
    if known != digested:
        digest = hashlib.blake2b(digested, digest_size=16).hexdigest()
        _last = digested, digest
    return digest


_last = (b"", hashlib.blake2b(digest_size=16).hexdigest())
"""What was digested last, and its digest: to compare bytes costs a fraction. One object, as threads share it."""
