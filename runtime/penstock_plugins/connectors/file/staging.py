"""Staging of lines: several processes write them to temporary files, and one process appends them in order.

The target is the file at a path, or standard output, whose path is empty.
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
"""Flags of the mapping. With MAP_POPULATE, Linux maps all pages in the same call."""


_PART: Final = "part-"
_FREE: Final = "free-"


class PartFiles:
    """Writer of lines for `path` to temporary files, one for each part of a batch.

    A part's file is reserved until `append_staged` or `discard_staged`; then any process may reuse it for another part. Any
    number of parts may wait at the same time.
    """

    def __init__(self, path: str) -> None:
        self._folder = _folder(path)
        self._target = f"file {path}" if path else "standard output"
        self._part: tuple[int, str] | None = None
        self._size = 0

    def add(self, data: bytes) -> None:
        """Append data to the current part.

        Raises:
            RetriableError: there is no space left.
        """
        try:
            if self._part is None:
                self._part = self._reuse_file() or self._new_file()
            rest, end = memoryview(data), self._size
            while rest:
                written = os.pwrite(self._part[0], rest, end)
                rest, end = rest[written:], end + written
        except OSError as e:
            raise RetriableError(
                f"cannot stage {len(data)} bytes for {self._target} in temporary folder {self._folder}: {e.strerror}; "
                f"free space there, or set TMPDIR to a folder with enough space (twice `batch.max.bytes`)"
            ) from e
        self._size = end

    def end(self) -> tuple[str, int] | None:
        """End the part. Return its file's name and the number of bytes to append; None if the part is empty."""
        part, size = self._part, self._size
        self._part, self._size = None, 0
        if part is None:
            return None
        os.close(part[0])
        return part[1], size

    def close(self) -> None:
        """Delete a part that has not ended. A second call does nothing."""
        part = self.end()
        if part is not None:
            with suppress(OSError):
                os.unlink(part[0])  # noqa: PTH108 (next to the os calls that made it)

    def _reuse_file(self) -> tuple[int, str] | None:
        """Reuse a free file: overwriting its memory takes a tenth of the time for writing to new memory."""
        with suppress(FileNotFoundError):
            for free in self._folder.glob(f"{_FREE}*"):
                name = str(self._folder / f"{_PART}{uuid.uuid4().hex}")
                with suppress(FileNotFoundError):  # another process was first
                    free.rename(name)
                    return os.open(name, os.O_RDWR | os.O_CLOEXEC), name
        return None

    def _new_file(self) -> tuple[int, str]:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        return tempfile.mkstemp(prefix=_PART, dir=self._folder)


class StagingWriter(Writer):
    """Writer that stages lines. The driver half calls `append_staged` for each of its messages."""

    def __init__(self, path: str) -> None:
        self._stage = PartFiles(path)

    def stage(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        """Write the lines of all records to a temporary file, for `Sink.commit`."""
        data = lines_of(batches)
        if data:
            self._stage.add(data)

    def staged(self) -> Any:
        """Return the message for the driver half: the file with the lines of this process."""
        part = self._stage.end()
        return None if part is None else {"staged": part[0], "bytes": part[1]}

    def close(self) -> None:
        """Delete a part that has not ended."""
        self._stage.close()


def append_staged(append: Callable[[mmap.mmap], None], name: str, size: int) -> None:
    """Append the first `size` bytes of a part's file, and free the file for another part.

    Raises:
        ConnectError: the file no longer exists.
        Exception: an error of `append`; the part is kept.
    """
    try:
        with Path(name).open("rb") as staged:
            data = mmap.mmap(staged.fileno(), size, _AT_ONCE, mmap.PROT_READ)
    except (OSError, ValueError) as e:
        raise ConnectError(
            f"cannot read staged lines in {name}: {e}. Another process has removed them; nothing is lost: their records "
            f"are not committed, and are written again after a restart."
        ) from e
    append(data)
    with suppress(OSError):
        Path(name).rename(Path(name).with_name(f"{_FREE}{uuid.uuid4().hex}"))


def discard_staged(path: str, *, only_free: bool = False) -> None:
    """Delete the staged lines for `path`, whose records are delivered again; with `only_free`, only unused files."""
    with suppress(OSError):
        for staged in _folder(path).glob(f"{_FREE}*" if only_free else "*"):
            with suppress(OSError):
                staged.unlink()


def _folder(path: str) -> Path:
    """Return the staging folder for a path: the same in all processes of a task, since they share a temporary folder."""
    return Path(tempfile.gettempdir()) / f"staged-{sha256(os.path.abspath(path).encode()).hexdigest()[:16]}"  # noqa: PTH100
