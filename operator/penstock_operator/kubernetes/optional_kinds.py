"""Kinds of objects whose definitions may come, and go, while the operator runs: each is watched as long as it is there."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

from penstock_operator.errors import OperatorError
from penstock_operator.kubernetes.kinds import Kind

__all__ = ["LATE_THREAD", "LateKinds", "Watch"]

log = logging.getLogger(__name__)

LATE_THREAD: Final = "kopf-late"
"""The name of threads that watch such kinds: what libraries say there of the end of a watch is no fault."""
_LOOK: Final = 10.0
"""Seconds between two looks for a definition that is not there. One that is there costs no request but its watch."""


_AFTER: Final = 3.0
"""Seconds after the end of a watch: a definition that goes is known for a moment longer."""


class Watch(Protocol):
    """Of one kind. It ends by itself when the kind is no more."""

    def start(self, on_end: Callable[[], None]) -> None:
        """Begin; `on_end` is called from another thread, perhaps twice."""
        ...

    def stop(self) -> None:
        """End it; blocks."""
        ...


class LateKinds:
    """Used in one event loop.

    Args:
        serves: whether the API server knows a kind.
        watch: makes the watch of one.
        look: seconds between two looks.
        after: seconds from the end of a watch to the next look.
    """

    def __init__(
        self,
        serves: Callable[[Kind], Awaitable[bool]],
        watch: Callable[[Kind], Watch],
        *,
        look: float = _LOOK,
        after: float = _AFTER,
    ) -> None:
        self._serves = serves
        self._watch = watch
        self._look = look
        self._after = after
        self._watches: dict[Kind, Watch] = {}
        self._stopping = False

    async def follow(self, kind: Kind) -> None:
        """Watch a kind whenever it is there, until `stop`."""
        loop, told = asyncio.get_running_loop(), False
        while not self._stopping:
            try:
                is_there = await self._serves(kind)
            except OperatorError as e:
                log.debug("%s", e)
            else:
                if is_there:
                    log.info("Watching %s", kind.plural)
                    await self._until_it_ends(kind, loop)
                    told = False
                    continue
                if not told:
                    told = True
                    log.warning(
                        "The API server knows no %s: their CRD is not there. They are watched as soon as it is, without a "
                        "restart", kind.plural,
                    )  # fmt: skip
            await asyncio.sleep(self._look)

    async def _until_it_ends(self, kind: Kind, loop: asyncio.AbstractEventLoop) -> None:
        ended = asyncio.Event()

        def end() -> None:
            with suppress(RuntimeError):  # the loop is closed: the operator has ended
                loop.call_soon_threadsafe(ended.set)

        watch = self._watches[kind] = self._watch(kind)
        watch.start(end)
        await ended.wait()
        del self._watches[kind]
        await asyncio.sleep(self._after)

    def stop(self) -> None:
        """End all watches; blocks."""
        self._stopping = True
        for watch in [*self._watches.values()]:
            watch.stop()
