"""Executors of a session on a cluster: how many there are, and whether they can do a task's work."""

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import ConnectError
from penstock_runtime.spark.cluster import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["MANY_SECONDS", "Executors"]

log = logging.getLogger(__name__)

_LOOK: Final = 0.5
"""Seconds between two checks."""
_SILENT: Final = 30.0
"""Seconds without an answer after which Java counts as hung."""
MANY_SECONDS: Final = 60.0
"""Seconds without an executor after which the session is abandoned: a restarted Master no longer knows it."""


class Executors:
    """Monitor of the executors, in a separate thread because Java may hang, and the task's loop must not.

    Args:
        session: session of the task.
        cluster: cluster of the session.
        on_look: called after each check, in that thread.
    """

    def __init__(self, session: "SparkSession", cluster: Cluster, on_look: Callable[[], None] = lambda: None) -> None:
        self._session = session
        self._cluster = cluster
        self._on_look = on_look
        self._cores = 0
        self.number = 0
        """Number of executors now."""
        self.has_ended = False
        """Whether Spark has ended the session."""
        self._answered = self._had_some = time.monotonic()
        self._first = threading.Event()
        self._closed = threading.Event()
        threading.Thread(target=self._look, name="spark-executors", daemon=True).start()

    @property
    def cores(self) -> int:
        """Number of cores of the executors now, at most as many as the task may use; 0: there is no executor."""
        return min(self._cores, self._cluster.cores)

    @property
    def gone_for(self) -> float:
        """Seconds for which there has been no executor."""
        return 0.0 if self._cores else time.monotonic() - self._had_some

    @property
    def is_silent(self) -> bool:
        """Return whether Java has not answered for half a minute."""
        return not self._closed.is_set() and time.monotonic() - self._answered > _SILENT

    def wait(self) -> None:
        """Wait for the first executor.

        Raises:
            ConnectError: none has connected within a minute, or the session has ended.
        """
        if not self._cores:
            log.info(
                "The Spark cluster %s has no executor for this task yet: the driver starts without executors",
                self._cluster.master,
            )
        self._first.wait(MANY_SECONDS)
        if not self._cores:
            raise ConnectError(self.why_none)

    @property
    def why_none(self) -> str:
        """Message with advice for the user if there are no executors."""
        return (
            f"it has had no executor for this task for {MANY_SECONDS:.0f} s; check that a Worker has the memory and the "
            f"cores that spark.executor.memory and spark.executor.cores request, and that they are free. If an executor has "
            f"ended, the reason is in its Worker's folder, work/<application>/<number>/stderr"
        )

    def close(self) -> None:
        """Stop monitoring."""
        self._closed.set()
        self._first.set()

    def _look(self) -> None:
        while not self._closed.wait(_LOOK if self._first.is_set() else _LOOK / 5):
            try:
                each = self._found()
            except Exception as e:  # noqa: BLE001 (a session that has ended has no executors)
                log.debug("Cannot list Spark's executors: %s", e)
                each = []
            found, self.number = sum(each), len(each)
            now = time.monotonic()
            if found or self._cores:
                self._had_some = now
            self._answered, before, self._cores = now, self._cores, found
            if found:
                self._first.set()
            if found != before and not self._closed.is_set():
                self._log(found)
            self._on_look()

    def _found(self) -> list[int]:
        """Return the cores of each executor."""
        java: Any = self._session.sparkContext._jsc  # noqa: SLF001 (no public way to ask the JVM)
        self.has_ended = bool(java.sc().isStopped())
        found = java.sc().statusStore().executorList(True)
        each = (found.apply(number) for number in range(found.size()))
        return [int(executor.totalCores()) for executor in each if executor.id() != "driver"]

    def _log(self, cores: int) -> None:
        if cores:
            log.info("Executors of %s: %d cores", self._cluster.master, cores)
        else:
            log.warning("No executor of %s is left: the driver continues without executors", self._cluster.master)
