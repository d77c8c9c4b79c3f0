"""Revision of resources in memory, for which the pages of the web server wait."""

import asyncio
import threading

__all__ = ["Revisions"]


class Revisions:
    """Number that grows with each change. Changes may come from any thread; many event loops may wait."""

    def __init__(self) -> None:
        self._number = 1
        self._lock = threading.Lock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    @property
    def number(self) -> int:
        """Return the revision."""
        return self._number

    def grow(self) -> None:
        """Record a change, and wake those that wait for it."""
        with self._lock:
            self._number += 1
            for loop, event in self._waiting:
                loop.call_soon_threadsafe(event.set)
            self._waiting.clear()

    async def after(self, since: int) -> int:
        """Wait until the revision is greater than `since`, and return it."""
        event = asyncio.Event()
        entry = (asyncio.get_running_loop(), event)
        with self._lock:
            if self._number > since:
                return self._number
            self._waiting.add(entry)
        try:
            await event.wait()
        finally:
            with self._lock:
                self._waiting.discard(entry)
        return self._number
