"""Spark beside the driver: a local session that starts in the background and runs the fused stage in parallel.

The only module that starts a session. Spark never repeats a delivering stage (`spark.task.maxFailures=1`, no speculation,
one stage attempt): what failed is planned again from the offsets that Kafka holds.
"""

import errno
import logging
import os
import pwd
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import ConnectError, RetriableError
from penstock_runtime.spark import class_archive
from penstock_runtime.spark.stopped_processes import StoppedProcesses
from penstock_runtime.task import cgroup
from penstock_runtime.task.children import kill_children
from penstock_runtime.task.liveness import LOOP
from penstock_runtime.task.scratch import Scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Spark", "SparkLost", "WorkerLost"]

log = logging.getLogger(__name__)

Entry = Callable[[bytes], bytes]
"""What runs in a worker: a module's function, found there by its name."""

CONF: Final[Mapping[str, str]] = {
    # Without it each hop between JVM and Python waits 40 ms for a delayed acknowledgement.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Kept in the heap also without the UI: a thousand of each by default.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "penstock_runtime.spark.daemon",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # "Default", so that they hold beside a user's own `spark.driver.extraJavaOptions`. Java's performance data would lie
    # outside our folder.
    "spark.driver.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MaxMetaspaceSize=256m -Xss512k "
    f"-XX:-UsePerfData -Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
}


_USER: Final = "penstock"
"""Of a process whose user has no name."""
_START: Final = 600.0
"""Seconds that the JVM may take to start, on a node that has no time for it."""
_LATE: Final = 30.0
"""Seconds that a cancelled job has to end."""
_ENDS: Final = 2.0
"""Seconds after which a JVM that does not answer any more has ended."""
_KILLED: Final = 10.0
"""Seconds within which a start whose JVM was killed comes to an end."""
_WATCH: Final = 0.2
"""How often a caller is asked while a job runs, in seconds."""


class WorkerLost(RetriableError):
    """A job failed without an error of its own: a worker was killed. Fence, and plan the batch again.

    Attributes:
        advice: what to ask oneself where it happens again and again.
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
        conf: the user's settings; they go before ours, except those that keep Spark from repeating a stage.
        name: the application's name.
        eager: start beside the first batches (`spec.spark.start`), not when a backlog asks for it.
        scratch: where Spark's files and sockets go.
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
        """Held where it is decided whether a JVM is launched, or none any more."""
        self._is_launching = self._is_killed = False
        self._jobs = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spark-job")
        self._serial = 0

    def start(self) -> None:
        """Begin to start, in the background. Again is harmless."""
        if self._starter is None:
            self._starter = threading.Thread(target=self._start, name="spark-start", daemon=True)
            self._starter.start()

    @property
    def ready(self) -> bool:
        """Whether jobs can run now.

        Raises:
            SparkLost: its JVM was killed meanwhile.
            ConnectError: the session could not be started.
        """
        if isinstance(self._failure, SparkLost):
            raise self._failure
        if self._failure is not None:
            raise ConnectError(f"Spark could not be started: {self._failure}") from self._failure
        return self._session is not None

    def attend(self) -> None:
        """Start if that is due, and look whether the JVM still lives; cheap enough to be called after every batch.

        Called after the first, not before: the session's start takes both cores for seconds.

        Raises:
            SparkLost: the JVM has ended.
        """
        if self._eager:
            self.start()
        process = self._jvm
        if process is not None and process.poll() is not None:
            raise SparkLost(f"Spark's JVM is gone (exit code {process.returncode})")

    def session(self) -> "SparkSession":
        """The session, once it is there.

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
        self, entry: Entry, payloads: Sequence[bytes], *, timeout: float, meanwhile: Callable[[], None] | None = None,
        watching: Callable[[], None] = lambda: None,
    ) -> list[bytes]:  # fmt: skip
        """Run `entry` once for each payload, in parallel, and give the results in order.

        Args:
            entry: runs in a worker.
            payloads: what it is given, one each.
            timeout: when a worker counts as lost, in seconds.
            meanwhile: is done here while they work; where it raises, that is raised once they have ended.
            watching: is called now and then until they have ended; must not raise.

        Raises:
            WorkerLost: a worker died, was stopped for half a minute, or the job did not end within `timeout` seconds.
            SparkLost: the JVM is gone, or does not even answer that the job is to be cancelled.
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
        """Whether a job runs now; asked from any thread. False where the JVM does not say so."""
        session = self._session
        try:
            return session is not None and bool(session.sparkContext.statusTracker().getActiveJobsIds())
        except Exception:  # noqa: BLE001 (no answer is the answer)
            return False

    def check(self, error: BaseException) -> None:
        """Say of an error that was met while the session was used whether it is the JVM's end.

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
            except Exception as e:  # noqa: BLE001 (the JVM may be gone; it is stopped either way)
                log.debug("Stopping Spark: %s", e)

    def kill(self) -> None:
        """Kill every process that this one has started, a JVM that is just being launched among them. None starts after it.

        A JVM whose folder is gone when it is up would not end by itself: it looks at its parent only after that.
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

            fixed = {k: CONF[k] for k in ("spark.task.maxFailures", "spark.stage.maxConsecutiveAttempts",
                                          "spark.speculation")}  # fmt: skip
            conf: dict[str, Any] = {**CONF, **_sizes(), **_places(self._scratch), **self._conf, **fixed}
            _silence_accumulators()
            if not self._may_launch():
                return
            builder = SparkSession.builder.master(f"local[{self.cores}]").appName(self._name)
            session = builder.config(map=conf).getOrCreate()
            if _home() is None:
                # Hadoop looks the user up by its number, and refuses one without a name, whatever the variables say.
                users = session.sparkContext._jvm.org.apache.hadoop.security.UserGroupInformation  # type: ignore[union-attr] # noqa: SLF001 (no other way to Hadoop)
                users.setLoginUser(users.createRemoteUser(_USER))
            # The first job starts the process that forks workers; without it the first batch would wait for that.
            session.sparkContext.parallelize([0], 1).map(_nothing).collect()
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
            # RDDs, not mapInArrow: parts and results are a few bytes each, and Arrow would bring pyarrow and pandas into
            # every worker (60 MB each, half a second of start).
            # And payloads as data, not in the function: a large one would be broadcast, in a file that is never removed.
            return list(session.sparkContext.parallelize(payloads, len(payloads)).map(entry).collect())
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


def _sizes() -> dict[str, str]:
    """The settings that follow the container's memory limit."""
    return {"spark.driver.memory": f"{cgroup.heap(cgroup.memory_limit()) >> 20}m"}


def _places(scratch: Scratch) -> dict[str, str]:
    """The settings that keep all that Spark writes in one folder."""
    options = " ".join((CONF["spark.driver.defaultJavaOptions"], f'"-Djava.io.tmpdir={scratch.path}"',
                        *_identity(scratch.path)))  # fmt: skip
    sockets = scratch.sockets
    return {
        "spark.local.dir": str(scratch.path),
        "spark.sql.warehouse.dir": (scratch.path / "warehouse").as_uri(),
        **class_archive.settings(options),
        **({"spark.python.unix.domain.socket.enabled": "false"} if sockets is None
           else {"spark.python.unix.domain.socket.dir": str(sockets)}),
    }  # fmt: skip


def _identity(folder: Path) -> list[str]:
    """Options of a JVM whose user has no name (a container's may be a mere number), or no home that can be written."""
    options, home = [], _home()
    if home is None:
        for variable in ("SPARK_USER", "HADOOP_USER_NAME"):
            os.environ.setdefault(variable, _USER)
        options.append(f"-Duser.name={_USER}")  # Java would say `?`
    if home is None or not os.access(home, os.W_OK):
        options.append(f'"-Duser.home={folder}"')
    return options


def _home() -> str | None:
    """The folder of this process's user; None of one that is only a number."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None


def _nothing(part: int) -> int:
    return part


def _alive(session: Any) -> bool:
    try:
        return not session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 (no public way to ask the JVM)
    except Exception:  # noqa: BLE001 (no answer is the answer)
        return False


def _silence_accumulators() -> None:
    """Spark prints a stack trace where its JVM goes while counters are on their way; `attend` and `run` tell of that."""
    from pyspark import accumulators

    def told_elsewhere(server: object, request: object, address: object) -> None:
        log.debug("Counters of Spark were cut off: %s", sys.exc_info()[1])

    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = told_elsewhere  # type: ignore[method-assign, assignment]


def _killed_by() -> int | None:
    """The signal that has ended the JVM, if one has: then it was no fault of the configuration."""
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
