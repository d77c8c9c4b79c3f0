"""The Spark session of a task: it starts in the background and delivers the parts of a backlog in parallel.

No other module starts a session. Spark never repeats a stage that delivers records (`session_conf`), and a worker refuses to
(`first_attempt`); the task plans a batch that failed again, from the offsets in Kafka.
"""

import errno
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import ConnectError, RetriableError
from penstock_runtime.process.children import kill_children
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.spark.first_attempt import in_first_attempt
from penstock_runtime.spark.session_conf import USER, has_named_user, session_conf
from penstock_runtime.spark.stopped_processes import StoppedProcesses

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Spark", "SparkLost", "WorkerLost"]

log = logging.getLogger(__name__)

Entry = Callable[[bytes], bytes]
"""Runs in a worker: a function of a module; the worker imports it by its name."""

_START: Final = 600.0
"""Seconds that the JVM may take to start, on an overloaded node."""
_LATE: Final = 30.0
"""Seconds that a cancelled job has to end."""
_ENDS: Final = 2.0
"""Seconds within which a JVM that does not answer has ended."""
_KILLED: Final = 10.0
"""Seconds within which a start ends whose JVM was killed."""
_WATCH: Final = 0.2
"""Seconds between two looks at a running job."""


class WorkerLost(RetriableError):
    """A job failed without an error of its own: a worker was killed. Fence, and plan the batch again.

    Attributes:
        advice: a question for the user whose workers are lost again and again.
    """

    def __init__(self, message: str, advice: str = "is the memory limit too small?") -> None:
        super().__init__(message)
        self.advice = advice


class SparkLost(ConnectError):
    """The JVM is gone. The process must be replaced."""


class Spark:
    """A local Spark session for one task.

    Args:
        cores: n of `local[n]`.
        conf: the user's settings (`session_conf`).
        name: of the application.
        eager: start beside the first batches (`spec.spark.start`), not only for a backlog.
        scratch: the folder of Spark's files and sockets.
    """

    def __init__(self, *, cores: int, conf: Mapping[str, str], name: str, eager: bool, scratch: Scratch) -> None:
        self.cores = cores
        self._conf = conf
        self._name = name
        self._eager = eager
        self._scratch = scratch
        self._session: SparkSession | None = None
        self._jvm: subprocess.Popen[bytes] | None = None
        self._failure: BaseException | None = None
        self._starter: threading.Thread | None = None
        self._launch = threading.Lock()
        """Held while `_is_launching` and `_is_killed` are decided: after `kill` no JVM is launched."""
        self._is_launching = self._is_killed = False
        self._jobs = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spark-job")
        self._serial = 0

    def start(self) -> None:
        """Start in the background, if that was not done."""
        if self._starter is None:
            self._starter = threading.Thread(target=self._start, name="spark-start", daemon=True)
            self._starter.start()

    @property
    def ready(self) -> bool:
        """Whether jobs can run now.

        Raises:
            SparkLost: the JVM was killed at its start.
            ConnectError: the session could not be started.
        """
        if isinstance(self._failure, SparkLost):
            raise self._failure
        if self._failure is not None:
            raise ConnectError(f"Spark could not be started: {self._failure}") from self._failure
        return self._session is not None

    def attend(self) -> None:
        """Start an eager session, and check that the JVM runs; cheap enough to be called after every batch.

        It is called after the first batch, not before, because the session's start uses both cores for seconds.

        Raises:
            SparkLost: the JVM has ended.
        """
        if self._eager:
            self.start()
        process = self._jvm
        if process is not None and process.poll() is not None:
            raise SparkLost(f"Spark's JVM is gone (exit code {process.returncode})")

    def session(self) -> "SparkSession":
        """Wait for the session and return it.

        Raises:
            SparkLost, ConnectError: as `ready`.
        """
        self.start()
        if self._starter is not None:
            with LOOP.longer(_START, "ten minutes for Spark's start"):
                self._starter.join()
        if not self.ready or self._session is None:
            raise ConnectError("Spark could not be started")
        return self._session

    def run(
        self,
        entry: Entry,
        payloads: Sequence[bytes],
        *,
        timeout: float,
        meanwhile: Callable[[], None] | None = None,
        watching: Callable[[], None] = lambda: None,
    ) -> list[bytes]:
        """Run `entry` once for each payload, in parallel, and return the results in order.

        Args:
            entry: runs in a worker.
            payloads: the arguments of `entry`.
            timeout: seconds after which a worker counts as lost.
            meanwhile: runs in this process at the same time; if it raises, that is raised after the workers' end.
            watching: called from time to time until the workers' end; must not raise.

        Raises:
            WorkerLost: a worker died, was stopped for half a minute, or the job did not end within `timeout` seconds.
            SparkLost: the JVM is gone, or does not answer the request to cancel the job.
        """
        job = self._jobs.submit(self._run, entry, payloads, timeout)
        if meanwhile is not None:
            try:
                meanwhile()
            except BaseException:
                wait([job], timeout + _LATE)
                raise
        deadline, stopped = time.monotonic() + timeout + _LATE, StoppedProcesses()
        while time.monotonic() < deadline:
            LOOP.turned()
            watching()
            if wait([job], _WATCH).done:
                return _result(job, stopped)
            stopped.look()
        raise SparkLost(f"Spark's JVM has not answered for {timeout + _LATE:.0f} s")

    def at_work(self) -> bool:
        """Whether a job runs now; False if the JVM does not answer. Any thread may call it."""
        session = self._session
        try:
            return session is not None and bool(session.sparkContext.statusTracker().getActiveJobsIds())
        except Exception:  # noqa: BLE001 (no answer is the answer)
            return False

    def check(self, error: BaseException) -> None:
        """Check whether the JVM's end is the cause of an error.

        Raises:
            SparkLost: the JVM is gone, or the session in it.
        """
        session = self._session
        if session is not None and not _alive(session):
            raise SparkLost("Spark's JVM is gone") from error

    def stop(self) -> None:
        """End the session and its workers."""
        session, self._session, self._jvm = self._session, None, None
        self._jobs.shutdown(wait=False, cancel_futures=True)
        if session is not None:
            try:
                session.stop()
            except Exception as e:  # noqa: BLE001 (the JVM may be gone, which is as good as stopped)
                log.debug("Stopping Spark: %s", e)

    def kill(self) -> None:
        """Kill all processes that this one has started, also a JVM that is being launched. No JVM starts after it.

        A JVM whose folder was removed while it started would not end: it begins to watch its parent after that.
        """
        with self._launch:
            self._is_killed = True
            starter = self._starter if self._is_launching else None
        kill_children()
        deadline = time.monotonic() + _KILLED
        while starter is not None and starter.is_alive() and time.monotonic() < deadline:
            starter.join(_WATCH)
            kill_children()

    def _may_launch(self) -> bool:
        with self._launch:
            self._is_launching = not self._is_killed
        return self._is_launching

    def _start(self) -> None:
        begun = time.monotonic()
        try:
            os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            from pyspark.sql import SparkSession

            conf = session_conf(self._conf, self._scratch)
            _silence_accumulators()
            if not self._may_launch():
                return
            builder = SparkSession.builder.master(f"local[{self.cores}]").appName(self._name)
            session = builder.config(map=conf).getOrCreate()
            if not has_named_user():
                # Hadoop looks up the user by its number, and refuses one without a name, despite the variables.
                users = session.sparkContext._jvm.org.apache.hadoop.security.UserGroupInformation  # type: ignore[union-attr] # noqa: SLF001 (no other way to Hadoop)
                users.setLoginUser(users.createRemoteUser(USER))
            # The first job starts the process that forks workers; without it the first batch would wait for that.
            _in_workers(session, _nothing, [b""])
            gateway = session.sparkContext._gateway  # noqa: SLF001 (no public way to the process)
            self._jvm = None if gateway is None else gateway.proc
            self._session = session
            log.info("Spark is up after %.1f s", time.monotonic() - begun)
        except BaseException as e:  # noqa: BLE001 (kept for the driver's thread)
            number = _killed_by()
            self._failure = e if number is None else SparkLost(f"Spark's JVM was ended by signal {number} at its start")

    def _run(self, entry: Entry, payloads: Sequence[bytes], timeout: float) -> list[bytes]:
        from py4j.protocol import Py4JError, Py4JNetworkError
        from pyspark.errors import PySparkException

        session = self.session()
        self._serial += 1
        group = f"batch-{self._serial}"
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            session.sparkContext.cancelJobGroup(group)

        timer = threading.Timer(timeout, expire)
        timer.daemon = True
        timer.start()
        try:
            session.sparkContext.setJobGroup(group, self._name, interruptOnCancel=True)
            return _in_workers(session, entry, payloads)
        except (PySparkException, Py4JError, OSError) as e:
            if expired.is_set():
                text = f"The batch did not end within {timeout:.0f} s; it is abandoned"
                raise WorkerLost(text, "what takes so long?") from e
            if isinstance(e, OSError) and e.errno in (errno.ENOSPC, errno.EDQUOT):
                text = f"A batch could not be handed to Spark, whose folder is full: {e}"
                raise WorkerLost(text, "is its disk large enough?") from e
            if isinstance(e, (Py4JNetworkError, OSError)) or not _alive(session):
                raise SparkLost("Spark's JVM is gone") from e
            raise WorkerLost(f"A Spark worker was lost: {_first_line(e)}") from e
        finally:
            timer.cancel()


def _result(job: Future[list[bytes]], stopped: StoppedProcesses) -> list[bytes]:
    try:
        return job.result()
    except WorkerLost as e:
        if not stopped.ended:
            raise
        raise WorkerLost(f"A process of Spark was stopped, and ended for that: {e}", "what stops it (SIGSTOP)?") from e


def _in_workers(session: "SparkSession", entry: Entry, payloads: Sequence[bytes]) -> list[bytes]:
    """The only way into Spark's workers: each call in its first attempt, or the job fails.

    RDDs, not mapInArrow: parts and results are a few bytes each, and Arrow would bring pyarrow and pandas into every worker
    (60 MB each, half a second of start). Payloads are data, not part of the function: a large function is broadcast, in a
    file that is never removed.
    """
    parts = session.sparkContext.parallelize(payloads, len(payloads))
    return list(parts.map(partial(in_first_attempt, entry)).collect())


def _nothing(payload: bytes) -> bytes:
    return payload


def _alive(session: Any) -> bool:
    try:
        return not session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 (no public way to ask the JVM)
    except Exception:  # noqa: BLE001 (no answer is the answer)
        return False


def _silence_accumulators() -> None:
    """Keep Spark from printing a stack trace when its JVM ends while it sends counters; `attend` and `run` report that."""
    from pyspark import accumulators

    def log_quietly(server: object, request: object, address: object) -> None:
        log.debug("Counters of Spark were cut off: %s", sys.exc_info()[1])

    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = log_quietly  # type: ignore[method-assign, assignment]


def _killed_by() -> int | None:
    """The signal that ended the JVM at its start, if one did; then the configuration is not the cause."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001 (no public way to the process)
    if gateway is None or gateway.proc is None:
        return None
    try:
        code = gateway.proc.wait(_ENDS)
    except subprocess.TimeoutExpired:
        return None
    return -code if code < 0 else None


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
