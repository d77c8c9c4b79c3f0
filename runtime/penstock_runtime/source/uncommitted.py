"""Batches that a source task has delivered but not committed: those of its open transaction."""

from dataclasses import dataclass, field

from penstock.offsets import Offset, OffsetUpdates, SourcePartition
from penstock_runtime.pipeline.summary import Summary

__all__ = ["Uncommitted"]


@dataclass
class Uncommitted:
    """Delivered batches that are not committed.

    Attributes:
        batches: number of batches.
        offsets: source offsets after the last batch.
        summary: summary of all batches.
        since: start of the first batch, in seconds of the monotonic clock.
        seconds: total time of all batches.
    """

    batches: int = 0
    offsets: dict[SourcePartition, Offset | None] = field(default_factory=dict)
    summary: Summary = field(default_factory=Summary)
    since: float = 0.0
    seconds: float = 0.0

    def add(self, offsets: OffsetUpdates, summary: Summary, *, begun: float, seconds: float) -> None:
        """Add a batch that was delivered."""
        if self.batches:
            self.summary.add(summary)
        else:
            self.since, self.summary = begun, summary
        self.batches += 1
        self.offsets.update(offsets)
        self.seconds += seconds
