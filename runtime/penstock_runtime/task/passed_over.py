"""Notices that no record is delivered any more, since all of them fail and are passed over. Pure.

Under `errors.tolerance: all` such a task has no error, and its dead letter queue, if it has one, takes every record.
"""

from collections import deque
from typing import Final

from penstock_runtime.pipeline.summary import Summary

__all__ = ["PassedOver"]

_LEAST: Final = 10
"""Records that must fail in a row; fewer are what tolerance is for."""
_SETTLED: Final = 5.0
"""Seconds until a record that was given to a sink counts as delivered: the sink may hand it back a batch later."""


class PassedOver:
    """Counts the records that failed since one was delivered."""

    def __init__(self) -> None:
        self._failed = 0
        self._letters = 0
        self._cause = ""
        self._given: deque[tuple[float, int]] = deque()
        """When records were delivered, by all that is known, and how many; of the last seconds."""

    def add(self, summary: Summary, now: float) -> None:
        """Count a batch.

        Args:
            summary: of the batch; or of records of earlier batches that the sink has handed back, none of which it read.
            now: seconds, monotonic.
        """
        given = summary.read - summary.dropped - summary.failures
        if summary.failures:
            self._failed += summary.failures
            self._letters += summary.dead_letters
            self._cause = summary.cause
        if given > 0:
            if self._given and now - self._given[-1][0] < 1.0:  # what is kept stays small
                at, count = self._given.pop()
                self._given.append((at, count + given))
            else:
                self._given.append((now, given))
        self._take_back(-given)
        self._settle(now)

    def trouble(self, now: float) -> str | None:
        """Describe the loss, without values of records; None: records are delivered, or too few have failed."""
        self._settle(now)
        if self._failed < _LEAST or self._given:
            return None
        where = f", {self._letters} of them to the dead letter queue" if self._letters else ""
        return (
            f"no record is delivered: the last {self._failed} failed and were passed over{where} (errors.tolerance=all); "
            f"the last one at {self._cause}; correct the data or the configuration"
        )

    def _take_back(self, count: int) -> None:
        while count > 0 and self._given:
            at, given = self._given.popleft()
            if given > count:
                self._given.appendleft((at, given - count))
            count -= given

    def _settle(self, now: float) -> None:
        """Begin to count anew once records count as delivered."""
        if self._given and now - self._given[0][0] >= _SETTLED:
            self._failed, self._letters = 0, 0
            while self._given and now - self._given[0][0] >= _SETTLED:
                self._given.popleft()
