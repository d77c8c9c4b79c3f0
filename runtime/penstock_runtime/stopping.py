"""SIGTERM, and what follows when a task does not end in time.

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
        self._heard, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.signal(signal.SIGTERM, lambda *_: None)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, name="stopping", daemon=True).start()

    def within(self, seconds: float, abandon: Callable[[], None]) -> None:
        """Call `abandon`, in a thread of ours, when the process has not ended so many seconds after the signal."""
        self._grace, self._abandon = seconds, abandon

    def _watch(self) -> None:
        while signal.SIGTERM not in os.read(self._heard, 64):
            pass
        # A client that hangs with the interpreter's lock in its hands stops every Python thread; the kernel still ends us.
        signal.alarm(math.ceil(self._grace) + _LAST_RESORT)
        self.asked.set()
        time.sleep(self._grace)
        self._abandon()
