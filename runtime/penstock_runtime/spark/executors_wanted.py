"""Number of executors that a task wants in separate pods, and how it reports them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["ExecutorsState", "Wish"]


@dataclass(frozen=True, slots=True)
class ExecutorsState:
    """Executors of a task, as it reports them (`Report.executors_wanted`).

    Attributes:
        wanted: number that the task can use now; None: it can use none.
        connected: number that is connected, likewise.
        trouble: why it uses none, although it wants or should have some.
    """

    wanted: int | None
    connected: int | None = None
    trouble: str | None = None


class Wish:
    """Rule for the number of executors: `most` from a backlog on, until there was none for a while; else `least`.

    None is wanted before the first session begins: a task may be paused for long, and executors would have no Master.

    Args:
        least, most: `min` and `max` of `spec.spark.executors`.
        seconds: time without a backlog after which executors are no longer wanted (`spec.spark.idleTimeout`).
        clock: seconds, monotonic.
    """

    def __init__(self, least: int, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._least, self._most, self._seconds, self._clock = least, most, seconds, clock
        self._until: float | None = None
        self._has_begun = False

    def begin(self) -> None:
        """Want the minimum from now on, because a session begins."""
        self._has_begun = True

    def raise_(self) -> None:
        """Begin to count again, because there is a backlog."""
        self._until = self._clock() + self._seconds

    def lower(self) -> None:
        """Want no more than the minimum, because the session ends."""
        self._until = None

    @property
    def number(self) -> int:
        """Number that is wanted now."""
        if self._until is not None and self._clock() < self._until:
            return self._most
        return self._least if self._has_begun else 0
