"""When a source's transaction ends (`transaction.boundary`, KIP-618), and where a batch of a polling source ends."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock.source import Limits
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.source.uncommitted import Uncommitted

__all__ = ["PollBatchBoundary", "TransactionBoundary"]

_BATCHES: Final = 16
"""A failure repeats all batches of a transaction, so these are bounded."""


@dataclass(frozen=True)
class TransactionBoundary:
    """Ends a transaction of several batches (`transaction.boundary=interval`).

    Attributes:
        seconds: age at which a transaction ends: the interval, or less if the brokers would end it before.
        limits: of one batch; a transaction ends when it holds as much as sixteen of the largest batches.
    """

    seconds: float
    limits: Limits

    def is_reached(self, uncommitted: Uncommitted, now: float) -> bool:
        """Whether to commit now."""
        if not uncommitted.batches:
            return False
        summary, limits = uncommitted.summary, self.limits
        is_full = summary.read >= _BATCHES * limits.records or summary.bytes >= _BATCHES * limits.bytes
        return is_full or now - uncommitted.since >= self.seconds


@dataclass
class PollBatchBoundary:
    """Ends a batch between two portions of a polling source that does not end it by itself.

    It does so only while each portion has given the offsets that hold after it; otherwise records would be read twice.

    Attributes:
        limits: what the source was asked for; the batch ends at twice as much.
        deadline: when the batch has to end, in seconds of the monotonic clock.
    """

    limits: Limits
    deadline: float
    clock: Callable[[], float] = time.monotonic
    _all_have_offsets: bool = True

    def is_reached(self, summary: Summary, *, has_offsets: bool) -> bool:
        """Whether the batch ends after this portion, which has given its offsets or has not."""
        self._all_have_offsets = self._all_have_offsets and has_offsets
        limits = self.limits
        is_full = summary.read >= 2 * limits.records or summary.bytes >= 2 * limits.bytes
        return self._all_have_offsets and (is_full or self.clock() >= self.deadline)
