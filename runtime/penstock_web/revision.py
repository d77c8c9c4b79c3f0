"""Counter of changes, for which coroutines can wait. Usable by many threads and event loops."""

import asyncio
import threading
import time
from contextlib import suppress

__all__ = ["Revision"]


class Revision:
    """Number that grows after changes.

    Args:
        pause: minimum seconds between two increments, so that open pages are updated together, and not for each change.
    """

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause
        self._lock = threading.Lock()
        self._number = 0
        self._grown_at = float("-inf")
        self._is_due = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    @property
    def number(self) -> int:
        return self._number

    def grow(self) -> None:
        """Count a change: immediately, or together with others after the pause."""
        with self._lock:
            if self._is_due:
                return
            left = self._grown_at + self._pause - time.monotonic()
            self._is_due = left > 0
            if self._is_due:
                timer = threading.Timer(left, self._grow)
                timer.daemon = True
                timer.start()
                return
        self._grow()

    def _grow(self) -> None:
        with self._lock:
            self._is_due = False
            self._grown_at = time.monotonic()
            self._number += 1
            woken, self._waiting = self._waiting, []
        for loop, future in woken:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_wake, future)

    async def greater_than(self, since: int) -> int:
        """Wait until the number is greater than `since`, and return it."""
        while True:
            with self._lock:
                if self._number > since:
                    return self._number
                loop = asyncio.get_running_loop()
                waiting = loop, loop.create_future()
                self._waiting.append(waiting)
            try:
                await waiting[1]
            finally:
                with self._lock, suppress(ValueError):
                    self._waiting.remove(waiting)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
