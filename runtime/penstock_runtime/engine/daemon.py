"""The process that forks Spark's Python workers (`spark.python.daemon.module`), with what they need loaded already.

A worker then shares the modules' memory with its siblings and begins its first batch at once. Nothing here may start a
thread or open a connection: Kafka clients are made in the workers, never before a fork.
"""

from pyspark import daemon

from penstock_runtime.engine import worker
from penstock_runtime.engine.garbage import collect_seldom

__all__ = ["main"]


def main() -> None:
    """Serve Spark's requests for workers until its JVM ends."""
    assert worker.deliver is not None  # loaded for the workers
    collect_seldom()
    daemon.manager()


if __name__ == "__main__":
    main()
