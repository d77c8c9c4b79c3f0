"""Rules for the end of a source's transaction after an interval (KIP-618), and of a polling source's batch.

`source/context.py` chooses the rule for `transaction.boundary`. With `poll`, each batch is a transaction (`source/task.py`);
with `connector`, the connector ends it (`TransactionEnd`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock.source import Limits
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.source.uncommitted import Uncommitted

__all__ = ["PollBatchBoundary", "TransactionBoundary"]

_BATCHES: Final = 16
"""Maximum number of batches in a transaction, because a failure repeats all of them."""


@dataclass(frozen=True)
class TransactionBoundary:
    """Rule that ends a transaction of several batches (`transaction.boundary=interval`).

    Attributes:
        seconds: age at which a transaction ends: the interval, or less if the brokers would end it before.
        limits: limits of one batch; a transaction ends when it holds as much as sixteen of the largest batches.
    """

    seconds: float
    limits: Limits

    def is_reached(self, uncommitted: Uncommitted, now: float) -> bool:
        """Return whether to commit now."""
        if not uncommitted.batches:
            return False
        summary, limits = uncommitted.summary, self.limits
        is_full = summary.read >= _BATCHES * limits.records or summary.bytes >= _BATCHES * limits.bytes
        return is_full or now - uncommitted.since >= self.seconds


@dataclass
class PollBatchBoundary:
    """Rule that ends a batch of a polling source between two portions, if the source does not end it.

    It applies only if each portion so far came with the offsets that follow it; otherwise records would be read twice.

    Attributes:
        limits: limits given to the source; the batch ends at twice as much.
        deadline: time at which the batch must end, in seconds of the monotonic clock.
    """

    limits: Limits
    deadline: float
    clock: Callable[[], float] = time.monotonic
    _all_have_offsets: bool = True

    def is_reached(self, summary: Summary, *, has_offsets: bool) -> bool:
        """Return whether the batch ends after this portion. `has_offsets`: whether the portion came with offsets."""
        self._all_have_offsets = self._all_have_offsets and has_offsets
        limits = self.limits
        is_full = summary.read >= 2 * limits.records or summary.bytes >= 2 * limits.bytes
        return self._all_have_offsets and (is_full or self.clock() >= self.deadline)
