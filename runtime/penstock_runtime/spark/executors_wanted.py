"""Number of executors in separate pods that a task requests, and how it reports them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["ExecutorsState", "Wish"]


@dataclass(frozen=True, slots=True)
class ExecutorsState:
    """Executors of a task, as it reports them (`Report.executors_wanted`).

    Attributes:
        wanted: number that the task can use now; None: it can use none.
        connected: number of connected executors; None: it can use none.
        trouble: why it uses none, although it requests or should have some.
    """

    wanted: int | None
    connected: int | None = None
    trouble: str | None = None


class Wish:
    """Rule for the number of executors: `most` during a backlog and for `seconds` after it, otherwise `least`.

    It is 0 before the first session starts: a task may be paused for long, and executors would have no Master.

    Args:
        least, most: `min` and `max` of `spec.spark.executors`.
        seconds: time without a backlog after which executors are no longer requested (`spec.spark.idleTimeout`).
        clock: seconds, monotonic.
    """

    def __init__(self, least: int, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._least, self._most, self._seconds, self._clock = least, most, seconds, clock
        self._until: float | None = None
        self._has_begun = False

    def begin(self) -> None:
        """Request the minimum from now on, because a session starts."""
        self._has_begun = True

    def raise_(self) -> None:
        """Request the maximum, and restart the idle time, because there is a backlog."""
        self._until = self._clock() + self._seconds

    def lower(self) -> None:
        """Request only the minimum, because the session ends."""
        self._until = None

    @property
    def number(self) -> int:
        """Number of executors to request now."""
        if self._until is not None and self._clock() < self._until:
            return self._most
        return self._least if self._has_begun else 0
