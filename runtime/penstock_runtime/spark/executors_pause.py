"""Pause of executors in pods after several batches in a row have failed on them: only the driver delivers."""

import logging
import time
from collections.abc import Callable
from typing import Final

__all__ = ["ExecutorsPause"]

log = logging.getLogger(__name__)

_FAILURES: Final = 2
"""Number of failed batches in a row after which executors pause: one executor may be lost at any time."""
_FIRST: Final = 30.0
_LONGEST: Final = 600.0
"""Seconds of the first and the longest pause: each further failed batch doubles it."""


class ExecutorsPause:
    """Rule for the use of executors in pods.

    They may fail where the driver does not, for example because they cannot reach Kafka.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._until = 0.0
        self._pause = _FIRST
        self.last: str | None = None
        """Cause of the last batch that failed on executors; None once one has succeeded."""
        self.trouble: str | None = None
        """Why executors are paused, until a batch succeeds on them; None: they are not."""

    @property
    def is_over(self) -> bool:
        """Return whether executors may deliver now."""
        return self._clock() >= self._until

    def failed(self, reason: str, *, at_once: bool = False) -> None:
        """Record that a batch has failed on executors.

        Args:
            reason: cause of the failure.
            at_once: whether executors pause even if this failure is the first one.
        """
        self._failures, self.last = self._failures + 1, reason
        if self._failures < _FAILURES and not at_once:
            return
        self._until, seconds = self._clock() + self._pause, self._pause
        self._pause = min(2 * self._pause, _LONGEST)
        self.trouble = (
            f"Batches fail on executors, so only the driver delivers until executors are tried again: {reason}"
        )
        log.warning("%s. Retrying in %.0f s", self.trouble, seconds)

    def succeeded(self) -> None:
        """Record that executors have delivered a batch."""
        self._failures, self._pause, self.last, self.trouble = 0, _FIRST, None, None
