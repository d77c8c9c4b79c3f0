"""The options of the JVM of Java plugins: Penstock's, and those of the connector."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from penstock.errors import Problem
from penstock_model.contracts.task_spec import JavaSpec
from penstock_model.resources.java_options import is_collector
from penstock_runtime.java import find_java
from penstock_runtime.java_plugins.jvm.heap import Heap

__all__ = ["environment", "jvm_options", "unusable_options"]

_DEFAULTS: Final = (
    "-Xms16m",
    # Ten times what Debezium takes. Without a limit, a plugin that loads ever more classes fills the memory of the pod.
    "-XX:MaxMetaspaceSize=256m",
    # A full collection, which the host asks for once the JVM is quiet, leaves two fifths of the heap free, at once.
    "-XX:MinHeapFreeRatio=20",
    "-XX:MaxHeapFreeRatio=40",
    "-XX:-ShrinkHeapInSteps",
    "-XX:-UsePerfData",
    "-Dfile.encoding=UTF-8",
    "-Djava.awt.headless=true",
)
_SERIAL: Final = "-XX:+UseSerialGC"
"""The collector with the least memory, and one that gives it back."""
_TRIM: Final = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:TrimNativeHeapInterval=30000")
"""What compilers have left goes back every half a minute: 17.0.9, 21.0.1 and later. Others ignore the option."""
_SHORT: Final = ("-XX:TieredStopAtLevel=1",)
_ENVIRONMENT: Final = {"MALLOC_ARENA_MAX": "2"}
"""Of glibc: each arena keeps memory that others cannot use, and by default there are eight for each core."""
_DUMP_PATH: Final = "-XX:HeapDumpPath="


def jvm_options(java: JavaSpec, heap: Heap, *, is_long: bool) -> list[str]:
    """Return the options; of two that contradict each other the JVM takes the last one.

    Args:
        java: what the connector asks for, which replaces Penstock's defaults.
        heap: the greatest heap.
        is_long: the JVM moves records for long. Else the optimizing compiler is off, which costs a short run more than it
            saves.
    """
    return [*_TRIM, *_options(java, heap, is_long=is_long)]


def _options(java: JavaSpec, heap: Heap, *, is_long: bool) -> list[str]:
    return [
        *_DEFAULTS,
        *([] if any(map(is_collector, java.options)) else [_SERIAL]),
        *(() if is_long else _SHORT),
        *java.options,
        f"-Xmx{heap.size}",
        "-XX:+ExitOnOutOfMemoryError",
    ]


def environment() -> Mapping[str, str]:
    """Return the environment variables: those of this process win."""
    return {**_ENVIRONMENT, **os.environ}


def unusable_options(java: JavaSpec) -> Iterator[Problem]:
    """A problem for each option of a good shape that cannot be used here: the JVM refuses it, or has no place for its file.

    Raises:
        ConnectError: there is no Java.
    """
    for number, option in enumerate(java.options):
        folder = Path(option.removeprefix(_DUMP_PATH)).parent
        if option.startswith(_DUMP_PATH) and not _is_writable(folder):
            message = f"there is no folder {folder} to which the task may write; mount a volume there by spec.template"
            yield Problem(f"spec.java.options[{number}]", message)
    if java.options:
        options = _options(java, Heap.of_this_process(java.heap_percent, is_long=False), is_long=False)
        command = [str(find_java().executable), *options, "-version"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=60)
        if done.returncode:
            lines = (line for line in (done.stderr + done.stdout).splitlines() if line.strip())
            yield Problem("spec.java.options", f"the JVM refuses them: {next(lines, 'it does not say why')}")


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK)
