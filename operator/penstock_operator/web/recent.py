"""Cache results of slow calls for some seconds. Used in one event loop."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Recent"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Cache of results by key. Concurrent requests of a key share one call, and also its error.

    Args:
        seconds: seconds for which a result is cached.
        most: maximum number of cached results.
        clock: monotonic clock, in seconds.
    """

    def __init__(self, seconds: float, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._results: OrderedDict[K, tuple[float, asyncio.Task[V]]] = OrderedDict()

    async def get(self, key: K, call: Callable[[], Awaitable[V]]) -> V:
        """Return the result of `call`, or a cached result for the same key."""
        now = self._clock()
        while self._results and (len(self._results) > self._most or self._is_old(now)):
            self._results.popitem(last=False)
        known = self._results.get(key)
        if known is None:
            task = asyncio.ensure_future(_result(call))
            task.add_done_callback(_retrieved)
            known = self._results[key] = now, task
        return await asyncio.shield(known[1])  # others may also wait for it

    def _is_old(self, now: float) -> bool:
        return now - next(iter(self._results.values()))[0] >= self._seconds


def _retrieved(task: asyncio.Task[V]) -> None:
    """Mark an error as handled, since the callers that waited for it may have been cancelled."""
    if not task.cancelled():
        task.exception()


async def _result(call: Callable[[], Awaitable[V]]) -> V:
    return await call()
