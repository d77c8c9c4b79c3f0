"""Return freed memory after a backlog: the C library would keep it for this process, which may be idle for days."""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import Final

__all__ = ["FreedMemory"]

_MUCH: Final = 16 << 20
"""Bytes of records after which trimming is worth some milliseconds; low-rate records take over an hour to reach it."""


def _trim() -> None:
    with suppress(OSError, AttributeError):  # a C library other than glibc, which frees memory automatically, or never
        ctypes.CDLL(None).malloc_trim(0)


class FreedMemory:
    """Trigger that returns freed memory to the system once a backlog is over.

    Args:
        trim: makes the C library return free memory.
    """

    def __init__(self, trim: Callable[[], None] = _trim) -> None:
        self._trim = trim
        self._moved = 0

    def moved(self, size: int) -> None:
        """Record that this many bytes of records went through this process."""
        self._moved += size

    def give_back(self) -> None:
        """Return memory if many records were processed before. Call this whenever few or no records arrive."""
        if self._moved >= _MUCH:
            self._moved = 0
            self._trim()
