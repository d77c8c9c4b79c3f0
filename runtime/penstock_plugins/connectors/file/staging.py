"""Lines that several processes have made ready, each in a file of its own, until one process appends them in their order.

They go to the file at a path, or to standard output, whose path is empty.
"""

import mmap
import os
import tempfile
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from penstock import ConnectError, RecordBatch, Reporter, RetriableError, Writer
from penstock_plugins.connectors.file.record_lines import lines_of

__all__ = ["PartFiles", "StagingWriter", "append_staged", "discard_staged"]


_AT_ONCE: Final = mmap.MAP_PRIVATE | getattr(mmap, "MAP_POPULATE", 0)
"""Linux maps all pages in one go."""


_PART: Final = "part-"
_FREE: Final = "free-"


class PartFiles:
    """One process's way to keep lines that are to go to `path`, part after part, each in a file of its own.

    A part's file belongs to its message until `append_staged` or `discard_staged`; then any process may take it for another
    part. So many parts may wait at once as there are, whoever staged them.
    """

    def __init__(self, path: str) -> None:
        self._folder = _folder(path)
        self._target = f"file {path}" if path else "standard output"
        self._part: tuple[int, str] | None = None
        self._size = 0

    def add(self, data: bytes) -> None:
        """Keep data behind what the present part holds already.

        Raises:
            RetriableError: there is no room for it.
        """
        try:
            if self._part is None:
                self._part = self._taken() or self._made()
            left, at = memoryview(data), self._size
            while left:
                written = os.pwrite(self._part[0], left, at)
                left, at = left[written:], at + written
        except OSError as e:
            raise RetriableError(
                f"Cannot keep {len(data)} bytes for {self._target} in the temporary folder {self._folder}: {e.strerror}. "
                f"Make room there, or set TMPDIR to a folder that has some (twice `batch.max.bytes`)."
            ) from e
        self._size = at

    def end(self) -> tuple[str, int] | None:
        """End the part: its file's name and how many of the file's bytes count; None when it is empty."""
        part, size = self._part, self._size
        self._part, self._size = None, 0
        if part is None:
            return None
        os.close(part[0])
        return part[1], size

    def close(self) -> None:
        """Forget the part that is not at its end; calling it again does nothing."""
        part = self.end()
        if part is not None:
            with suppress(OSError):
                os.unlink(part[0])  # noqa: PTH108 (beside the calls that made it)

    def _taken(self) -> tuple[int, str] | None:
        """A file that is free: memory that is written again costs a tenth of new memory."""
        with suppress(FileNotFoundError):
            for free in self._folder.glob(f"{_FREE}*"):
                name = str(self._folder / f"{_PART}{uuid.uuid4().hex}")
                with suppress(FileNotFoundError):  # another process was first
                    free.rename(name)
                    return os.open(name, os.O_RDWR | os.O_CLOEXEC), name
        return None

    def _made(self) -> tuple[int, str]:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        return tempfile.mkstemp(prefix=_PART, dir=self._folder)


class StagingWriter(Writer):
    """The staging half of a writer whose driver half calls `append_staged` for each message."""

    def __init__(self, path: str) -> None:
        self._stage = PartFiles(path)

    def stage(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        """Keep the lines of all records in a temporary file, for `Sink.commit`."""
        data = lines_of(batches)
        if data:
            self._stage.add(data)

    def staged(self) -> Any:
        """Where this process's lines are kept."""
        part = self._stage.end()
        return None if part is None else {"staged": part[0], "bytes": part[1]}

    def close(self) -> None:
        """Forget the part that is not at its end."""
        self._stage.close()


def append_staged(append: Callable[[mmap.mmap], None], name: str, size: int) -> None:
    """Append the first `size` bytes of a part's file, and free it for another part.

    Raises:
        ConnectError: the part is gone.
        Exception: as `append`; the part stays.
    """
    try:
        with Path(name).open("rb") as staged:
            data = mmap.mmap(staged.fileno(), size, _AT_ONCE, mmap.PROT_READ)
    except (OSError, ValueError) as e:
        raise ConnectError(
            f"Lines that were kept in {name} cannot be read: {e}. Somebody has removed them; nothing is lost: their "
            f"records are not committed and come again after a restart."
        ) from e
    append(data)
    with suppress(OSError):
        Path(name).rename(Path(name).with_name(f"{_FREE}{uuid.uuid4().hex}"))


def discard_staged(path: str, *, only_free: bool = False) -> None:
    """Forget what is kept for `path`: the records come again. Or give back the room that no part needs."""
    with suppress(OSError):
        for staged in _folder(path).glob(f"{_FREE}*" if only_free else "*"):
            with suppress(OSError):
                staged.unlink()


def _folder(path: str) -> Path:
    """One for each path, the same in all processes of a task, which have a temporary folder of their own."""
    return Path(tempfile.gettempdir()) / f"staged-{sha256(os.path.abspath(path).encode()).hexdigest()[:16]}"  # noqa: PTH100
