"""Forward the output of executors, which Spark's Worker writes to files, to the output of the pod."""

import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

__all__ = ["LogFiles"]

_LOOK: Final = 0.5
"""Seconds between two checks for new lines."""
_CHUNK: Final = 1 << 16


class LogFiles:
    """Thread that copies whole lines of `<work>/<application>/<number>/stdout` and `stderr`, even after log rotation.

    Args:
        work: folder of the Worker.
        to: stream that the lines are written to.
    """

    def __init__(self, work: Path, to: IO[str]) -> None:
        self._work, self._to = work, to
        self._open: dict[Path, IO[bytes]] = {}
        self._rest: dict[Path, bytes] = {}
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="executor-logs", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._thread.join(5.0)
        with self._lock:
            for opened in self._open.values():
                opened.close()
            self._open.clear()

    def _run(self) -> None:
        while not self._closed.wait(_LOOK):
            self.look()
        self.look()

    def look(self) -> None:
        """Copy new lines."""
        with self._lock:
            self._copy_all()

    def _copy_all(self) -> None:
        for path in sorted(self._work.glob("*/*/std*")):
            if path.name in ("stdout", "stderr"):
                with suppress(OSError):
                    self._follow(path)
        for path in [path for path in self._open if not path.exists()]:
            self._copy(path)
            self._open.pop(path).close()
            self._rest.pop(path, None)

    def _follow(self, path: Path) -> None:
        # After a rotation, the rest is in the file under its new name.
        if path in self._open and not _is_same(self._open[path], path):
            self._copy(path)
            self._open.pop(path).close()
        if path not in self._open:
            self._open[path] = path.open("rb")
        self._copy(path)

    def _copy(self, path: Path) -> None:
        while data := self._open[path].read(_CHUNK):
            lines, end, rest = (self._rest.pop(path, b"") + data).rpartition(b"\n")
            self._to.write((lines + end).decode(errors="backslashreplace"))
            if len(rest) < _CHUNK:
                self._rest[path] = rest
            else:  # an endless line must not fill the memory
                self._to.write(rest.decode(errors="backslashreplace"))
        self._to.flush()


def _is_same(opened: IO[bytes], path: Path) -> bool:
    own, there = Path(f"/dev/fd/{opened.fileno()}").stat(), path.stat()
    return (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino)
