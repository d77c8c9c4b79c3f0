"""End a task in time after SIGTERM or a failure. `task/runner.py` sets the time.

A thread handles the signal instead of a Python signal handler, for two reasons. A handler does not run while the main thread
is inside the Kafka client, up to a minute if no broker answers. And it interrupts the main thread anywhere: if the handler
set an `Event` for which the main thread is just beginning to wait, it would need a lock that the main thread holds, and both
would wait forever.
"""

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

__all__ = ["GracefulShutdown"]


_LAST_RESORT: Final = 5
"""Seconds after the grace period at which SIGALRM ends the process."""


class GracefulShutdown:
    """Handler of SIGTERM. Created once per process, in the main thread.

    Attributes:
        asked: set on SIGTERM.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._grace = 5.0
        self._abandon: Callable[[], None] = lambda: None
        self._signals, self._signal_writer = os.pipe()
        os.set_blocking(self._signal_writer, False)
        signal.signal(signal.SIGTERM, self._forward)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.set_wakeup_fd(self._signal_writer, warn_on_full_buffer=False)
        fork = _Fork()
        os.register_at_fork(before=fork.begin, after_in_parent=fork.end, after_in_child=fork.end_in_child)
        threading.Thread(target=self._watch, name="stopping", daemon=True).start()

    def within(self, seconds: float, abandon: Callable[[], None]) -> None:
        """Call `abandon` in a thread if the process has not ended `seconds` after SIGTERM."""
        self._grace, self._abandon = seconds, abandon

    def leave_within(self, seconds: float, leave: Callable[[], None]) -> None:
        """Call `leave` in a thread if the process has not ended `seconds` from now, with or without SIGTERM."""
        self.within(seconds, leave)

        def watch() -> None:
            signal.alarm(math.ceil(seconds) + _LAST_RESORT)
            time.sleep(seconds)
            leave()

        threading.Thread(target=watch, name="leaving", daemon=True).start()

    def _forward(self, number: int, _: object) -> None:
        """Write to the pipe again, in case the wakeup descriptor has been replaced, as asyncio does. Takes no lock."""
        with suppress(BlockingIOError):
            os.write(self._signal_writer, bytes([number]))

    def _watch(self) -> None:
        while signal.SIGTERM not in os.read(self._signals, 64):
            pass
        # A client that hangs while it holds the GIL stops every Python thread. The kernel's alarm still ends the process.
        signal.alarm(math.ceil(self._grace) + _LAST_RESORT)
        self.asked.set()
        time.sleep(self._grace)
        self._abandon()


class _Fork(threading.local):
    """Hooks around a fork by a plugin, so that SIGTERM ends the child without notifying this process.

    SIGTERM is blocked during the fork, and in the child until it no longer has the handler of this process.
    """

    def begin(self) -> None:
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def end(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def end_in_child(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.end()
