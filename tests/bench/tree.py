"""CPU seconds and memory of a whole process tree, from /proc.

CPU: user and system time of every living process plus that of its children that have ended. The keeper above the tree adopts
what its parents leave behind, so no second is lost; its own few milliseconds do not count.
Memory: PSS, which counts a page that n processes share as an n-th in each.
"""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

__all__ = ["Memory", "PeakMemory", "Tree"]

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_EVERY: Final = 0.5
PARENT: Final = "penstock run"
_ROLES: Final = (
    ("SparkSubmit", "JVM"),  # its command names the module of the workers
    ("penstock_cli", PARENT),
    ("penstock_runtime.spark_daemon", "workers"),
    ("penstock_runtime.task", "driver"),
    ("pyspark/daemon", "workers"),
    ("pyspark.daemon", "workers"),
    ("ConnectStandalone", "Kafka Connect"),
    ("dev.penstock.host", "Java plugins"),
)


class _Stat(NamedTuple):
    parent: int
    own: int
    reaped: int


class Memory(NamedTuple):
    """PSS in bytes: of the task's processes (of Connect's), and of `penstock run`, which watches over them."""

    task: int
    parent: int


class Tree:
    """The processes under a keeper."""

    def __init__(self, keeper: int) -> None:
        self._keeper = keeper
        self._known: list[int] = []

    def look(self) -> list[int]:
        """Find the processes that are there now, which takes some milliseconds."""
        stats = {int(name): _stat(int(name)) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208
        below: dict[int, list[int]] = {}
        for pid, stat in stats.items():
            if stat is not None:
                below.setdefault(stat.parent, []).append(pid)
        found: list[int] = []
        new = list(below.get(self._keeper, []))
        while new:
            pid = new.pop()
            found.append(pid)
            new += below.get(pid, [])
        self._known = found
        return found

    def cpu(self, *, look: bool = False) -> float:
        """CPU seconds since the start; without `look`, of the processes that were found last."""
        return sum(self.cpu_by_role(look=look).values())

    def cpu_by_role(self, *, look: bool = False) -> dict[str, float]:
        """`cpu` by what the processes are for; a dead process counts with the one that reaped it."""
        pids = self.look() if look else self._known
        seconds: dict[str, float] = {}
        for pid in pids:
            stat = _stat(pid)
            if stat is not None:
                role = _role(pid)
                seconds[role] = seconds.get(role, 0.0) + (stat.own + stat.reaped) / _TICKS
        keeper = _stat(self._keeper)
        if keeper is not None and keeper.reaped:
            seconds["ended"] = keeper.reaped / _TICKS
        return seconds

    def memory(self) -> Memory:
        """PSS now."""
        roles = self.memory_by_role()
        parent = roles.pop(PARENT, 0)
        return Memory(sum(roles.values()), parent)

    def memory_by_role(self) -> dict[str, int]:
        """PSS now, by what the processes are for."""
        found: dict[str, int] = {}
        for pid in self.look():
            size = _pss(pid)
            role = _role(pid)
            found[role] = found.get(role, 0) + size
        return found


class PeakMemory:
    """Looks at a tree's memory twice a second while it is entered, and keeps the largest."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peak-memory", daemon=True)
        self.peak = Memory(0, 0)
        self.roles: Mapping[str, int] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            roles = self._tree.memory_by_role()
            parent = roles.get(PARENT, 0)
            task = sum(roles.values()) - parent
            if task > self.peak.task:
                self.roles = roles
            self.peak = Memory(max(self.peak.task, task), max(self.peak.parent, parent))
            if self._done.wait(_EVERY):
                return


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    return _Stat(int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14]))


def _pss(pid: int) -> int:
    try:
        with Path(f"/proc/{pid}/smaps_rollup").open() as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # it has ended
        pass
    return 0


def _role(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return "other"
    return next((role for mark, role in _ROLES if mark in command), "other")
