"""Spark's Python processes that descend from this one: the daemon that forks workers, and the workers."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import psutil

__all__ = ["await_end", "python_processes"]

_DAEMON: Final = "penstock_runtime.spark_daemon"
_CLOSING: Final = 12.0
"""Seconds that workers have to close their plugins: more than the limit of each one (`spark_daemon`)."""


def python_processes() -> list[psutil.Process]:
    """Return the running processes. Workers have the command line of the daemon that forked them."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if _DAEMON in process.cmdline():
                found.append(process)
    return found


def await_end(processes: Sequence[psutil.Process]) -> None:
    """Wait until these processes have ended, and kill those that do not end in time.

    A worker whose daemon has ended is no longer a descendant of this process, so nothing else would end it.
    """
    _, alive = psutil.wait_procs(processes, timeout=_CLOSING)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
