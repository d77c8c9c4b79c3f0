"""What this container may use: its limits of CPU and memory, from the control group (version 2, else 1)."""

import os
from pathlib import Path
from typing import Final

__all__ = ["cpu_limit", "heap", "memory_limit", "queue"]

ROOT: Final = Path("/sys/fs/cgroup")
_MIB: Final = 1 << 20
_NO_LIMIT: Final = 1 << 60
"""Version 1 says "none" with the greatest number of whole pages."""
_LEAST_HEAP: Final = 471 * _MIB
"""Spark's own least: 450 MiB that it insists on, and what the JVM does not count."""
_MOST_HEAP: Final = 4 << 30
_QUEUE: Final = 64 * _MIB
_LEAST_QUEUE: Final = 8 * _MIB


def cpu_limit(root: Path = ROOT) -> int | None:
    """The CPU limit in cores, rounded up, and no more than the machine has; None without one."""
    version_2 = _words(root / "cpu.max")
    version_1 = [*_words(root / "cpu" / "cpu.cfs_quota_us"), *_words(root / "cpu" / "cpu.cfs_period_us")]
    for words in (version_2, version_1):
        if len(words) == 2 and all(w.isdigit() for w in words) and int(words[1]):
            return max(1, min(os.cpu_count() or 1, -(-int(words[0]) // int(words[1]))))
    return None


def memory_limit(root: Path = ROOT) -> int | None:
    """The memory limit in bytes; None without one."""
    for file in (root / "memory.max", root / "memory" / "memory.limit_in_bytes"):
        for word in _words(file):
            if word.isdigit() and int(word) < _NO_LIMIT:
                return int(word)
    return None


def heap(limit: int | None) -> int:
    """Bytes of the JVM's heap: a quarter of the memory limit, between Spark's least and 4 GiB.

    The rest is for the JVM's own needs, the driver, Spark's Python workers and the clients' queues: records pass through
    those, the heap holds plans, and what a writer of frames has under way.
    """
    return _LEAST_HEAP if limit is None else max(_LEAST_HEAP, min(_MOST_HEAP, limit // 4))


def queue(limit: int | None, processes: int) -> int:
    """Bytes of records that may wait in a producer, of which each process has one: all of them an eighth of the limit."""
    return _QUEUE if limit is None else max(_LEAST_QUEUE, min(_QUEUE, limit // 8 // max(1, processes)))


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
