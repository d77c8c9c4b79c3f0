"""Log the output of plugins, without secrets, at any log level.

Output that does not go through `sys.stdout` and `sys.stderr` (native code, other processes, `os.write`) is not captured.
"""

import io
import logging
import sys
import threading
from collections.abc import Callable
from typing import Final

__all__ = ["last_lines", "redirect_to_log"]

_LONGEST: Final = 1 << 16
_MARGIN: Final = 1 << 12
"""Characters removed at the end of a cut line after redaction: a secret that the cut splits is not recognized."""


class _Lines(io.TextIOBase):
    """Text stream that writes its lines to a logger. Lines that are too long are cut."""

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
        """Do nothing: a line is logged when it is complete."""

    def end_line(self) -> None:
        """Log the current line, complete or not."""
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
    """Binary layer of the same stream."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        content = bytes(data)  # type: ignore[call-overload]  # any bytes-like object
        self._lines.write(content.decode("utf-8", "replace"))
        return len(content)


def redirect_to_log(redact: Callable[[str], str]) -> None:
    """Replace `sys.stdout` and `sys.stderr` with streams that log. The log must already use another stream object.

    Args:
        redact: removes secrets from a line before it is cut. The log itself redacts complete lines.
    """
    logging.getLogger("output").setLevel(logging.INFO)
    sys.stdout = _Lines("stdout", 1, redact)
    sys.stderr = _Lines("stderr", 2, redact)


def last_lines() -> None:
    """Log incomplete lines, before the process ends."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _Lines):
            stream.end_line()
