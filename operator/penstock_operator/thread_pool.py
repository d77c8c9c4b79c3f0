"""Run blocking calls in a bounded pool of threads, each with a time limit."""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final, ParamSpec, TypeVar

from penstock_operator.errors import Unavailable

__all__ = ["Pool"]

P = ParamSpec("P")
T = TypeVar("T")

_SECONDS: Final = 60.0


class Pool:
    """Threads for blocking calls; `Pool(n)` is a `context.Run`.

    Args:
        threads: number of calls that run in parallel.
        seconds: seconds for which a caller waits; the call continues until one of its timeouts.
    """

    def __init__(self, threads: int, *, seconds: float = _SECONDS) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="call")
        self._seconds = seconds
        self._calls: set[Future[Any]] = set()

    async def is_idle(self, *, within: float) -> bool:
        """Wait up to this many seconds for all calls, and return whether they have ended.

        These include calls whose callers no longer wait.
        """
        return not (await asyncio.to_thread(wait, [*self._calls], within)).not_done

    async def __call__(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the call's result.

        Raises:
            Unavailable: the call took too long.
        """
        within = contextvars.copy_context()  # its log lines name the connector
        call_ = functools.partial(within.run, functools.partial(call, *args, **kwargs))
        submitted = self._executor.submit(call_)
        self._calls.add(submitted)
        submitted.add_done_callback(self._calls.discard)
        future = asyncio.wrap_future(submitted)
        try:
            async with asyncio.timeout(self._seconds):
                return await future
        except TimeoutError:
            if future.done() and not future.cancelled() and future.exception() is not None:
                raise  # the call's own
            what = getattr(call, "__name__", repr(call))
            raise Unavailable(f"No answer within {self._seconds:.0f} s: {what}") from None

    def close(self) -> None:
        """Accept no more calls, without waiting for those that are running."""
        self._executor.shutdown(wait=False, cancel_futures=True)
