"""Options of the JVM of Java plugins: Penstock's, and those of the connector."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from penstock.errors import Problem
from penstock_model.resources.java_options import is_collector
from penstock_model.resources.task_settings import Java
from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins.jvm.heap import Heap

__all__ = ["environment", "jvm_options", "unusable_options"]

_DEFAULTS: Final = (
    "-Xms16m",
    # Ten times as much as Debezium needs. Without a limit, a plugin that keeps loading classes fills the pod's memory.
    "-XX:MaxMetaspaceSize=256m",
    # A full collection, which the host requests once the JVM is idle, immediately shrinks the heap to 40 % free.
    "-XX:MinHeapFreeRatio=20",
    "-XX:MaxHeapFreeRatio=40",
    "-XX:-ShrinkHeapInSteps",
    "-XX:-UsePerfData",
    "-Dfile.encoding=UTF-8",
    "-Djava.awt.headless=true",
)
_SERIAL: Final = "-XX:+UseSerialGC"
"""Garbage collector that needs the least memory and returns unused memory."""
_TRIM: Final = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:TrimNativeHeapInterval=30000")
"""Options that return memory freed by the JIT compilers to the system every 30 s, on Java 17.0.9, 21.0.1 and later.

The first option makes other versions ignore the second one.
"""
_SHORT: Final = ("-XX:TieredStopAtLevel=1",)
_ENVIRONMENT: Final = {"MALLOC_ARENA_MAX": "2"}
"""Maximum number of glibc's malloc arenas, by default eight per core: each keeps memory that the others cannot use."""
_DUMP_PATH: Final = "-XX:HeapDumpPath="


def jvm_options(java: Java, heap: Heap, *, is_long: bool) -> list[str]:
    """Return the JVM's command-line options. If two conflict, the JVM uses the last one.

    Args:
        java: options of the connector, which override Penstock's defaults.
        heap: maximum heap.
        is_long: whether the JVM runs for a long time. Otherwise the optimizing compiler is disabled, since it costs a
            short run more than it saves.
    """
    return [*_TRIM, *_options(java, heap, is_long=is_long)]


def _options(java: Java, heap: Heap, *, is_long: bool) -> list[str]:
    return [
        *_DEFAULTS,
        *([] if any(map(is_collector, java.options)) else [_SERIAL]),
        *(() if is_long else _SHORT),
        *java.options,
        f"-Xmx{heap.size}",
        "-XX:+ExitOnOutOfMemoryError",
    ]


def environment() -> Mapping[str, str]:
    """Return the environment variables. Those of this process take precedence."""
    return {**_ENVIRONMENT, **os.environ}


def unusable_options(java: Java) -> Iterator[Problem]:
    """Yield a problem for each well-formed option that cannot be used: the JVM refuses it, or cannot write its file.

    Raises:
        ConnectError: Java is missing.
    """
    for number, option in enumerate(java.options):
        folder = Path(option.removeprefix(_DUMP_PATH)).parent
        if option.startswith(_DUMP_PATH) and not _is_writable(folder):
            message = f"folder {folder} does not exist or is not writable; mount a volume there in spec.template"
            yield Problem(f"spec.java.options[{number}]", message)
    if java.options:
        options = _options(java, Heap.of_this_process(java.heap_percent, is_long=False), is_long=False)
        command = [str(find_java().executable), *options, "-version"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=60)
        if done.returncode:
            lines = (line for line in (done.stderr + done.stdout).splitlines() if line.strip())
            yield Problem("spec.java.options", f"the JVM rejects the options: {next(lines, 'it gives no reason')}")


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK)
