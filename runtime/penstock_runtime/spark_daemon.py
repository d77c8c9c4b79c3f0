"""Process that forks Spark's Python workers (`spark.python.daemon.module`), with the modules they need already loaded.

Workers thus share the memory of these modules and start their first batch without delay. This process must not start a
thread or open a connection: Kafka clients are created in the workers, never before a fork.
"""

import atexit
import os
import select
import signal
import socket
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

# Spark puts its zips before the installed packages, which have the same contents. Each process that imports from the zips
# compiles them again, and each worker reads their directories again (0.3 s of CPU).
_ZIPS = ("pyspark.zip", "py4j-*-src.zip")
sys.path[:] = [entry for entry in sys.path if not any(fnmatch(Path(entry).name, zipped) for zipped in _ZIPS)]

from penstock_runtime.plugins.mounted import append_inherited_folders  # noqa: E402

append_inherited_folders()  # objects that Spark passes to a worker may refer to classes of a plugin

from pyspark import daemon  # noqa: E402
from pyspark import worker as spark_worker  # noqa: E402

from penstock_runtime.pipeline.gc_tuning import tune_gc  # noqa: E402
from penstock_runtime.sink import frame_worker  # noqa: E402
from penstock_runtime.sink import spark_worker as sink_worker  # noqa: E402
from penstock_runtime.source import spark_worker as source_worker  # noqa: E402

__all__ = ["main"]


def main() -> None:
    """Serve Spark's requests for workers until its JVM exits."""
    assert source_worker.deliver_on_worker is not None  # loaded for the workers
    assert sink_worker.consume is not None
    assert frame_worker.rows_of is not None
    assert spark_worker.main is not None
    tune_gc()
    os.environ.pop(_SECRET, None)
    daemon.worker = _worker
    daemon.manager()


_SECRET: Final = "_SPARK_AUTH_SECRET"  # noqa: S105 (its name)
"""Environment variable with the Spark cluster's secret, set in executors; workers and their plugins do not need it."""
_sparks_worker: Final = daemon.worker
_CLOSING: Final = 10
"""Seconds that plugins may take to close, before SIGALRM ends the worker."""


def _worker(sock: socket.socket, authenticated: bool) -> int:
    """Wait for a job and run it. A worker that exits while it is idle closes its plugins first.

    Spark stops a worker by closing its socket, by SIGHUP, or both, and skips Python's exit handlers. SIGHUP during a job
    still ends the worker immediately: nothing of the batch may be written after the JVM has exited.
    """
    signal.signal(signal.SIGHUP, lambda *_: _end())
    if _is_closed(sock):
        _end()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        code = _sparks_worker(sock, authenticated)
    except (ConnectionError, EOFError):  # the JVM is gone, which the driver reports
        code = 1
    if code:
        _close()  # Spark's loop then sends the error to the JVM, and exits
    return code


def _is_closed(sock: socket.socket) -> bool:
    """Wait until the socket is readable, and return whether it was closed."""
    waiting = select.poll()
    waiting.register(sock, select.POLLIN)
    waiting.poll()
    try:
        return not sock.recv(1, socket.MSG_PEEK)
    except ConnectionError:
        return True


def _end() -> None:
    _close()
    os._exit(0)


def _close() -> None:
    """Run the exit handlers, which close this worker's plugins. A forked worker exits with `os._exit`, which runs none."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a second request must not interrupt a plugin while it closes
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_CLOSING)
    atexit._run_exitfuncs()  # noqa: SLF001 (no public API)
    signal.alarm(0)


if __name__ == "__main__":
    main()
