"""SIGTERM, a failure, and what follows when a task does not end in time.

A thread hears the signal, not Python's handler: that one waits for as long as the main thread is inside the Kafka client, a
minute when no broker answers. And it runs in the middle of whatever the main thread does: to set an `Event` there that the
main thread is about to wait for takes a lock which it holds itself, and nobody comes any further.
"""

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

__all__ = ["Stopping"]


_LAST_RESORT: Final = 5  # seconds


class Stopping:
    """Made in the main thread, once per process.

    Attributes:
        asked: set as soon as SIGTERM came.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._grace = 5.0
        self._abandon: Callable[[], None] = lambda: None
        self._heard, self._telling = os.pipe()
        os.set_blocking(self._telling, False)
        signal.signal(signal.SIGTERM, self._hear)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.set_wakeup_fd(self._telling, warn_on_full_buffer=False)
        fork = _Fork()
        os.register_at_fork(before=fork.begin, after_in_parent=fork.end, after_in_child=fork.end_in_child)
        threading.Thread(target=self._watch, name="stopping", daemon=True).start()

    def within(self, seconds: float, abandon: Callable[[], None]) -> None:
        """Call `abandon`, in a thread of ours, when the process has not ended so many seconds after the signal."""
        self._grace, self._abandon = seconds, abandon

    def leave_within(self, seconds: float, leave: Callable[[], None]) -> None:
        """Call `leave`, in a thread of ours, when the process has not ended so many seconds from now, signal or not."""
        self.within(seconds, leave)

        def watch() -> None:
            signal.alarm(math.ceil(seconds) + _LAST_RESORT)
            time.sleep(seconds)
            leave()

        threading.Thread(target=watch, name="leaving", daemon=True).start()

    def _hear(self, number: int, _: object) -> None:
        """Says it a second time, for whoever has taken the wakeup descriptor away (asyncio does); it takes no lock."""
        with suppress(BlockingIOError):
            os.write(self._telling, bytes([number]))

    def _watch(self) -> None:
        while signal.SIGTERM not in os.read(self._heard, 64):
            pass
        # A client that hangs with the interpreter's lock in its hands stops every Python thread; the kernel still ends us.
        signal.alarm(math.ceil(self._grace) + _LAST_RESORT)
        self.asked.set()
        time.sleep(self._grace)
        self._abandon()


class _Fork(threading.local):
    """A process that a plugin forks ends by SIGTERM, and tells nothing to this one. Until it is so the signal waits."""

    def begin(self) -> None:
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def end(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def end_in_child(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.end()
