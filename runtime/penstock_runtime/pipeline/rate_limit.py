"""Rate limit of a task (`spec.limits`): pauses between batches, which are small enough for an even rate."""

import time
from collections.abc import Callable
from typing import Final

from penstock.source import Limits
from penstock_model.resources.task_settings import RateLimits

__all__ = ["RateLimit"]

_PART: Final = 0.25
"""Maximum size of a batch, in seconds of the rate, unless batches take longer than this."""
_LONGEST_PART: Final = 10.0
_CREDIT: Final = 1.0
"""Seconds whose unused rate may be used later: the rate is met on average over this time."""


class RateLimit:
    """Rate limit of one task.

    Args:
        limits: the configured rates.
        clock: seconds, monotonic.
    """

    def __init__(self, limits: RateLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._records = limits.records_per_second
        self._bytes = limits.bytes_per_second
        self._clock = clock
        self._until = 0.0
        self._part = _PART

    @property
    def is_set(self) -> bool:
        """Return whether there is a limit."""
        return self._records is not None or self._bytes is not None

    def batch(self, most: Limits) -> Limits:
        """Return the limits of the next batch. Slow batches are larger: otherwise, the rate would not be reached."""
        records = most.records if self._records is None else max(1, min(most.records, int(self._records * self._part)))
        size = most.bytes if self._bytes is None else max(1, min(most.bytes, int(self._bytes * self._part)))
        return Limits(records, size)

    def used(self, records: int, size: int, seconds: float) -> None:
        """Count a batch: its number of records and bytes, and the seconds that it took."""
        self._part = max(_PART, min(1.5 * seconds, _LONGEST_PART))
        cost = 0.0
        if self._records is not None:
            cost = records / self._records
        if self._bytes is not None:
            cost = max(cost, size / self._bytes)
        if cost:
            self._until = max(self._until, self._clock() - _CREDIT) + cost

    def wait_seconds(self) -> float:
        """Return the seconds until the next batch may start; 0: it may start now."""
        return max(0.0, self._until - self._clock())
