"""Detect records that brokers have but that are not fetched: a client can miss that a broker is available again."""

import time
from collections.abc import Callable
from typing import Final

from penstock.sink import TopicPartition
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.sink.offsets import SinkOffsets

__all__ = ["StallDetector"]

_SILENCE: Final = 30.0
"""Seconds between requests for the ends of partitions while no records arrive."""
_RETURN: Final = 5.0
"""Seconds between requests after brokers have come back."""
_LOOKS_AFTER_RETURN: Final = 3
"""Number of checks that are `_RETURN` seconds apart: records that waited at two checks have stalled."""


class StallDetector:
    """Detector of partitions that had more to read at two successive checks, but were not read from.

    Args:
        consumer: looks up the ends.
        offsets: holds the positions.
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
        """Return whether to check now, if no records arrive."""
        return self._clock() >= self._next_look

    def assigned(self) -> None:
        """Record that the consumer has a new assignment: give brokers time to answer it."""
        self._next_look = self._clock() + _SILENCE

    def failed(self) -> None:
        """Record a failure, which may mean that brokers are unavailable."""
        self._had_trouble = True

    def consumed(self, trouble: str | None) -> None:
        """Record that a poll has returned. When trouble has ended, the next checks follow sooner.

        Args:
            trouble: current trouble of the consumer, such as an unreachable broker; None if there is none.
        """
        if trouble is not None:
            self._had_trouble = True
        elif self._had_trouble:
            self._had_trouble = False
            self._looks_after_return = _LOOKS_AFTER_RETURN
            self._schedule()

    def look(self) -> list[TopicPartition]:
        """Return the partitions that have stalled. Call this only when there are no records to write.

        Otherwise, it would include partitions that wait for others in the client's queue.

        Raises:
            RetriableError: not all ends could be read.
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
