"""Temporary folders, removed when their owner ends: a sink's end file, Spark's files and sockets, `TMPDIR` of children.

A killed process cannot remove its folder, so the next process does. The owner holds a lock on the folder, which the kernel
releases when the owner ends. Neither an age nor a process id would prove that it has ended.
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
"""Subfolder for the end file, which makes a sink's workers finish their parts."""
_PREFIX: Final = "penstock-scratch-"
_SOCKET_LIMIT: Final = 107 - len("/.") - 36 - len(".sock")
"""Maximum length of a folder for PySpark's sockets (`.<uuid>.sock`): the kernel limits the length of their paths."""
_SHORT: Final = Path("/tmp")  # noqa: S108 (the shortest path available; the folder in it is private)


class Scratch:
    """Private folder in the temporary folder. It exists until `remove`, or until a `sweep` after the owner's end."""

    def __init__(self, within: Path | None = None) -> None:
        self._within = Path(tempfile.gettempdir()) if within is None else within
        self.path, self._lock = _create_locked(self._within)
        self._short: Scratch | None = None

    @property
    def slots(self) -> Path:
        """Folder for the end file; created on first access."""
        folder = self.path / SLOTS
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def sockets(self) -> Path | None:
        """Folder in which socket paths are short enough; None: there is none, and Spark uses TCP. Raises nothing."""
        if len(os.fsencode(self.path)) <= _SOCKET_LIMIT:
            return self.path
        if self._short is None:
            with suppress(OSError):
                self._short = Scratch(_SHORT)
        return None if self._short is None else self._short.path

    def become_temporary(self) -> None:
        """Use this folder for temporary files of this process and of processes that it starts from now on."""
        os.environ["TMPDIR"] = str(self.path)
        tempfile.tempdir = None  # clears the cached folder

    def remove(self) -> None:
        """Remove the folder and its contents. Safe to call repeatedly."""
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
    """Remove this user's folders whose owners have ended."""
    for within in {Path(tempfile.gettempdir()), _SHORT}:
        for folder in within.glob(f"{_PREFIX}*"):
            with suppress(OSError), _try_lock(folder) as is_orphan:
                if is_orphan:
                    shutil.rmtree(folder, ignore_errors=True)


def _create_locked(within: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=within))
        lock = -1
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.samefile(f"/dev/fd/{lock}"):
                return folder, lock
        except FileNotFoundError:  # another process has swept it before it was locked
            pass
        if lock >= 0:
            os.close(lock)


@contextmanager
def _try_lock(folder: Path) -> Iterator[bool]:
    """Try to lock the folder until the end of the block; yield whether it is locked. Only its owner may lock it."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield os.fstat(lock).st_uid == os.getuid() and _lock_now(lock)
    finally:
        os.close(lock)


def _lock_now(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
