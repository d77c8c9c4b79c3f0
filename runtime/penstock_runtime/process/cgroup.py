"""Read this container's CPU and memory limits from its control group (version 2, else 1), and derive sizes from them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["cpu_limit", "memory_limit", "memory_room", "oom_kills", "queue"]

ROOT: Final = Path("/sys/fs/cgroup")
_OWN: Final = Path("/proc/self/cgroup")
_MIB: Final = 1 << 20
_NO_LIMIT: Final = 1 << 60
"""Version 1 uses the largest number of whole pages for "no limit"."""
_QUEUE: Final = 64 * _MIB
_LEAST_QUEUE: Final = 8 * _MIB


def cpu_limit(root: Path = ROOT) -> int | None:
    """Return the CPU limit in cores, rounded up, but no more than the machine has; None without a limit."""
    version_2 = _words(root / "cpu.max")
    version_1 = [*_words(root / "cpu" / "cpu.cfs_quota_us"), *_words(root / "cpu" / "cpu.cfs_period_us")]
    for words in (version_2, version_1):
        if len(words) == 2 and all(w.isdigit() for w in words) and int(words[1]):
            return max(1, min(os.cpu_count() or 1, -(-int(words[0]) // int(words[1]))))
    return None


def memory_limit(root: Path = ROOT) -> int | None:
    """Return the memory limit in bytes; None without a limit."""
    for file in _memory_files(root, "memory.max", "memory.limit_in_bytes"):
        for word in _words(file):
            if word.isdigit() and int(word) < _NO_LIMIT:
                return int(word)
    return None


def memory_room(root: Path = ROOT) -> int | None:
    """Return the bytes left below the memory limit; reclaimable cache counts as free. None if unknown."""
    limit = memory_limit(root)
    for file in _memory_files(root, "memory.current", "memory.usage_in_bytes"):
        used, stat = _words(file), _words(file.with_name("memory.stat"))
        if limit is not None and used:
            cache = next((stat.index(n) for n in ("total_inactive_file", "inactive_file") if n in stat[:-1]), None)
            return limit - int(used[0]) + (0 if cache is None else int(stat[cache + 1]))
    return None


def oom_kills(root: Path = ROOT) -> int | None:
    """Return how many processes of this container the kernel's OOM killer has killed; None if unknown."""
    for file in _memory_files(root, "memory.events", "memory.oom_control"):
        words = _words(file)
        if "oom_kill" in words[:-1]:
            return int(words[words.index("oom_kill") + 1])
    return None


def queue(limit: int | None, processes: int) -> int:
    """Return the bytes that each process's producer may buffer: an eighth of the memory limit, shared by all processes."""
    return _QUEUE if limit is None else max(_LEAST_QUEUE, min(_QUEUE, limit // 8 // max(1, processes)))


def _memory_files(root: Path, version_2: str, version_1: str) -> Iterator[Path]:
    """Yield the files of this process's group, which it may not be able to see, then those of the container's group."""
    for line in (own.partition(":")[2] for own in _lines(_OWN)):
        controllers, _, group = line.partition(":")
        if "memory" in controllers.split(","):
            yield root / "memory" / group.strip("/") / version_1
        elif not controllers:
            yield root / group.strip("/") / version_2
    yield from (root / version_2, root / "memory" / version_1)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


def _words(file: Path) -> list[str]:
    return " ".join(_lines(file)).split()
