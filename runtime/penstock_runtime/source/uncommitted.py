"""What a source task has delivered and not committed: the batches of one transaction, and when it is to end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from penstock.offsets import Offset, OffsetUpdates, SourcePartition
from penstock.source import Limits
from penstock_runtime.pipeline.summary import Summary

__all__ = ["Boundary", "PollBound", "Uncommitted"]

_BATCHES: Final = 16
"""So many of the largest batches stand in one transaction at most: a failure repeats all of them."""


@dataclass(frozen=True)
class Boundary:
    """When a transaction of several batches ends (`transaction.boundary=interval`).

    Attributes:
        seconds: how long it is open: the interval, or less, where the brokers would end it before.
        most: the limits of one batch; a transaction holds some of them.
    """

    seconds: float
    most: Limits

    def over(self, uncommitted: "Uncommitted", now: float) -> bool:
        """Whether it is time to commit."""
        if not uncommitted.batches:
            return False
        summary, most = uncommitted.summary, self.most
        full = summary.read >= _BATCHES * most.records or summary.bytes >= _BATCHES * most.bytes
        return full or now - uncommitted.since >= self.seconds


@dataclass
class Uncommitted:
    """Delivered, and not committed.

    Attributes:
        batches: how many.
        offsets: where each source partition will stand, the last of several.
        summary: of all batches.
        since: when the first of them began, on the monotonic clock.
        seconds: how long all of them took.
    """

    batches: int = 0
    offsets: dict[SourcePartition, Offset | None] = field(default_factory=dict)
    summary: Summary = field(default_factory=Summary)
    since: float = 0.0
    seconds: float = 0.0

    def add(self, offsets: OffsetUpdates, summary: Summary, *, begun: float, seconds: float) -> None:
        """One more batch."""
        if self.batches:
            self.summary.add(summary)
        else:
            self.since, self.summary = begun, summary
        self.batches += 1
        self.offsets.update(offsets)
        self.seconds += seconds


@dataclass
class PollBound:
    """Where a batch of a polling source ends that does not end it by itself: between two portions.

    Only as long as each portion has told the offsets that hold after it; else some records would come again.

    Attributes:
        limits: what the source was asked for; it may hold twice as much.
        deadline: when the batch has to end, on the monotonic clock.
    """

    limits: Limits
    deadline: float
    clock: Callable[[], float] = time.monotonic
    _all_told: bool = True

    def reached(self, summary: Summary, *, told: bool) -> bool:
        """Whether the batch ends after this portion, which has told its offsets or has not."""
        self._all_told = self._all_told and told
        limits = self.limits
        full = summary.read >= 2 * limits.records or summary.bytes >= 2 * limits.bytes
        return self._all_told and (full or self.clock() >= self.deadline)
