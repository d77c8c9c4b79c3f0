"""Finds records that wait at their brokers and are not fetched: a client can miss that a broker is back."""

import time
from collections.abc import Callable
from typing import Final

from penstock.sink import TopicPartition
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.sink.offsets import SinkOffsets

__all__ = ["StallDetector"]

_SILENCE: Final = 30.0
"""How often brokers are asked for the ends of partitions while nothing comes, in seconds."""
_RETURN: Final = 5.0
"""The same while brokers have just come back."""
_LOOKS_AFTER_RETURN: Final = 3
"""How many looks are `_RETURN` seconds apart: records that waited at two looks have stalled."""


class StallDetector:
    """Which of a sink's partitions had more to read at one look, and at the next, with nothing read between.

    Args:
        consumer: knows the ends.
        offsets: knows the positions.
        clock: seconds, monotonic.
    """

    def __init__(
        self, consumer: RecordConsumer, offsets: SinkOffsets, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._consumer = consumer
        self._offsets = offsets
        self._clock = clock
        self._waiting: dict[TopicPartition, int | None] = {}
        self._next_look = 0.0
        self._looks_after_return = 0
        self._had_trouble = False

    @property
    def due(self) -> bool:
        """Whether to look, if nothing comes."""
        return self._clock() >= self._next_look

    def assigned(self) -> None:
        """The consumer was assigned anew: brokers have time to answer it."""
        self._next_look = self._clock() + _SILENCE

    def failed(self) -> None:
        """Something has failed, perhaps as brokers are away."""
        self._had_trouble = True

    def consumed(self, trouble: str | None) -> None:
        """The consumer has answered. Once trouble is over the next looks are sooner.

        Args:
            trouble: of the consumer, at present.
        """
        if trouble is not None:
            self._had_trouble = True
        elif self._had_trouble:
            self._had_trouble = False
            self._looks_after_return = _LOOKS_AFTER_RETURN
            self._schedule()

    def look(self) -> list[TopicPartition]:
        """The partitions that have stalled. To be called when nothing is there to be written.

        What waits behind others in the client's queue has not stalled.

        Raises:
            RetriableError: not all ends could be asked for.
        """
        self._schedule()
        places = self._offsets.places
        ends = self._consumer.ends(places)
        before = self._waiting
        self._waiting = {of: place for of, place in places.items() if self._offsets.lag(of, 0, ends[of])}
        return [of for of, place in self._waiting.items() if (of, place) in before.items()]

    def _schedule(self) -> None:
        pause = _SILENCE
        if self._looks_after_return:
            self._looks_after_return -= 1
            pause = _RETURN
        self._next_look = self._clock() + pause
