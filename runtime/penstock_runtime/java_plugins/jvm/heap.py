"""Heap of the JVM of Java plugins, and the settings that change it."""

import os
from dataclasses import dataclass
from typing import Final

from penstock_model.contracts.pod_layout import POD_UID_VARIABLE
from penstock_runtime.process import cgroup

__all__ = ["HEAP_FIELD", "HEAP_VARIABLE", "Heap"]

HEAP_FIELD: Final = "spec.java.heapPercent"

HEAP_VARIABLE: Final = "PENSTOCK_JAVA_HEAP"
"""Maximum heap in the form of `-Xmx` (`512m`). Reserved in pods, where a share of the memory limit determines the heap."""
_DEFAULT: Final = "1024m"
_LEAST: Final = 64  # MiB
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Heap:
    """Maximum heap of a JVM.

    Attributes:
        size: heap in the form of `-Xmx`.
        limit: memory limit of the container in bytes; None: no limit.
        setting: setting that raises the limit or, outside of pods, the heap.
    """

    size: str
    limit: int | None
    setting: str

    @classmethod
    def of_this_process(cls, percent: int, *, is_long: bool) -> "Heap":
        """Return the heap for a JVM of this process: from the variable, else a share of the memory limit, else 1 GiB.

        Args:
            percent: share of the memory limit.
            is_long: whether the process is a task. In a pod, any other process belongs to a job pod.
        """
        limit = cgroup.memory_limit()
        size = _DEFAULT if limit is None else f"{max(_LEAST, limit * percent // 100 // _MIB)}m"
        if POD_UID_VARIABLE not in os.environ:
            setting = HEAP_VARIABLE
        elif is_long:
            setting = "spec.template.resources.limits.memory"
        else:
            setting = "job.resources.limits.memory of the release"
        return cls(os.environ.get(HEAP_VARIABLE) or size, limit, setting)
