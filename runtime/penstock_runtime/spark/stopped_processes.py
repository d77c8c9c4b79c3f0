"""Detect Spark's processes that were stopped (SIGSTOP) and not continued, and therefore block their batch.

A stopped worker keeps its connections, so Spark waits for it, and its timers do not run either. The kernel reports
which processes are stopped; a process that is slow, waits, or is held by a debugger is not one of them.
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import psutil

__all__ = ["StoppedProcesses"]

log = logging.getLogger(__name__)

_EVERY: Final = 5.0
"""Seconds between two checks: each reads the whole process table."""
_LOOKS: Final = 6
"""Number of consecutive checks, half a minute. They are counted, because the clock runs even while everything is stopped."""


class StoppedProcesses:
    """Detector that kills descendants of this process that stay stopped for half a minute; called while a job runs.

    Args:
        clock: seconds, monotonic.

    Attributes:
        ended: processes that it has killed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0
        self._seen: dict[psutil.Process, int] = {}
        self.ended: list[psutil.Process] = []

    def look(self) -> None:
        """If a check is due, kill the processes that have been stopped for too long. Never raises."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + _EVERY
        self._seen = {process: self._seen.get(process, 0) + 1 for process in _stopped()}
        for process in [p for p, looks in self._seen.items() if looks > _LOOKS]:
            log.error(
                "Process %d of Spark has been stopped (SIGSTOP) for %.0f s and is not continued: it is killed, and its "
                "batch is retried",
                process.pid,
                _LOOKS * _EVERY,
            )
            with suppress(psutil.Error):
                process.kill()
            self.ended.append(process)


def _stopped() -> list[psutil.Process]:
    """Return the descendants of this process that are stopped now."""
    found = []
    with suppress(psutil.Error):
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if process.status() == psutil.STATUS_STOPPED:
                    found.append(process)
    return found
