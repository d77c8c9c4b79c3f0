"""What a session on a cluster has alone: this machine's settings are left out, executors are greeted, and it may be left."""

import logging
import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.errors import ConnectError
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.spark import agreement
from penstock_runtime.spark.cluster import Cluster
from penstock_runtime.spark.executors import Executors
from penstock_runtime.spark.jobs import cause, in_workers, is_alive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Absence", "greet", "launch", "leave_surroundings", "stop_context"]

log = logging.getLogger(__name__)

_UNREGISTERED: Final = (
    "its Master answers and takes no application. Its secret may be another one, spark.network.crypto.enabled not be set, "
    "or it be of another version of Spark ({})"
)
_AGAIN: Final = 30.0
"""Seconds after which a cluster is tried again that could not be used."""
_LONGEST: Final = 600.0
"""The most of these, where each try costs threads that Spark leaves behind: twice as long after each."""
_GREETING: Final = 60.0
"""Seconds that the first job may take on a cluster."""


class Absence:
    """Whether the cluster is used now; if not, why, and when it is tried again.

    Args:
        cluster: None: there is none, and a session may always start.
    """

    def __init__(self, cluster: Cluster | None) -> None:
        self._cluster = cluster
        self._until, self._pause = 0.0, _AGAIN
        self.trouble: str | None = None
        """Why it is not used; None: it is, or there is none."""

    @property
    def is_over(self) -> bool:
        """Whether a session may start."""
        return time.monotonic() >= self._until

    def begin(self, reason: str) -> None:
        """Go on without the cluster for half a minute, and say why."""
        self._begin(reason, _AGAIN)

    def begin_refused(self, error: BaseException) -> None:
        """As `begin`, when the Master answers and takes no application: each time for longer."""
        self._begin(_UNREGISTERED.format(cause(error)), self._pause)
        self._pause = min(2 * self._pause, _LONGEST)

    def end(self) -> None:
        """The cluster is used."""
        self.trouble, self._pause = None, _AGAIN

    def _begin(self, reason: str, seconds: float) -> None:
        master = self._cluster.master if self._cluster is not None else ""
        self._until = time.monotonic() + seconds
        self.trouble = f"The Spark cluster {master} is not used now: {reason}"
        log.warning("%s. It is tried again in %.0f s; the driver does alone what it can.", self.trouble, seconds)


def leave_surroundings(conf: Mapping[str, str], scratch: Scratch) -> None:
    """Have no installation or settings of Spark's on this machine count, such as those of the cluster itself."""
    os.environ.pop("SPARK_HOME", None)
    empty = scratch.path / "conf"
    empty.mkdir(exist_ok=True)
    os.environ["SPARK_CONF_DIR"] = str(empty)
    if python := conf.get("spark.pyspark.python"):
        os.environ["PYSPARK_PYTHON"] = python


def launch(conf: Mapping[str, str]) -> None:
    """Start the JVM with settings that everybody may see: they stand in its command line."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll([*conf.items()]))  # noqa: SLF001 (no public way)


def greet(session: "SparkSession", executors: Executors, wanted: bytes) -> None:
    """Wait for the first executor of a new session, and check that executors can do this task's work.

    Args:
        session: of the task.
        executors: of the session.
        wanted: what executors must have (`agreement.agreement`).

    Raises:
        ConnectError: there is none, or they cannot; the message says why.
    """
    late = threading.Event()

    def expire() -> None:
        late.set()
        session.sparkContext.cancelAllJobs()

    timer = threading.Timer(_GREETING, expire)
    timer.daemon = True
    try:
        executors.wait()
        timer.start()
        answers = in_workers(session, partial(agreement.answer, wanted), [b""] * executors.cores)
        if found := next(filter(None, answers), None):
            raise ConnectError(agreement.told(found.decode()))
    except ConnectError:
        raise
    except Exception as e:
        if late.is_set():
            raise ConnectError(f"its executors have not answered for {_GREETING:.0f} s") from e
        if "ExecutorLostFailure" in str(e) or not is_alive(session):
            raise ConnectError("its executors were lost at once") from e
        raise ConnectError(agreement.told(cause(e))) from e
    finally:
        timer.cancel()


def stop_context() -> None:
    """Stop the session, or what a start that failed has left of it, which the next one would take for its own."""
    from pyspark import SparkContext

    with suppress(Exception):  # the JVM may be gone
        if SparkContext._active_spark_context is not None:  # noqa: SLF001 (no public way to ask)
            SparkContext._active_spark_context.stop()  # noqa: SLF001
