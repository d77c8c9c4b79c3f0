"""Rest of executors in pods on which batches fail one after the other: meanwhile only the driver delivers."""

import logging
import time
from collections.abc import Callable
from typing import Final

__all__ = ["ExecutorsPause"]

log = logging.getLogger(__name__)

_FAILURES: Final = 2
"""Number of failed batches in a row after which executors rest: one executor may be lost at any time."""
_FIRST: Final = 30.0
_LONGEST: Final = 600.0
"""Seconds of the first and the longest rest: each further batch that fails doubles it."""


class ExecutorsPause:
    """Rule for the use of executors in pods, which may be unable to do what the driver can, such as to reach Kafka.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._until = 0.0
        self._pause = _FIRST
        self.last: str | None = None
        """Cause of the last batch that has failed on executors, until one succeeds."""
        self.trouble: str | None = None
        """Why executors rest, until a batch succeeds on them; None: they do not."""

    @property
    def is_over(self) -> bool:
        """Return whether executors may deliver now."""
        return self._clock() >= self._until

    def failed(self, reason: str, *, at_once: bool = False) -> None:
        """Record that a batch has failed on executors.

        Args:
            reason: cause of the failure.
            at_once: whether they rest after this failure, although it may be the first one.
        """
        self._failures, self.last = self._failures + 1, reason
        if self._failures < _FAILURES and not at_once:
            return
        self._until, seconds = self._clock() + self._pause, self._pause
        self._pause = min(2 * self._pause, _LONGEST)
        self.trouble = (
            f"Batches fail on executors, so the driver delivers alone and tries executors again later: {reason}"
        )
        log.warning("%s. Retrying in %.0f s", self.trouble, seconds)

    def succeeded(self) -> None:
        """Record that executors have delivered a batch."""
        self._failures, self._pause, self.last, self.trouble = 0, _FIRST, None, None
