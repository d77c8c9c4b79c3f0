"""What plugins print, as log lines without secrets, whatever the level of the log is.

What does not go through `sys.stdout` and `sys.stderr` (native code, other processes, `os.write`) is not seen here.
"""

import io
import logging
import sys
import threading
from collections.abc import Callable
from typing import Final

__all__ = ["become_log_lines", "last_lines"]

_LONGEST: Final = 1 << 16
_MARGIN: Final = 1 << 12
"""Left out of a line that is cut, after its secrets were taken out: one that the cut goes through would not be known."""


class _Lines(io.TextIOBase):
    """A text stream whose lines go to a logger; of a line that is too long the rest is left out."""

    def __init__(self, name: str, descriptor: int, redact: Callable[[str], str]) -> None:
        self._log = logging.getLogger(f"output.{name}")
        self._descriptor = descriptor
        self._redact = redact
        self._partial = ""
        self._is_cut = False
        self._lock = threading.RLock()
        self.buffer = _Bytes(self)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, text: str) -> int:
        with self._lock:
            *lines, last = text.split("\n")
            for line in lines:
                self._add(line)
                self.end_line()
            self._add(last)
        return len(text)

    def flush(self) -> None:
        """Lines are whole or wait."""

    def end_line(self) -> None:
        """Tell the line that is there, with or without an end."""
        with self._lock:
            line, self._partial = self._partial, ""
            self._is_cut = False
        if line.strip():
            self._log.info("%s", line)

    def _add(self, text: str) -> None:
        if self._is_cut:
            return
        self._partial += text
        if len(self._partial) > _LONGEST:
            self._partial = f"{self._redact(self._partial[:_LONGEST])[: _LONGEST - _MARGIN]} [cut]"
            self._is_cut = True


class _Bytes(io.RawIOBase):
    """The same for those who print bytes."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        given = bytes(data)  # type: ignore[call-overload]  # whatever holds bytes
        self._lines.write(given.decode("utf-8", "replace"))
        return len(given)


def become_log_lines(redact: Callable[[str], str]) -> None:
    """From now on `sys.stdout` and `sys.stderr` are the log's. The log's own stream must be another object by then.

    Args:
        redact: takes secrets out of a text. The log does so too, for whole lines; this is for what is cut.
    """
    logging.getLogger("output").setLevel(logging.INFO)
    sys.stdout = _Lines("stdout", 1, redact)
    sys.stderr = _Lines("stderr", 2, redact)


def last_lines() -> None:
    """Tell what was printed without the end of a line; the process is about to end."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _Lines):
            stream.end_line()
