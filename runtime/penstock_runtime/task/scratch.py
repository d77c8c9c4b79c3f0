"""Folders for what lives no longer than its owner: a task's slots, Spark's files and sockets, `TMPDIR` of its children.

An owner that is killed cannot tidy up, so the next one does. Whether an owner lives is told by a lock on the folder
itself, which the kernel takes back at the owner's end: neither an age nor a process id, both of which can deceive.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

__all__ = ["SLOTS", "Scratch", "sweep"]

SLOTS: Final = "slots"
"""The folder in it where workers hold locks of their own: while one does, the folder stays."""
_PREFIX: Final = "penstock-scratch-"
_SOCKET_LIMIT: Final = 107 - len("/.") - 36 - len(".sock")
"""The longest folder in which PySpark's sockets (`.<uuid>.sock`) have a name that the kernel takes."""
_SHORT: Final = Path("/tmp")  # noqa: S108 (the shortest there is; the folder in it is private)


class Scratch:
    """A private folder in the temporary folder, from here to `remove`, or to the `sweep` after its owner's death."""

    def __init__(self, within: Path | None = None) -> None:
        self._within = Path(tempfile.gettempdir()) if within is None else within
        self.path, self._lock = _made(self._within)
        self._short: Scratch | None = None

    @property
    def slots(self) -> Path:
        """Where workers take their slots."""
        folder = self.path / SLOTS
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def sockets(self) -> Path | None:
        """A folder whose sockets have names that are short enough; None where there is none.

        Raises nothing: without one, Spark speaks TCP to its workers.
        """
        if len(os.fsencode(self.path)) <= _SOCKET_LIMIT:
            return self.path
        if self._short is None:
            with suppress(OSError):
                self._short = Scratch(_SHORT)
        return None if self._short is None else self._short.path

    def become_temporary(self) -> None:
        """Let this process and those that it starts from now on put their temporary files here."""
        os.environ["TMPDIR"] = str(self.path)
        tempfile.tempdir = None  # looked up anew

    def remove(self) -> None:
        """Remove it with all that is in it; harmless when it is gone."""
        if self._short is not None:
            self._short.remove()
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def sweep() -> None:
    """Remove the folders of this user whose owners are dead, and whose workers are too."""
    for within in {Path(tempfile.gettempdir()), _SHORT}:
        for folder in within.glob(f"{_PREFIX}*"):
            with suppress(OSError), _owned(folder) as dead:
                if dead and not any(_held(slot) for slot in folder.glob(f"{SLOTS}/*")):
                    shutil.rmtree(folder, ignore_errors=True)


def _made(within: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=within))
        lock = -1
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.samefile(f"/dev/fd/{lock}"):
                return folder, lock
        except FileNotFoundError:  # somebody has swept it away before it was locked
            pass
        if lock >= 0:
            os.close(lock)


@contextmanager
def _owned(folder: Path) -> Iterator[bool]:
    """Whether we own it now, since nobody else does; until the end of the block."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield os.fstat(lock).st_uid == os.getuid() and _taken(lock)
    finally:
        os.close(lock)


def _held(file: Path) -> bool:
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _taken(descriptor)
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
