"""End Spark's JVM in a process that continues, and may start another one."""

import subprocess
import threading
from contextlib import suppress
from typing import Final

__all__ = ["end_jvm"]

_PATIENCE: Final = 10.0
"""Seconds that the JVM may take for each of the two steps of its shutdown before it is killed."""


def end_jvm() -> None:
    """Stop the session of this process, then end its JVM and its child processes; the next session starts another JVM.

    Never raises: a JVM that does not answer is killed.
    """
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001 (no public way to the process)
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    late = threading.Timer(_PATIENCE, process.kill if process is not None else lambda: None)
    late.daemon = True
    late.start()
    try:
        with suppress(Exception):  # the JVM may be gone
            if SparkContext._active_spark_context is not None:  # noqa: SLF001 (no public way to ask)
                SparkContext._active_spark_context.stop()  # noqa: SLF001
        with suppress(Exception):
            if gateway is not None:
                gateway.shutdown()
    finally:
        late.cancel()
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 (otherwise the next session uses this JVM)
    if process is not None:
        _await_end(process)


def _await_end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()  # the JVM waits for this
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
