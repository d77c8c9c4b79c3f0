"""The batches that a source task has delivered and not committed: those of its open transaction."""

from dataclasses import dataclass, field

from penstock.offsets import Offset, OffsetUpdates, SourcePartition
from penstock_runtime.pipeline.summary import Summary

__all__ = ["Uncommitted"]


@dataclass
class Uncommitted:
    """Batches that are delivered and not committed.

    Attributes:
        batches: their number.
        offsets: the source offsets after the last of them.
        summary: of all batches.
        since: when the first of them began, in seconds of the monotonic clock.
        seconds: time that all of them took.
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
