"""Heap of Spark's JVM. The heap of the JVM of Java plugins is in `java_plugins/jvm/heap.py`."""

from typing import Final

__all__ = ["spark_heap"]

_MIB: Final = 1 << 20
_LEAST_HEAP: Final = 471 * _MIB
"""Spark's minimum: the 450 MiB that it requires, plus memory that the JVM does not count as heap."""
_MOST_HEAP: Final = 4 << 30


def spark_heap(limit: int | None) -> int:
    """Return the bytes of the JVM's heap: a quarter of the memory limit, between Spark's minimum and 4 GiB.

    The rest is for the JVM's other memory, the driver, Spark's Python workers and the clients' queues, through which records
    pass. The heap holds only Spark's plans, and the data that a writer of frames is writing.
    """
    return _LEAST_HEAP if limit is None else max(_LEAST_HEAP, min(_MOST_HEAP, limit // 4))
