"""Positions in Kafka of a source's records, for tasks that are notified of each record."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

__all__ = ["Place", "Placements"]


class Place(NamedTuple):
    """Position of a record in Kafka."""

    topic: str
    partition: int
    offset: int


class Placements:
    """Positions in Kafka of the records that a source has read since the last commit, by portion.

    A record without a position is not in Kafka: a transform dropped it, or it failed and the failure is tolerated.
    """

    def __init__(self) -> None:
        self._portions: list[dict[int, Place]] = []

    def portion(self, first: int) -> Callable[[int, Any], None]:
        """Begin the next portion.

        Args:
            first: position of the portion's first record.

        Returns:
            A function that takes the position of a record and the client's message, once the record has arrived.
        """
        places: dict[int, Place] = {}
        self._portions.append(places)
        return partial(_put, places, first)

    def forget(self) -> None:
        """Forget the positions of all records, because they were aborted, but keep their portions."""
        for places in self._portions:
            places.clear()

    def take(self) -> list[dict[int, Place]]:
        """Return the positions of each portion by row, and start again with none."""
        taken, self._portions = self._portions, []
        return taken


def _put(places: dict[int, Place], first: int, position: int, message: Any) -> None:
    places[position - first] = Place(message.topic(), message.partition(), message.offset())
