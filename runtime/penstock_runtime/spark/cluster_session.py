"""Steps that only a session on a cluster needs: ignore this machine's settings, check executors, leave the cluster."""

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
    "its Master answers but accepts no application; check that it has the same secret and the same version of Spark, and "
    "that it sets spark.network.crypto.enabled ({})"
)
_AGAIN: Final = 30.0
"""Seconds after which a cluster that could not be used is retried."""
_LONGEST: Final = 600.0
"""Maximum seconds until a retry: the time doubles after each attempt that leaves threads that Spark never ends."""
_GREETING: Final = 60.0
"""Seconds that the first job on a cluster may take."""


class Absence:
    """Period in which the cluster is not used: its reason, and when the cluster is retried.

    Args:
        cluster: the cluster; None: there is none, and a session may always start.
    """

    def __init__(self, cluster: Cluster | None) -> None:
        self._cluster = cluster
        self._until, self._pause = 0.0, _AGAIN
        self.trouble: str | None = None
        """Reason why the cluster is not used; None: it is used, or there is none."""

    @property
    def is_over(self) -> bool:
        """Return whether a session may start."""
        return time.monotonic() >= self._until

    def begin(self, reason: str) -> None:
        """Continue without the cluster for half a minute, and report the reason."""
        self._begin(reason, _AGAIN)

    def begin_refused(self, error: BaseException) -> None:
        """Continue without a cluster whose Master accepts no application, for longer each time."""
        self._begin(_UNREGISTERED.format(cause(error)), self._pause)
        self._pause = min(2 * self._pause, _LONGEST)

    def begin_unstarted(self, error: BaseException) -> None:
        """Continue without executors if the task's Master or session cannot be started, for longer each time."""
        self._begin(f"it could not be started: {cause(error)}", self._pause)
        self._pause = min(2 * self._pause, _LONGEST)

    def end(self) -> None:
        """Record that the cluster is in use."""
        self.trouble, self._pause = None, _AGAIN

    def _begin(self, reason: str, seconds: float) -> None:
        master = self._cluster.master if self._cluster is not None else ""
        self._until = time.monotonic() + seconds
        self.trouble = f"The Spark cluster {master} is not used now: {reason}"
        log.warning("%s. Retrying in %.0f s; until then, the driver works without executors", self.trouble, seconds)


def leave_surroundings(conf: Mapping[str, str], scratch: Scratch) -> None:
    """Ignore Spark installations and settings of this machine, such as those of the cluster itself."""
    os.environ.pop("SPARK_HOME", None)
    empty = scratch.path / "conf"
    empty.mkdir(exist_ok=True)
    os.environ["SPARK_CONF_DIR"] = str(empty)
    if python := conf.get("spark.pyspark.python"):
        os.environ["PYSPARK_PYTHON"] = python


def launch(conf: Mapping[str, str]) -> None:
    """Start the JVM with these settings.

    They must contain no secrets: they are in its command line, which every process of this machine can read.
    """
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll([*conf.items()]))  # noqa: SLF001 (no public way)


def greet(session: "SparkSession", executors: Executors, wanted: bytes) -> None:
    """Wait for the first executor of a new session, and check that executors can do this task's work.

    Args:
        session: session of the task.
        executors: executors of the session.
        wanted: agreement that executors must meet (`agreement.agreement`).

    Raises:
        ConnectError: there is no executor, or it cannot do the work; the message gives the reason.
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
            raise ConnectError(agreement.refusal(found.decode()))
    except ConnectError:
        raise
    except Exception as e:
        if late.is_set():
            raise ConnectError(f"its executors have not answered for {_GREETING:.0f} s") from e
        if "ExecutorLostFailure" in str(e) or not is_alive(session):
            raise ConnectError("its executors were lost immediately") from e
        raise ConnectError(agreement.refusal(cause(e))) from e
    finally:
        timer.cancel()


def stop_context() -> None:
    """Stop the session, or the remains of a failed start, which the next start would mistake for its session."""
    from pyspark import SparkContext

    with suppress(Exception):  # the JVM may be gone
        if SparkContext._active_spark_context is not None:  # noqa: SLF001 (no public way to ask)
            SparkContext._active_spark_context.stop()  # noqa: SLF001
