"""What plugins print, as log lines: in a pod, and in a worker of Spark, nobody else takes secrets out of it."""

import io
import logging
import sys
import threading
from typing import Final

__all__ = ["become_log_lines"]

_LONGEST: Final = 1 << 16


class _Lines(io.TextIOBase):
    """A text stream whose lines go to a logger."""

    def __init__(self, name: str, descriptor: int) -> None:
        self._log = logging.getLogger(f"output.{name}")
        self._descriptor = descriptor
        self._partial = ""
        self._lock = threading.RLock()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, text: str) -> int:
        with self._lock:
            *lines, self._partial = (self._partial + text).split("\n")
            if len(self._partial) >= _LONGEST:
                lines, self._partial = [*lines, self._partial], ""
        for line in lines:
            if line.strip():
                self._log.info("%s", line)
        return len(text)

    def flush(self) -> None:
        """Lines are whole or wait."""


def become_log_lines() -> None:
    """From now on `sys.stdout` and `sys.stderr` are the log's. The log's own stream must be another object by then."""
    sys.stdout = _Lines("stdout", 1)
    sys.stderr = _Lines("stderr", 2)
