"""Watch kinds whose CRDs may be installed or deleted while the operator runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

from penstock_operator.errors import OperatorError
from penstock_operator.kubernetes.kinds import Kind

__all__ = ["OPTIONAL_THREAD", "OptionalKinds", "Watch"]

log = logging.getLogger(__name__)

OPTIONAL_THREAD: Final = "kopf-optional"
"""Name of threads that watch such kinds; errors that libraries log there at the end of a watch are expected."""
_CHECK: Final = 10.0
"""Seconds between checks for a missing CRD. A watched kind causes no such requests."""
_AFTER_END: Final = 3.0
"""Seconds from the end of a watch to the next check, since the API server serves a deleted CRD a moment longer."""


class Watch(Protocol):
    """Watch of one kind, which ends when the CRD is deleted."""

    def start(self, on_end: Callable[[], None]) -> None:
        """Start the watch; `on_end` is called from another thread, perhaps twice."""
        ...

    def stop(self) -> None:
        """Stop the watch; blocks."""
        ...


class OptionalKinds:
    """Watches of all optional kinds, for one event loop.

    Args:
        serves: whether the API server serves a kind.
        watch: creates the watch of a kind.
        look: seconds between checks for a missing CRD.
        after: seconds from the end of a watch to the next check.
    """

    def __init__(
        self,
        serves: Callable[[Kind], Awaitable[bool]],
        watch: Callable[[Kind], Watch],
        *,
        look: float = _CHECK,
        after: float = _AFTER_END,
    ) -> None:
        self._serves = serves
        self._watch = watch
        self._look = look
        self._after = after
        self._watches: dict[Kind, Watch] = {}
        self._stopping = False

    async def follow(self, kind: Kind) -> None:
        """Watch a kind whenever the API server serves it, until `stop`."""
        loop, has_warned = asyncio.get_running_loop(), False
        while not self._stopping:
            try:
                is_served = await self._serves(kind)
            except OperatorError as e:
                log.debug("%s", e)
            else:
                if is_served:
                    log.info("Watching %s", kind.plural)
                    await self._until_it_ends(kind, loop)
                    has_warned = False
                    continue
                if not has_warned:
                    has_warned = True
                    log.warning(
                        "The API server does not serve %s: their CRD is not installed. They are watched as soon as it is, "
                        "without a restart",
                        kind.plural,
                    )
            await asyncio.sleep(self._look)

    async def _until_it_ends(self, kind: Kind, loop: asyncio.AbstractEventLoop) -> None:
        ended = asyncio.Event()

        def end() -> None:
            with suppress(RuntimeError):  # the loop is closed: the operator has stopped
                loop.call_soon_threadsafe(ended.set)

        watch = self._watches[kind] = self._watch(kind)
        watch.start(end)
        await ended.wait()
        del self._watches[kind]
        await asyncio.sleep(self._after)

    def stop(self) -> None:
        """Stop all watches; blocks."""
        self._stopping = True
        for watch in [*self._watches.values()]:
            watch.stop()
