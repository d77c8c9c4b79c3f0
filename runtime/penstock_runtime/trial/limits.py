"""Resource limits of a process that tries transforms in another process's container, which it must not harm."""

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

from penstock_runtime.process.cgroup import memory_room

__all__ = ["MEMORY", "has_room", "limit_this_process"]

MEMORY: Final = 64 << 20
"""Memory limit of a trial in bytes: twice the memory that a chain of several transforms needs."""
_LIMITS: Final = (
    (resource.RLIMIT_DATA, MEMORY),
    (resource.RLIMIT_CPU, 5),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_NOFILE, 64),
    (resource.RLIMIT_CORE, 0),
)
_NICE: Final = 19
_FIRST_TO_KILL: Final = "1000"


def limit_this_process() -> None:
    """Limit memory, CPU time and files of this process, and give it the lowest priority, irrevocably."""
    for kind, most in _LIMITS:
        resource.setrlimit(kind, (most, most))
    os.nice(_NICE)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_KILL)


def has_room() -> bool:
    """Return whether the container has enough memory left for a trial. Otherwise, the kernel may kill its processes."""
    room = memory_room()
    return room is None or room >= MEMORY
