"""Figures of a task for its reports: what this incarnation has delivered, its lag, and how busy it is."""

import time
from collections.abc import Callable
from typing import Final

__all__ = ["Figures"]

_WINDOW: Final = 30.0
"""Shortest time over which a rate is measured, in seconds."""
_STALE: Final = 60.0
"""Seconds after which a lag is outdated."""


class Figures:
    """Counts of one task, from which each report takes its figures.

    Args:
        is_sink: whether it is a sink, which also has a lag.
        clock: seconds, monotonic.
    """

    def __init__(self, *, is_sink: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._is_sink = is_sink
        self._clock = clock
        self._delivered = 0
        self._read = 0
        self._waited = 0.0
        self._begun = clock()
        self._lag: tuple[int, float] | None = None
        self._partitions: int | None = None

    def begin(self) -> None:
        """Measure rates from now on."""
        self._read, self._waited, self._begun = 0, 0.0, self._clock()

    def batch(self, read: int, delivered: int) -> None:
        """Count the records of a batch."""
        self._read += read
        self._delivered += delivered

    def waited(self, seconds: float) -> None:
        """Count time in which there were no records to read."""
        self._waited += seconds

    def lag(self, records: int) -> None:
        """Store the lag. May be called from any thread."""
        self._lag = records, self._clock()

    def partitions(self, number: int) -> None:
        """Store the number of partitions that the task reads."""
        self._partitions = number

    def take(self) -> dict[str, int | float | None]:
        """Return the figures as fields of a report. Rates are absent until they have been measured for long enough."""
        taken: dict[str, int | float | None] = {"delivered": self._delivered}
        if not self._is_sink:
            return taken
        now = self._clock()
        taken |= {"lag": self._known_lag(now), "partitions": self._partitions}
        if (seconds := now - self._begun) >= _WINDOW:
            share = 1.0 - min(1.0, self._waited / seconds)
            taken |= {"read_rate": round(self._read / seconds, 3), "busy": round(100 * share)}
            self.begin()
        return taken

    def _known_lag(self, now: float) -> int | None:
        if self._partitions == 0:
            return 0
        return self._lag[0] if self._lag is not None and now - self._lag[1] < _STALE else None
