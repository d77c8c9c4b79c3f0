"""Sizes of batches and puts, and pauses of idle sources, adapted to the load."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from penstock.source import Limits

__all__ = ["AdaptiveBatchSize", "IdleBackoff", "PutSize"]

_SMALLEST: Final = Limits(2_000, 256 << 10)
"""Limits of a batch that is small enough for the driver. Low-rate records fill less than half of it."""


class IdleBackoff:
    """Pause before the next poll of an idle source, which grows with the idle time. Times in seconds.

    A new record waits for at most half of the idle time before it, and at most 0.1 s; after ten idle seconds, for at most a
    hundredth of the idle time, and at most 0.5 s. A poll wakes up the process, which costs 0.3 ms of CPU, ten times as much
    as the poll itself.
    """

    SHORTEST: Final = 0.002
    LONG: Final = 0.1
    LONGEST: Final = 0.5

    def __init__(self) -> None:
        self._quiet = 0.0

    def reset(self, quiet: float = 0.0) -> None:
        """Record that there were records, and that the source will not be polled for `quiet` seconds."""
        self._quiet = quiet

    def wait(self) -> float:
        """Return how long to wait after a poll without records."""
        now = max(self.SHORTEST, min(self._quiet / 2, self.LONG), min(self._quiet / 100, self.LONGEST))
        self._quiet += now
        return now


@dataclass
class AdaptiveBatchSize:
    """Limits that follow the load: small batches in the driver for low-rate records, large ones on Spark for a backlog.

    After a batch that used half of its limits, the next one may be four times as large; after one that used less than an
    eighth, a quarter. A batch that took longer than `seconds` is not followed by a larger one; one that failed is followed
    by a smaller one.

    Attributes:
        most: limits of the connector (`batch.max.records`, `batch.max.bytes`).
        seconds: maximum time of a batch (`batch.max.ms`).
    """

    most: Limits
    seconds: float
    scale: int = 0
    is_trickle: bool = False
    """Whether the last batch was far from full, except while single records are isolated."""

    _LEAST: ClassVar = -5
    """Scale of one or two records: for batches that failed because of single records."""

    @property
    def limits(self) -> Limits:
        """Limits of the next batch."""
        grown = 4.0**self.scale
        return Limits(
            max(1, min(self.most.records, int(_SMALLEST.records * grown))),
            max(1, min(self.most.bytes, int(_SMALLEST.bytes * grown))),
        )

    def done(self, records: int, size: int, seconds: float) -> None:
        """Learn from a delivered batch."""
        limits = self.limits
        share = max(records / limits.records, size / limits.bytes)
        self.is_trickle = self.scale == 0 and share < 0.5
        if self.scale < 0:  # small because of single records, not because of time
            self.scale += share >= 0.5
        elif seconds > self.seconds:
            self.scale = max(0, self.scale - 1)
        elif share >= 0.5 and limits != self.most and seconds * 4 <= self.seconds * 2:
            self.scale += 1
        elif share < 0.125 and self.scale > 0:
            self.scale -= 1

    def failed(self, *, isolating: bool = False) -> None:
        """Record that a batch failed or timed out, and reduce the limits.

        Args:
            isolating: whether the next batches search for single records that fail. Limits must not grow with new records
                then: there may be more such records, and batches would fail forever.
        """
        self.scale = max(min(self.scale, self._LEAST if isolating else 0), self.scale - 1)


@dataclass
class PutSize:
    """Size of a put: as much as the sink writes in a short time, judging by previous puts.

    The first put is small, and each following one at most four times as large, until the cost of its records, without the
    fixed cost of a put, is a quarter of `seconds`. A sink with a high fixed cost for each put thus still gets large puts.

    Attributes:
        most: limits of a batch, as configured (`batch.max.records`, `batch.max.bytes`).
        records: maximum number of records of one put (`max.poll.records`).
        seconds: maximum time of a batch (`batch.max.ms`).
        longest: seconds that a put may take before it counts as lost (`max.poll.interval.ms`).
        rate: records that one process writes in a second, as last measured; 0 until something was written.
        record_bytes: size of a record, as last measured; until one was read, a high estimate.
        losses: number of batches in a row that have lost a worker: for each of them, sizes are divided by four.
        limit: maximum number of records of the next put, which losses reduce further.
        last: records and seconds of the last put that was large enough to learn from.
        each: seconds that one more record costs.
    """

    most: Limits
    records: int
    seconds: float
    longest: float = 300.0
    rate: float = 0.0
    record_bytes: float = 8192.0
    losses: int = 0
    limit: int = 10
    last: tuple[int, float] = (0, 0.0)
    each: float = 0.0

    def put(self, processes: int = 1) -> Limits:
        """Return the limits of one put in each of this many processes."""
        return self._smaller(Limits(min(self.records, self.limit), self.most.bytes // processes))

    def is_trickle(self, records: int) -> bool:
        """Return whether this many waiting records are so few that writing may wait for more."""
        put = self.put()
        most = min(put.records, _SMALLEST.records)
        return 2 * records < most and 2 * records * self.record_bytes < min(put.bytes, _SMALLEST.bytes)

    def batch(self, processes: int, *, staged: bool) -> Limits:
        """Return the limits of a batch that this many processes write.

        A batch ends when its time is up, even if it is incomplete. If it is staged, all records after a gap are staged
        again. A staged batch therefore contains only as much as the processes write in `seconds`, and may take several times
        as long.
        """
        fitting = int(self.rate * self.seconds)
        least = 1 if staged and self.rate else self.records
        return self._smaller(Limits(min(self.most.records, processes * max(least, fitting)), self.most.bytes))

    def wrote(self, records: int, size: int, seconds: float) -> None:
        """Learn from one put in this process."""
        if not records:
            return
        self.record_bytes = size / records
        if 2 * records < self.limit and seconds <= self.seconds:
            return  # a few records say little about the cost of many
        seconds = max(seconds, 1e-6)
        self.rate = records / seconds
        before, time_before = self.last
        if not before:
            self.each = 0.0
        elif max(records, before) >= 2 * min(records, before):
            self.each = max(0.0, (seconds - time_before) / (records - before))
        else:
            self.each *= seconds / records / (time_before / before)
        self.last = records, seconds
        fitting = self.seconds / 4 / self.each if self.each else float("inf")
        if 8 * seconds > self.longest:
            fitting = min(fitting, self.limit)
        self.limit = int(max(1, self.limit // 4, min(fitting, self.limit * 4, self.records)))
        if 3 * seconds > self.longest:  # nearly lost
            self.limit = max(1, self.limit // 4)

    def learn(self, others: Sequence["PutSize"], records: int, size: int, seconds: float) -> None:
        """Learn from the sizes of other processes, and from what all of them wrote in a total of this many seconds."""
        self.losses = max(0, self.losses - 1)
        slowest = min(others, key=lambda o: o.limit)
        self.limit, self.last, self.each = slowest.limit, slowest.last, slowest.each
        if records:
            self.rate = records / max(seconds, 1e-6)
            self.record_bytes = size / records

    def lost(self) -> None:
        """Record that a worker was lost: it ran out of memory, or did not end in time."""
        self.losses += 1

    def _smaller(self, limits: Limits) -> Limits:
        part = 4**self.losses
        return Limits(max(1, limits.records // part), max(1, limits.bytes // part))
