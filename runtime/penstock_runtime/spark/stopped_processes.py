"""Finds Spark's processes that were stopped (SIGSTOP) and not continued, and so hold their batch up.

A stopped worker keeps its connections, so that Spark waits for it, and its own timers stand still too. The kernel reports
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
"""Seconds between two looks: each reads the whole table of processes."""
_LOOKS: Final = 6
"""So many in a row: half a minute. Counted, since this process's clock goes on while everything here is stopped."""


class StoppedProcesses:
    """Ends descendants of this process that stay stopped for half a minute; asked while a job runs.

    Args:
        clock: seconds, monotonic.

    Attributes:
        ended: what it has ended.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0
        self._seen: dict[psutil.Process, int] = {}
        self.ended: list[psutil.Process] = []

    def look(self) -> None:
        """Look, if that is due, and end those whose time is over. Raises nothing."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + _EVERY
        self._seen = {process: self._seen.get(process, 0) + 1 for process in _stopped()}
        for process in [p for p, looks in self._seen.items() if looks > _LOOKS]:
            log.error(
                "Process %d of Spark has been stopped (SIGSTOP) for %.0f s and does not go on: it is ended, and its batch "
                "comes again.",
                process.pid,
                _LOOKS * _EVERY,
            )
            with suppress(psutil.Error):
                process.kill()
            self.ended.append(process)


def _stopped() -> list[psutil.Process]:
    """Those that are stopped now, below this process."""
    found = []
    with suppress(psutil.Error):
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if process.status() == psutil.STATUS_STOPPED:
                    found.append(process)
    return found
