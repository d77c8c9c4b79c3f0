"""Explain why a JVM ended, and what to change."""

import signal
from collections.abc import Mapping, Sequence
from typing import Final

from penstock_runtime.java_plugins.java_error import JvmEnded, JvmLost, JvmOomKilled, JvmOutOfMemory
from penstock_runtime.java_plugins.jvm.heap import HEAP_FIELD, HEAP_VARIABLE, Heap

__all__ = ["cause_of_end"]

_OUT_OF_MEMORY: Final = "java.lang.OutOfMemoryError"
_OUT_OF_MEMORY_CODE: Final = 3
"""Exit code of `-XX:+ExitOnOutOfMemoryError`."""
_NOT_STARTED: Final = "Could not create the Java Virtual Machine"
_CLASS_SPACES: Final[Mapping[str, str]] = {
    "Metaspace": "-XX:MaxMetaspaceSize",
    "Compressed class space": "-XX:CompressedClassSpaceSize",
}
"""Parts of the memory with a separate limit, and the option that sets it."""
_CRASHES: Final = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_BY_SIGNAL: Final = 128
"""Offset that Java adds to the number of the signal that ended it to get its exit code, as shells do."""
_MIB: Final = 1 << 20


def cause_of_end(code: int, lines: Sequence[str], heap: Heap, oom_kills: int | None) -> JvmEnded:
    """Return an error that says how a JVM ended.

    Args:
        code: return code, which is negative after a signal.
        lines: last lines that the JVM printed.
        heap: heap of the JVM.
        oom_kills: how many processes of the container the OOM killer has killed since the JVM started; None: unknown.
    """
    last = "; ".join(line for line in lines if line)[-500:]
    said = f"; its last output: {last}" if last else ""
    if code == _OUT_OF_MEMORY_CODE and (printed := next((line for line in lines if _OUT_OF_MEMORY in line), None)):
        return _out_of_memory(printed.partition(f"{_OUT_OF_MEMORY}: ")[2], heap)
    if code == 1 and any(_NOT_STARTED in line for line in lines):
        return JvmEnded(f"its JVM does not start: {next(filter(None, lines))}; correct spec.java.options")
    if -code in _CRASHES:
        name = signal.Signals(-code).name
        return JvmEnded(f"its JVM crashed ({name}): native code of the plugin, or Java itself, is faulty{said}")
    if code - _BY_SIGNAL in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):  # Java handles these and exits
        return JvmLost(f"its JVM was killed by signal {code - _BY_SIGNAL}")
    if -code == signal.SIGKILL:
        return _killed(heap, oom_kills)
    if code < 0:
        return JvmLost(f"its JVM was killed by signal {-code}")
    if code == 0:
        return JvmEnded("its JVM exited with code 0: the plugin has called System.exit")
    return JvmEnded(f"its JVM exited with code {code}: the plugin has called System.exit, or Java failed{said}")


def _out_of_memory(what: str, heap: Heap) -> JvmOutOfMemory:
    if what in _CLASS_SPACES:
        return JvmOutOfMemory(f"its JVM ran out of memory: {what}; raise {_CLASS_SPACES[what]} in spec.java.options")
    return JvmOutOfMemory(
        f"its JVM ran out of memory with a heap of {heap.size}{f': {what}' if what else ''}; raise {_settings(heap)}, or "
        "reduce the connector's poll size (max.batch.size, max.poll.records)"
    )


def _killed(heap: Heap, oom_kills: int | None) -> JvmLost:
    killed = "its JVM was killed by signal 9"
    if oom_kills is None:
        return JvmLost(f"{killed}, possibly because memory ran out")
    if not oom_kills:
        return JvmLost(f"{killed}: another process sent the signal, and memory had not run out")
    by = "its JVM was killed by the kernel's OOM killer"
    if heap.limit is None:
        return JvmOomKilled(f"{by}: the machine ran out of memory; free memory, or lower the heap of {heap.size}")
    limit = f"{heap.limit // _MIB} MiB" if heap.limit >= _MIB else f"{heap.limit} bytes"
    raised = "it" if heap.setting == HEAP_VARIABLE else heap.setting
    lowered = heap.setting if heap.setting == HEAP_VARIABLE else HEAP_FIELD
    return JvmOomKilled(
        f"{by}: with a heap of {heap.size} the container needed more than its memory limit of {limit}; raise "
        f"{raised}, or lower {lowered}"
    )


def _settings(heap: Heap) -> str:
    return heap.setting if heap.setting == HEAP_VARIABLE else f"{heap.setting} or {HEAP_FIELD}"
