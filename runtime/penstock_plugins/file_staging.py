"""Lines that several processes have made ready, each in a file of its own, until one process appends them in their order."""

import mmap
import os
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from penstock import ConnectError, RetriableError
from penstock_plugins.file_append import LineFile

__all__ = ["Stage", "append_staged", "discard_staged"]


_AT_ONCE: Final = mmap.MAP_PRIVATE | getattr(mmap, "MAP_POPULATE", 0)
"""Linux maps all pages in one go."""


class Stage:
    """A process's temporary files for lines that are to go to the file at `path`: two that take turns.

    While the lines of one part are appended, those of the next are kept in the other.
    """

    def __init__(self, path: str) -> None:
        self._folder = _folder(path)
        self._path = path
        self._files: list[tuple[int, str] | None] = [None, None]
        self._turn = 0
        self._size = 0

    def add(self, data: bytes) -> None:
        """Keep data behind what the present part holds already.

        Raises:
            RetriableError: there is no room for it.
        """
        try:
            fd = self._opened()
            # Over what an earlier part has left: memory that is written anew costs a tenth of new memory.
            left, at = memoryview(data), self._size
            while left:
                written = os.pwrite(fd, left, at)
                left, at = left[written:], at + written
        except OSError as e:
            raise RetriableError(
                f"Cannot keep {len(data)} bytes for file {self._path} in the temporary folder {self._folder}: {e.strerror}. "
                f"Make room there, or set TMPDIR to a folder that has some (twice `batch.max.bytes`)."
            ) from e
        self._size = at

    def end(self) -> tuple[str, int] | None:
        """End the part: the file's name and how many of its bytes count; None when it is empty."""
        file, size = self._files[self._turn], self._size
        if file is None or not size:
            return None
        self._size = 0
        self._turn = 1 - self._turn
        return file[1], size

    def close(self) -> None:
        """Remove the files; calling it again does nothing."""
        self._size = 0
        for turn in range(2):
            self._remove(turn)

    def _opened(self) -> int:
        file = self._files[self._turn]
        if file is not None and (self._size or os.fstat(file[0]).st_nlink):
            return file[0]
        self._remove(self._turn)  # it was discarded with a batch that failed
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._files[self._turn] = file = tempfile.mkstemp(dir=self._folder)
        return file[0]

    def _remove(self, turn: int) -> None:
        file, self._files[turn] = self._files[turn], None
        if file is not None:
            os.close(file[0])
            with suppress(OSError):
                os.unlink(file[1])  # noqa: PTH108 (beside the calls that made it)


def append_staged(file: LineFile, name: str, size: int) -> None:
    """Append the first `size` bytes of a process's temporary file.

    Raises:
        RetriableError: the file's device is full; nothing of it is appended.
        ConnectError: the temporary file is gone.
    """
    try:
        with Path(name).open("rb") as staged:
            data = mmap.mmap(staged.fileno(), size, _AT_ONCE, mmap.PROT_READ)
    except (OSError, ValueError) as e:
        raise ConnectError(
            f"Lines that were kept in {name} cannot be read: {e}. Somebody has removed them; nothing is lost: their "
            f"records are not committed and come again after a restart."
        ) from e
    file.append(data)


def discard_staged(path: str) -> None:
    """Forget what is kept for the file at `path`: the records come again."""
    with suppress(OSError):
        for staged in _folder(path).iterdir():
            with suppress(OSError):
                staged.unlink()


def _folder(path: str) -> Path:
    """One for each file, the same in all processes of a task, which have a temporary folder of their own."""
    return Path(tempfile.gettempdir()) / f"staged-{sha256(os.path.abspath(path).encode()).hexdigest()[:16]}"  # noqa: PTH100
