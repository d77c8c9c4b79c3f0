"""Decide whether a lag grows, from its minima in the last minutes. Without I/O."""

from collections import deque
from itertools import pairwise
from typing import Final

__all__ = ["LagGrowth"]

_SPAN: Final = 120.0
"""Length of a span in seconds. Only its smallest lag counts: one batch more or less is not growth."""
_SPANS: Final = 6
"""Number of spans: the first and the last are ten minutes apart."""


class LagGrowth:
    """Growth of the lag of one task: the lag grows if each span has a larger minimum than the span before."""

    def __init__(self) -> None:
        self._spans: deque[int] = deque(maxlen=_SPANS)
        """Minimum of each span that has ended, oldest first."""
        self._begun: float | None = None
        self._least = 0

    def add(self, lag: int, now: float) -> None:
        """Add a measurement.

        Args:
            lag: in records.
            now: seconds, monotonic.
        """
        if self._begun is None or now - self._begun >= 2 * _SPAN:  # a span without a measurement proves nothing
            self._spans.clear()
            self._begun, self._least = now, lag
        elif now - self._begun >= _SPAN:
            self._spans.append(self._least)
            self._begun, self._least = self._begun + _SPAN, lag
        self._least = min(self._least, lag)

    @property
    def text(self) -> str | None:
        """Description of the growth; None: the lag does not grow, or has not been known for long enough."""
        values = list(self._spans)
        if len(values) < _SPANS or not all(a < b for a, b in pairwise(values)):
            return None
        minutes = round(_SPAN * (_SPANS - 1) / 60)
        return f"the lag grew in {minutes} minutes from {values[0]} to {values[-1]} records"
