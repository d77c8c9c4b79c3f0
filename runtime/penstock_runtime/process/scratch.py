"""Temporary folders that are removed with their owner: a sink's end file, Spark's files and sockets, `TMPDIR` of children.

A process that is killed cannot remove its folder, so the next one does. The owner holds a lock on the folder, which the
kernel releases at the owner's end. An age or a process id would be no proof that it has ended.
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
"""The subfolder of the end file, by which a sink's workers are asked to end their parts."""
_PREFIX: Final = "penstock-scratch-"
_SOCKET_LIMIT: Final = 107 - len("/.") - 36 - len(".sock")
"""The longest folder in which the path of PySpark's sockets (`.<uuid>.sock`) is short enough for the kernel."""
_SHORT: Final = Path("/tmp")  # noqa: S108 (the shortest there is; the folder in it is private)


class Scratch:
    """A private folder in the temporary folder, until `remove`, or until a `sweep` after the owner's end."""

    def __init__(self, within: Path | None = None) -> None:
        self._within = Path(tempfile.gettempdir()) if within is None else within
        self.path, self._lock = _create_locked(self._within)
        self._short: Scratch | None = None

    @property
    def slots(self) -> Path:
        """The folder of the end file."""
        folder = self.path / SLOTS
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def sockets(self) -> Path | None:
        """A folder in which paths of sockets are short enough; None: there is none, Spark uses TCP. Raises nothing."""
        if len(os.fsencode(self.path)) <= _SOCKET_LIMIT:
            return self.path
        if self._short is None:
            with suppress(OSError):
                self._short = Scratch(_SHORT)
        return None if self._short is None else self._short.path

    def become_temporary(self) -> None:
        """Make it the folder of temporary files of this process and of those that it starts from now on."""
        os.environ["TMPDIR"] = str(self.path)
        tempfile.tempdir = None  # looked up anew

    def remove(self) -> None:
        """Remove the folder with its content. May be called again."""
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
    """Remove the folders of this user whose owners have ended."""
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
    """Whether this process holds the folder's lock, because no other does; until the end of the block."""
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
