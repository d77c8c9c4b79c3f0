"""Detect that no record is delivered any more, because all of them fail and are skipped. Without I/O.

Under `errors.tolerance: all` such a task has no error, and its dead letter queue, if there is one, takes every record.
"""

from collections import Counter
from typing import Final

from penstock_runtime.pipeline.summary import Summary

__all__ = ["SkippedInARow"]

_LEAST: Final = 10
"""Number of records that must fail in a row; tolerance is meant for fewer."""
_WITHIN: Final = 600.0
"""Seconds in which they must fail; tolerance is also meant for an occasional bad record."""
_SETTLED: Final = 5.0
"""Seconds until a record passed to a sink counts as delivered: the sink may report it as failed one batch later."""


class SkippedInARow:
    """Counter of records that failed since the last one was delivered, or was dropped by a transform."""

    def __init__(self) -> None:
        self._failed: Counter[int] = Counter()
        """Number of records that failed in each second."""
        self._letters: Counter[int] = Counter()
        """Number of them that were sent to the dead letter queue."""
        self._cause = ""
        self._given: Counter[int] = Counter()
        """Number of records delivered or dropped, as far as known, in each of the last seconds, in order."""

    def add(self, summary: Summary, now: float) -> None:
        """Count a batch.

        Args:
            summary: summary of the batch; or of records of earlier batches that the sink reported as failed, with none read.
            now: seconds, monotonic.
        """
        second = int(now)
        given = summary.read - summary.failures
        if given > 0:
            self._given[second] += given
        elif given < 0:
            second = self._take_back(-given, second)
        if summary.failures:
            self._failed[second] += summary.failures
            self._letters[second] += summary.dead_letters
            self._cause = summary.cause
        self._settle(now)

    def trouble(self, now: float) -> str | None:
        """Describe the loss, without values of records; None: records are delivered, or too few have failed."""
        self._settle(now)
        failed, letters = self._failed.total(), self._letters.total()
        if failed < _LEAST or self._given:
            return None
        where = f", {letters} of them to the dead letter queue" if letters else ""
        return (
            f"no record is delivered: the last {failed} failed and were skipped{where} (errors.tolerance=all); "
            f"the last one at {self._cause}; correct the data or the configuration"
        )

    def _take_back(self, count: int, now: int) -> int:
        """Subtract records from the oldest of `_given`; return the second of the last one subtracted, or `now`."""
        for second, given in list(self._given.items()):
            taken = min(given, count)
            count -= taken
            now = second
            if taken < given:
                self._given[second] -= taken
                break
            del self._given[second]
        return now

    def _settle(self, now: float) -> None:
        """Remove failures before the last record that counts as delivered, and old ones."""
        forgotten = int(now - _WITHIN)
        for second in [s for s in self._given if now - s >= _SETTLED]:
            forgotten = max(forgotten, second)
            del self._given[second]
        for second in [s for s in self._failed if s <= forgotten]:
            del self._failed[second], self._letters[second]
