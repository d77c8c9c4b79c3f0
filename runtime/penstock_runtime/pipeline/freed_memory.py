"""Memory that a backlog has left: freed, but kept by the C library for this process, which may be quiet for days."""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import Final

__all__ = ["FreedMemory"]

_MUCH: Final = 16 << 20
"""Bytes of records after which it is worth some milliseconds: a trickle never gets there within an hour."""


def _trim() -> None:
    with suppress(OSError, AttributeError):  # another C library than glibc, which gives it back by itself, or never
        ctypes.CDLL(None).malloc_trim(0)


class FreedMemory:
    """Gives freed memory back to the system once a backlog is over.

    Args:
        trim: has the C library give back what it can.
    """

    def __init__(self, trim: Callable[[], None] = _trim) -> None:
        self._trim = trim
        self._moved = 0

    def moved(self, size: int) -> None:
        """Records of so many bytes went through this process."""
        self._moved += size

    def give_back(self) -> None:
        """To be called whenever little or nothing comes; it does something only if much came before."""
        if self._moved >= _MUCH:
            self._moved = 0
            self._trim()
