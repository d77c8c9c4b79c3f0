"""Seconds that a full machine gives, for deadlines of tests: what waits for a processor is slow, not stuck.

With twice as many processes that want to run as there are processors, everything takes twice as long, and these seconds
pass half as fast. What nothing can be said about (no Linux) is taken as a machine that is idle.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["Deadline", "MachineTime", "share"]

_LOADAVG: Final = Path("/proc/loadavg")
_LEAST: Final = 1 / 20
"""However full it is: somewhere a test has to end."""


def share(loadavg: str, processors: int) -> float:
    """The share of a processor that falls to one process that wants to run, by the text of `/proc/loadavg`."""
    running = int(loadavg.split()[3].partition("/")[0])
    return max(_LEAST, min(1.0, processors / max(1, running)))


class MachineTime:
    """A clock. Call it often: each time that passed counts by what the machine gives at the moment of the call."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, given: Callable[[], float] | None = None) -> None:
        self._clock = clock
        self._given = given or _share_now
        self._last = clock()
        self._passed = 0.0

    def __call__(self) -> float:
        """Seconds since it was made."""
        now = self._clock()
        self._passed += (now - self._last) * self._given()
        self._last = now
        return self._passed


class Deadline:
    """Passes when so many seconds of the machine have gone by in which nothing moved."""

    def __init__(self, seconds: float, clock: MachineTime | None = None) -> None:
        self.seconds = seconds
        self._clock = clock or MachineTime()
        self._since = self._clock()
        self._seen: object = None

    def passed(self, moving: object = None) -> bool:
        """Whether it has passed; a value of `moving` that differs from that of the last call begins it anew."""
        now = self._clock()
        if moving != self._seen:
            self._seen, self._since = moving, now
        return now - self._since >= self.seconds


def _share_now() -> float:
    try:
        return share(_LOADAVG.read_text(), len(os.sched_getaffinity(0)))
    except (AttributeError, OSError, ValueError, IndexError):
        return 1.0
