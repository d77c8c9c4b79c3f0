"""The heap of the JVM of Java plugins, and the settings by which it grows."""

import os
from dataclasses import dataclass
from typing import Final

from penstock_model.contracts.pod_layout import POD_UID_VARIABLE
from penstock_runtime.process import cgroup

__all__ = ["HEAP_FIELD", "HEAP_VARIABLE", "Heap"]

HEAP_FIELD: Final = "spec.java.heapPercent"

HEAP_VARIABLE: Final = "PENSTOCK_JAVA_HEAP"
"""The greatest heap, as `-Xmx` takes it (`512m`). In pods it is reserved, so that a share of the memory limit decides."""
_DEFAULT: Final = "1024m"
_LEAST: Final = 64  # MiB
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Heap:
    """The greatest heap of a JVM.

    Attributes:
        size: as `-Xmx` takes it.
        limit: bytes of the container; None: it has no limit.
        setting: by which the limit, or without a pod the heap, is raised.
    """

    size: str
    limit: int | None
    setting: str

    @classmethod
    def of_this_process(cls, percent: int, *, is_long: bool) -> "Heap":
        """The heap of a JVM that this process starts: what the variable says, else a share of the memory limit, else 1 GiB.

        Args:
            percent: the share of the limit.
            is_long: the process is a task. In a pod, others are job pods.
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
