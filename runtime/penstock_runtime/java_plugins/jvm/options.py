"""The options of the JVM of Java plugins: Penstock's, and those of the connector."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from penstock.errors import Problem
from penstock_model.contracts.task_spec import JavaSpec
from penstock_model.resources.java_options import is_collector
from penstock_runtime.java import find_java
from penstock_runtime.java_plugins.jvm.heap import Heap

__all__ = ["jvm_options", "unusable_options"]

_SERIAL: Final = "-XX:+UseSerialGC"
"""The collector with the least memory, and one that gives it back."""
_DUMP_PATH: Final = "-XX:HeapDumpPath="


def jvm_options(java: JavaSpec, heap: Heap) -> list[str]:
    """Return the options; of two that contradict each other the JVM takes the last one, which is Penstock's."""
    return [
        "-Xms16m",
        *([] if any(map(is_collector, java.options)) else [_SERIAL]),
        "-XX:-UsePerfData",
        "-Dfile.encoding=UTF-8",
        "-Djava.awt.headless=true",
        *java.options,
        f"-Xmx{heap.size}",
        "-XX:+ExitOnOutOfMemoryError",
    ]


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
        options = jvm_options(java, Heap.of_this_process(java.heap_percent, is_long=False))
        command = [str(find_java().executable), *options, "-version"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=60)
        if done.returncode:
            lines = (line for line in (done.stderr + done.stdout).splitlines() if line.strip())
            yield Problem("spec.java.options", f"the JVM refuses them: {next(lines, 'it does not say why')}")


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK)
