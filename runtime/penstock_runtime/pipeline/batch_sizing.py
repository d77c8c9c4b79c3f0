"""How long to wait when there is nothing, how much to take when there is much."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from penstock.source import Limits

__all__ = ["AdaptiveBatchSize", "IdleBackoff", "PutSize"]

_SMALLEST: Final = Limits(2_000, 256 << 10)
"""What a batch holds at most that is not worth more than the driver. A trickle fills less than half of it."""


class IdleBackoff:
    """How long a source is not asked while it has nothing: the longer nothing has come, the longer. Times in seconds.

    What comes waits for half as long as nothing came before it, and for 0.1 s at most; after ten quiet seconds and more for
    a hundredth of that time, and for 0.5 s at most. What a look costs is that a process wakes: 0.3 ms of CPU, ten times as
    much as the look itself.
    """

    SHORTEST: Final = 0.002
    LONG: Final = 0.1
    LONGEST: Final = 0.5

    def __init__(self) -> None:
        self._quiet = 0.0

    def reset(self, quiet: float = 0.0) -> None:
        """There was something, and the source will not be asked for `quiet` seconds."""
        self._quiet = quiet

    def wait(self) -> float:
        """How long to wait now that there was nothing."""
        now = max(self.SHORTEST, min(self._quiet / 2, self.LONG), min(self._quiet / 100, self.LONGEST))
        self._quiet += now
        return now


@dataclass
class AdaptiveBatchSize:
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
    is_trickle: bool = False
    """Whether the last batch had much room left, and not because single records are looked for."""

    _LEAST: ClassVar = -5
    """The scale of one record or two: for batches that failed because of single records."""

    @property
    def limits(self) -> Limits:
        """The next batch's limits."""
        grown = 4.0**self.scale
        return Limits(
            max(1, min(self.most.records, int(_SMALLEST.records * grown))),
            max(1, min(self.most.bytes, int(_SMALLEST.bytes * grown))),
        )

    def done(self, records: int, size: int, seconds: float) -> None:
        """Learn from a batch that was delivered."""
        limits = self.limits
        share = max(records / limits.records, size / limits.bytes)
        self.is_trickle = self.scale == 0 and share < 0.5
        if self.scale < 0:  # so small for the sake of single records, and not of time
            self.scale += share >= 0.5
        elif seconds > self.seconds:
            self.scale = max(0, self.scale - 1)
        elif share >= 0.5 and limits != self.most and seconds * 4 <= self.seconds * 2:
            self.scale += 1
        elif share < 0.125 and self.scale > 0:
            self.scale -= 1

    def failed(self, *, isolating: bool = False) -> None:
        """A batch failed or timed out: take less.

        Args:
            isolating: for single records in it, which are looked for. It must not grow by what comes meanwhile, which
                may hold more of them, or it would fail for ever.
        """
        self.scale = max(min(self.scale, self._LEAST if isolating else 0), self.scale - 1)


@dataclass
class PutSize:
    """How much a sink is given at once: as much as it writes in a moment, going by what it has written before.

    The first put is small, and each after it at most four times as large, until what its records cost, beside what a put
    costs by itself, is a quarter of `seconds`. A sink that takes long for each put gets large ones all the same.

    Attributes:
        most: the connector's own limits of a batch (`batch.max.records`, `batch.max.bytes`).
        records: the most records of one put (`max.poll.records`).
        seconds: how long a batch should take at most (`batch.max.ms`).
        longest: how long a put may take before it counts as lost (`max.poll.interval.ms`), in seconds.
        rate: records that one process writes in a second, as it was last; 0 until something was written.
        record_bytes: what a record holds, likewise; until one was read rather too much than too little.
        losses: how many batches in a row have lost a worker: for each of them a quarter is taken.
        limit: the most records of the next put, which is cut further after a loss.
        last: records and seconds of the last put that tells something.
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
        """The most of one put in each of so many processes."""
        return self._smaller(Limits(min(self.records, self.limit), self.most.bytes // processes))

    def is_trickle(self, records: int) -> bool:
        """Whether so many records that wait leave much room, so that more may be waited for before they are written."""
        put = self.put()
        most = min(put.records, _SMALLEST.records)
        return 2 * records < most and 2 * records * self.record_bytes < min(put.bytes, _SMALLEST.bytes)

    def batch(self, processes: int, *, staged: bool) -> Limits:
        """What a batch may hold that so many processes write.

        It ends by time, wherever it is. Where it is staged, what lies behind a place that was not reached is done again:
        then it holds what they write in `seconds`, and has several times as long.
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
            return  # a trickle tells little of what many would cost
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
        """Learn from what other processes have learnt, and from what they wrote in so many seconds of all of them."""
        self.losses = max(0, self.losses - 1)
        slowest = min(others, key=lambda o: o.limit)
        self.limit, self.last, self.each = slowest.limit, slowest.last, slowest.each
        if records:
            self.rate = records / max(seconds, 1e-6)
            self.record_bytes = size / records

    def lost(self) -> None:
        """A worker was lost: it ran out of memory, or did not end in time."""
        self.losses += 1

    def _smaller(self, limits: Limits) -> Limits:
        part = 4**self.losses
        return Limits(max(1, limits.records // part), max(1, limits.bytes // part))
