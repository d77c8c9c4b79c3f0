"""The process that forks Spark's Python workers (`spark.python.daemon.module`), with what they need loaded already.

A worker then shares the modules' memory with its siblings and begins its first batch at once. Nothing here may start a
thread or open a connection: Kafka clients are made in the workers, never before a fork.
"""

import os
import socket
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

# Spark puts its own zips before the packages that are installed, which hold the same: compiled anew by each process that
# imports from them, and their directories read anew by each worker (0.3 s of CPU).
_ZIPS = ("pyspark.zip", "py4j-*-src.zip")
sys.path[:] = [entry for entry in sys.path if not any(fnmatch(Path(entry).name, zipped) for zipped in _ZIPS)]

from penstock_runtime.plugins.mounted import append_inherited_folders  # noqa: E402

append_inherited_folders()  # what Spark hands to a worker may name classes of a plugin

from pyspark import daemon  # noqa: E402
from pyspark import worker as spark_worker  # noqa: E402

from penstock_runtime.pipeline.gc_tuning import collect_seldom  # noqa: E402
from penstock_runtime.sink import frame_worker  # noqa: E402
from penstock_runtime.sink import spark_worker as sink_worker  # noqa: E402
from penstock_runtime.source import spark_worker as source_worker  # noqa: E402

__all__ = ["main"]


def main() -> None:
    """Serve Spark's requests for workers until its JVM ends."""
    assert source_worker.deliver_on_worker is not None  # loaded for the workers
    assert sink_worker.consume is not None
    assert frame_worker.rows_of is not None
    assert spark_worker.main is not None
    collect_seldom()
    os.environ.pop(_SECRET, None)
    daemon.worker = _worker
    daemon.manager()


_SECRET: Final = "_SPARK_AUTH_SECRET"  # noqa: S105 (its name)
"""Where an executor of a cluster has the cluster's secret; workers, and the plugins in them, do not need it."""
_sparks_worker: Final = daemon.worker


def _worker(sock: socket.socket, authenticated: bool) -> int:
    """Spark's own, without a stack trace where the JVM is gone: the driver tells of that."""
    try:
        return _sparks_worker(sock, authenticated)
    except (ConnectionError, EOFError):
        return 1


if __name__ == "__main__":
    main()
