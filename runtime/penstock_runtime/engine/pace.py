"""How long to wait when there is nothing, how much to take when there is much."""

from dataclasses import dataclass
from typing import ClassVar, Final

from penstock.source import Limits

__all__ = ["Appetite", "Pace"]


class Pace:
    """Adaptive waiting: a moment after the last record, longer and longer while nothing comes. Times in seconds."""

    SHORTEST: Final = 0.002
    LONGEST: Final = 0.05
    FACTOR: Final = 1.3

    def __init__(self) -> None:
        self._next = self.SHORTEST

    def found(self) -> None:
        """There was something: look again soon."""
        self._next = self.SHORTEST

    def wait(self) -> float:
        """How long to wait now that there was nothing."""
        now = self._next
        self._next = min(self.LONGEST, now * self.FACTOR)
        return now


@dataclass
class Appetite:
    """Limits that follow the load: small batches for a trickle, done by the driver; large ones for a backlog, by Spark.

    A batch that used half of its limits asks for four times as much, one that used less than an eighth for a quarter; a
    batch that took longer than `seconds` is not followed by a larger one, and one that failed is followed by a smaller.

    Attributes:
        most: the connector's own limits (`batch.max.records`, `batch.max.bytes`).
        seconds: how long a batch should take at most (`batch.max.ms`).
    """

    most: Limits
    seconds: float
    scale: int = 0

    _SMALLEST: ClassVar = Limits(2_000, 256 << 10)
    BACKLOG: ClassVar = 3
    """From this scale on a batch is worth a Spark job (some 100 ms)."""

    @property
    def limits(self) -> Limits:
        """The next batch's limits."""
        grown = 4**self.scale
        return Limits(
            min(self.most.records, self._SMALLEST.records * grown), min(self.most.bytes, self._SMALLEST.bytes * grown)
        )

    @property
    def backlog(self) -> bool:
        """Whether there is so much that Spark should do it."""
        return self.scale >= self.BACKLOG

    def done(self, records: int, size: int, seconds: float) -> None:
        """Learn from a batch that was delivered."""
        limits = self.limits
        share = max(records / limits.records, size / limits.bytes)
        if seconds > self.seconds:
            self.scale = max(0, self.scale - 1)
        elif share >= 0.5 and limits != self.most and seconds * 4 <= self.seconds * 2:
            self.scale += 1
        elif share < 0.125 and self.scale > 0:
            self.scale -= 1

    def failed(self) -> None:
        """A batch failed or timed out: take less."""
        self.scale = max(0, self.scale - 1)
