"""The options and the environment of a JVM of Java plugins: little memory while it is quiet."""

import os
from collections.abc import Mapping
from typing import Final

from penstock_runtime.process import cgroup

__all__ = ["CLASSES_VARIABLE", "HEAP_VARIABLE", "classes", "environment", "heap", "options"]

HEAP_VARIABLE: Final = "PENSTOCK_JAVA_HEAP"
"""The greatest heap of a plugin's JVM, as `-Xmx` takes it (`512m`)."""
CLASSES_VARIABLE: Final = "PENSTOCK_JAVA_CLASSES"
"""The most memory for classes (metaspace), in the same form."""
_MIB: Final = 1 << 20
_CLASSES: Final = "256m"
"""Ten times what Debezium takes. Without a limit, a plugin that loads ever more classes fills the memory of the pod."""
_OPTIONS: Final = (
    "-Xms16m",
    "-XX:+UseSerialGC",
    # A full collection, which the host asks for once the JVM is quiet, leaves two fifths of the heap free, at once.
    "-XX:MinHeapFreeRatio=20",
    "-XX:MaxHeapFreeRatio=40",
    "-XX:-ShrinkHeapInSteps",
    # What compilers have left goes back every half a minute: 17.0.9, 21.0.1 and later. Others pass over the option.
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:TrimNativeHeapInterval=30000",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Dfile.encoding=UTF-8",
    "-Djava.awt.headless=true",
)
_SHORT: Final = ("-XX:TieredStopAtLevel=1",)
_ENVIRONMENT: Final = {"MALLOC_ARENA_MAX": "2"}
"""Of glibc: each arena keeps memory that others cannot use, and by default there are eight for each core."""


def heap() -> str:
    """Return the greatest heap: what the variable says, else half of the memory limit, else 1 GiB."""
    if chosen := os.environ.get(HEAP_VARIABLE):
        return chosen
    limit = cgroup.memory_limit()
    return "1024m" if limit is None else f"{max(64, limit // 2 // _MIB)}m"


def classes() -> str:
    """Return the most memory for classes: what the variable says, else 256 MiB."""
    return os.environ.get(CLASSES_VARIABLE) or _CLASSES


def options(*, is_long: bool) -> list[str]:
    """Return Java's options.

    Args:
        is_long: the JVM moves records for long. Else the optimizing compiler is off, which costs a short run more than it
            saves.
    """
    return [f"-Xmx{heap()}", f"-XX:MaxMetaspaceSize={classes()}", *_OPTIONS, *(() if is_long else _SHORT)]


def environment() -> Mapping[str, str]:
    """Return the environment variables: those of this process win."""
    return {**_ENVIRONMENT, **os.environ}
