"""Slots for the streams that keep open pages up to date, shared by clients."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

__all__ = ["NoPlace", "Streams"]


class NoPlace(Exception):
    """Raised when all slots are in use, and the client has its share of them."""


class Streams:
    """Open streams by client. Used in one event loop.

    If all slots are in use, the client with the most streams loses its oldest one to a client that has at least two fewer.
    So no client keeps others out, and no two clients repeatedly take a slot from each other.

    Args:
        most: maximum number of open streams.
        changed: called with their number when it changes.
    """

    def __init__(self, most: int, changed: Callable[[int], None] = lambda number: None) -> None:
        self._most = most
        self._changed = changed
        self._open: dict[str, list[asyncio.Timeout]] = {}

    @property
    def number(self) -> int:
        """Return the number of open streams."""
        return sum(map(len, self._open.values()))

    @asynccontextmanager
    async def place(self, client: str) -> AsyncIterator[None]:
        """Hold a slot until the block ends. If another client gets it, the block is cancelled, and ends without an error.

        Raises:
            NoPlace: there is none for this client.
        """
        if self.number >= self._most:
            self._give_to(client)
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as place:
                self._open.setdefault(client, []).append(place)
                self._changed(self.number)
                try:
                    yield
                finally:
                    self._free(client, place)

    def _give_to(self, client: str) -> None:
        largest = max(self._open, key=lambda c: len(self._open[c]), default=None)
        if largest is None or len(self._open[largest]) <= len(self._open.get(client, ())) + 1:
            raise NoPlace
        oldest = self._open[largest][0]
        self._free(largest, oldest)
        oldest.reschedule(asyncio.get_running_loop().time())

    def _free(self, client: str, place: asyncio.Timeout) -> None:
        places = self._open.get(client, [])
        if place in places:
            places.remove(place)
        if not places:
            self._open.pop(client, None)
        self._changed(self.number)
