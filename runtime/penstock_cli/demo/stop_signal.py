"""Ctrl-C and SIGTERM in a demo."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["StopSignal"]


class StopSignal:
    """Event that the first Ctrl-C or SIGTERM sets; the second one raises KeyboardInterrupt in the main thread.

    It uses a pipe, because a signal handler must not take the lock of `threading.Event`, which the interrupted thread may
    hold.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._interrupts = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def is_set(self) -> bool:
        """Return whether the demo should stop."""
        return self.wait(0)

    def set(self) -> None:
        """Stop the demo."""
        os.write(self._write, b"x")

    def wait(self, seconds: float) -> bool:
        """Wait for at most this many seconds until the demo should stop. Return whether it should."""
        return bool(select.select([self._read], [], [], seconds)[0])

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Raise KeyboardInterrupt at the first signal in the context, because no records can be counted yet."""
        self._interrupts = True
        try:
            yield
        finally:
            self._interrupts = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        is_second = self.is_set()
        self.set()
        if is_second or self._interrupts:
            raise KeyboardInterrupt
