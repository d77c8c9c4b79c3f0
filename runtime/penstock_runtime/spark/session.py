"""Spark session of a task: it starts in the background and delivers the parts of a backlog in parallel.

No other module starts a session. Spark never repeats a stage that delivers records (`session_conf`), and a worker refuses to
repeat one (`first_attempt`); the task plans a failed batch again, from the offsets in Kafka.

Workers run on the task's machine, or on the executors of a cluster. A cluster may be unavailable, or lose all executors:
then the session is not `ready`, only the driver delivers, and the session starts again later. A session whose executors are
in pods of the task (`executor_pods`) waits for them instead, for as long as there is a backlog.

A session that no backlog has needed for a while ends with its JVM, which uses about 500 MB; the next backlog starts another.
"""

import errno
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from penstock.errors import ConnectError, RetriableError, Superseded
from penstock_kafka.errors import Fenced, TransactionAborted
from penstock_model.contracts.task_spec import PluginReference
from penstock_runtime.process.children import kill_children
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.spark import agreement
from penstock_runtime.spark.cluster import SECRET, Cluster
from penstock_runtime.spark.cluster_session import Absence, greet, launch, leave_surroundings, stop_context
from penstock_runtime.spark.executor_pods import ExecutorPods, Master
from penstock_runtime.spark.executors import MANY_SECONDS, Executors
from penstock_runtime.spark.executors_pause import ExecutorsPause
from penstock_runtime.spark.executors_wanted import ExecutorsState, Wish
from penstock_runtime.spark.idle_end import IdleEnd
from penstock_runtime.spark.jobs import Entry, Job, cause, first_line, has_lost_part, in_workers, is_alive
from penstock_runtime.spark.jvm_end import end_jvm
from penstock_runtime.spark.python_processes import await_end, python_processes
from penstock_runtime.spark.session_conf import USER, has_named_user, session_conf
from penstock_runtime.spark.stopped_processes import StoppedProcesses

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Spark", "SparkLost", "WorkerLost"]

log = logging.getLogger(__name__)

_START: Final = 600.0
"""Seconds that the JVM may take to start, on an overloaded node."""
_LATE: Final = 30.0
"""Seconds that a cancelled job has to end."""
_ENDS: Final = 2.0
"""Seconds to wait for the exit code of a JVM that failed to start."""
_KILLED: Final = 10.0
"""Seconds within which a start must end after its JVM was killed."""
_WATCH: Final = 0.2
"""Seconds between two checks of a running job."""
_STOPPED: Final = 5.0
"""Seconds between two checks for stopped processes while Spark works for a plugin."""
_EXECUTORS: Final = "find the reason in the logs of the executors"
_DISK: Final = "free space on its disk, or use a larger one"
_WAS_STOPPED: Final = "A process of Spark was stopped (SIGSTOP) for too long, and was killed"
_STOPS: Final = "find out what sends SIGSTOP"
_NONE_CONNECTED: Final = (
    f"No executor has been connected for {MANY_SECONDS:.0f} s, so only the driver delivers. Executors may be starting, or "
    f"their pods may not be created or scheduled; the log of a running executor has the reason why it does not connect"
)
_LEFT_ALONE: Final = 10.0
"""Seconds that a job waits for an executor when there is none: a Worker replaces an executor that has ended."""


class WorkerLost(RetriableError):
    """Raised when a job fails without an error of its entry, because a worker was killed. Fence, and plan the batch again.

    Attributes:
        advice: remedy for the user whose workers are lost repeatedly.
    """

    def __init__(self, message: str, advice: str = "if memory ran out, raise the memory limit") -> None:
        super().__init__(message)
        self.advice = advice


class SparkLost(ConnectError):
    """Raised when the JVM is gone. The process must be replaced."""


class Spark:
    """Spark session of one task.

    Args:
        cores: n of `local[n]`.
        conf: settings of the user (`session_conf`).
        name: name of the application.
        eager: whether to start during the first batches (`spec.spark.start`), not only for a backlog.
        idle_seconds: seconds without a backlog after which the session ends, until the next one; None: it never ends.
        scratch: folder of Spark's files and sockets.
        cluster: cluster whose executors run the workers; None: they run on the task's machine.
        plugins: plugins by place; executors must have them.
        on_executors: called when the state of executors in pods changes, perhaps in another thread.
    """

    def __init__(
        self,
        *,
        cores: int,
        conf: Mapping[str, str],
        name: str,
        eager: bool,
        scratch: Scratch,
        idle_seconds: float | None = None,
        cluster: Cluster | None = None,
        plugins: Mapping[str, PluginReference] = MappingProxyType({}),
        on_executors: Callable[[ExecutorsState], None] = lambda state: None,
    ) -> None:
        self._cores = cores
        self._cluster = cluster
        self._agreement = None if cluster is None else agreement.agreement(plugins)
        self._executors: Executors | None = None
        pods = cluster if isinstance(cluster, ExecutorPods) else None
        self._master = None if pods is None else Master(pods)
        self._wish = None if pods is None else Wish(pods.least, pods.most, pods.idle_seconds)
        self._rest = None if pods is None else ExecutorsPause()
        self._on_executors = on_executors
        self._reported: ExecutorsState | None = None
        self._reporting = threading.Lock()
        self._absence = Absence(cluster)
        self._conf = conf
        self._name = name
        self._eager = eager
        self._idle_end = IdleEnd(idle_seconds)
        self._scratch = scratch
        self._session: SparkSession | None = None
        self._jvm: subprocess.Popen[bytes] | None = None
        self._failure: BaseException | None = None
        self._starter: threading.Thread | None = None
        self._launch = threading.Lock()
        """Held while `_is_launching` and `_is_killed` change: after `kill`, no JVM is launched."""
        self._is_launching = self._is_killed = False
        self._jobs = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spark-job")
        self._serial = 0
        self._stopped, self._left_alone = StoppedProcesses(), False
        """Findings while Spark works for a plugin: processes that were stopped, and whether no executor was left."""

    @property
    def cores(self) -> int:
        """Number of parts of a batch that are delivered in parallel."""
        return self._cores if self._executors is None else max(1, self._executors.cores)

    @property
    def workers(self) -> int | None:
        """Number of workers in the session; 0 if the cluster currently has no executors, None if there is no session."""
        if self._session is None:
            return None
        return self._cores if self._executors is None else self._executors.cores

    @property
    def trouble(self) -> str | None:
        """Reason why the cluster is not used now; None: it is used, or there is none.

        Executors in pods are optional: the reason why they are not used is in their state (`on_executors`).
        """
        return self._absence.trouble if self._master is None else None

    def ask(self) -> None:
        """Start the session for a backlog. Called for each of its batches while workers are not ready."""
        self._idle_end.use()
        if self._wish is not None:
            self._wish.raise_()
            self._report_executors()
        self.start()

    def start(self) -> None:
        """Start in the background, once. On a cluster that could not be used, start again after some time."""
        if self._starter is None and self._absence.is_over:
            if self._wish is not None:
                self._wish.begin()
            self._starter = threading.Thread(target=self._start, name="spark-start", daemon=True)
            self._starter.start()

    @property
    def ready(self) -> bool:
        """Return whether jobs can run now; on a cluster, whether it has executors for them that are not paused.

        Raises:
            SparkLost: the JVM was killed while it started.
            ConnectError: the session could not be started, or executors differ from the driver.
        """
        if isinstance(self._failure, SparkLost):
            raise self._failure
        if self._failure is not None:
            raise ConnectError(f"cannot start Spark: {self._failure}") from self._failure
        if self._executors is None or self._session is None:
            return self._session is not None
        self._check_answers(self._executors)
        if self._master is not None:
            if self._executors.has_ended:
                self._absence.begin("Spark has ended its session")
                self._leave()
                return False
        elif self._executors.gone_for > MANY_SECONDS:
            self._absence.begin(self._executors.why_none)
            self._leave()
            return False
        return self._executors.cores > 0 and (self._rest is None or self._rest.is_over)

    def attend(self) -> None:
        """Start an eager session, end an idle one, and check that the JVM is running.

        This is cheap enough to call after every batch. Call it only after the first one, because starting a session keeps
        the CPU busy for several seconds.

        Raises:
            SparkLost: the JVM has ended.
        """
        if self._eager:
            self.start()
        process = self._jvm
        if process is not None and process.poll() is not None:
            raise SparkLost(f"Spark's JVM is gone (exit code {process.returncode})")
        self.end_if_idle()

    def end_if_idle(self) -> None:
        """End a session that no backlog has needed for `idle_seconds`, in the background."""
        if self._session is not None and self._idle_end.is_due:
            log.info(
                "Spark stops after %.0f s without a backlog; the next backlog starts it again",
                self._idle_end.idle_seconds,
            )
            self._session = self._jvm = None
            if self._wish is not None:
                self._wish.lower()
            self._starter = threading.Thread(target=self._end, name="spark-end", daemon=True)
            self._starter.start()
        self._report_executors()

    def session(self) -> "SparkSession":
        """Wait for the session and return it. It never ends from now on, because the caller may keep parts of it.

        Raises:
            SparkLost, ConnectError: as `ready`.
            RetriableError: the cluster cannot be used now, and there is no other session.
        """
        self._idle_end.prevent()
        self._rest = None  # nothing could deliver a DataFrame while executors are paused
        return self._awaited()

    def _awaited(self) -> "SparkSession":
        with LOOP.longer(_START, "ten minutes for Spark's start"):
            for _ in range(2):  # the session may be ending
                self.start()
                if (starter := self._starter) is not None:
                    starter.join()
        if not self.ready or self._session is None:
            if self._cluster is not None:
                raise RetriableError(self._absence.trouble or self._why_not_now(self._cluster))
            raise ConnectError("cannot start Spark")
        return self._session

    def _why_not_now(self, cluster: Cluster) -> str:
        if self._master is None:
            return f"{cluster.master} has no executor for this task now"
        return (
            "cannot make a DataFrame: no executor of this task is connected; the condition ExecutorsReady of the Connector "
            "has the reason"
        )

    def run(
        self,
        entry: Entry,
        payloads: Sequence[bytes],
        *,
        timeout: float,
        meanwhile: Callable[[], None] | None = None,
        watching: Callable[[], None] = lambda: None,
        through: Job = in_workers,
    ) -> list[bytes]:
        """Run `entry` once for each payload, in parallel, and return the results in order.

        Args:
            entry: function that runs in a worker.
            payloads: arguments of `entry`.
            timeout: seconds after which a worker counts as lost.
            meanwhile: runs in this process at the same time; its exception is raised after the workers have ended.
            watching: called periodically until the workers have ended; must not raise.
            through: job that runs the entry.

        Raises:
            WorkerLost: a worker died, was stopped for half a minute, or the job did not end within `timeout` seconds.
            SparkLost: the JVM is gone, or does not answer the request to cancel the job.
        """
        self._idle_end.use()
        if self._wish is not None:
            self._wish.raise_()
        job = self._jobs.submit(self._run, entry, payloads, timeout, through)
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
                self._idle_end.use()
                if self._wish is not None:
                    self._wish.raise_()
                try:
                    return _result(job, stopped)
                except WorkerLost as e:
                    if self._rest is not None:
                        self._rest.failed(str(e))
                        self._report_executors()
                    raise
            stopped.look()
            if self._executors is not None:
                self._check_answers(self._executors)
                if self._executors.gone_for > _LEFT_ALONE:
                    self._cancel()
        raise SparkLost(f"Spark's JVM has not answered for {timeout + _LATE:.0f} s")

    def is_of_executors(self, error: ConnectError) -> bool:
        """Return whether an error is that of the last failed batch on executors in pods.

        Such an error does not hinder the task: the driver delivers.
        """
        return self._rest is not None and self._rest.last == str(error)

    def judged(self, errors: Sequence[ConnectError | None]) -> Sequence[ConnectError | None]:
        """Decide from the errors of a batch's parts whether executors in pods can deliver.

        Returns:
            The errors. An error of an executor in a pod that would fail the task becomes retriable, and the driver delivers
            next: the task fails only if the driver has the error, too.
        """
        if self._rest is None:
            return errors
        first = next((e for e in errors if e is not None and not isinstance(e, Superseded)), None)
        if first is None:
            self._rest.succeeded()
        else:
            self._rest.failed(str(first), at_once=any(map(_is_final, errors)))
        self._report_executors()
        return [*map(_retriable, errors)]

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Within the block, kill Spark processes that stay stopped, and cancel a plugin's jobs if there is no executor."""
        over, self._stopped, self._left_alone = threading.Event(), StoppedProcesses(), False

        def look() -> None:
            while not over.wait(_STOPPED):
                self._stopped.look()
                if self._executors is not None and self._executors.gone_for > _LEFT_ALONE:
                    self._left_alone = True
                    self._cancel()

        threading.Thread(target=look, name="spark-watch", daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def at_work(self) -> bool:
        """Return whether a job runs now; False if the JVM does not answer. May be called from any thread."""
        session = self._session
        try:
            return session is not None and bool(session.sparkContext.statusTracker().getActiveJobsIds())
        except Exception:  # noqa: BLE001 (no answer is the answer)
            return False

    def check(self, error: BaseException) -> None:
        """Check whether the loss of the JVM, or of a worker, is the cause of an error.

        Raises:
            SparkLost: the JVM, or the session in it, is gone.
            WorkerLost: a worker was killed, or rows that Spark kept are lost.
        """
        session = self._session
        if session is not None and not is_alive(session):
            raise SparkLost("Spark's JVM is gone") from error
        left_alone, self._left_alone = self._left_alone, False  # it applies to the job that it has cancelled
        if left_alone:
            raise WorkerLost(f"All executors were lost: {cause(error)}", _EXECUTORS) from error
        if has_lost_part(error):
            if self._stopped.ended:
                raise WorkerLost(f"{_WAS_STOPPED}: {cause(error)}", _STOPS) from error
            if self._cluster is None:
                raise WorkerLost(f"A Spark worker was lost: {cause(error)}") from error
            raise WorkerLost(f"A part was lost on a Spark cluster: {cause(error)}", _EXECUTORS) from error

    def stop(self) -> None:
        """End the session, and wait for its workers on this machine, which close their plugins."""
        workers = [] if self._session is None else python_processes()
        session, self._session, self._jvm = self._session, None, None
        if self._executors is not None:
            self._executors.close()
        self._jobs.shutdown(wait=False, cancel_futures=True)
        if session is not None:
            try:
                session.stop()
            except Exception as e:  # noqa: BLE001 (the JVM may be gone, which is as good as stopped)
                log.debug("Stopping Spark: %s", e)
        await_end(workers)

    def kill(self) -> None:
        """Kill all processes that this one has started, including a JVM that is starting. After this, no JVM starts.

        A JVM whose folder is removed while it starts would not exit: it watches its parent only after its start.
        """
        with self._launch:
            self._is_killed = True
            starter = self._starter if self._is_launching else None
        if self._executors is not None:
            self._executors.close()
        kill_children()
        deadline = time.monotonic() + _KILLED
        while starter is not None and starter.is_alive() and time.monotonic() < deadline:
            starter.join(_WATCH)
            kill_children()

    def _may_launch(self) -> bool:
        with self._launch:
            self._is_launching = not self._is_killed
        return self._is_launching

    def _leave(self) -> None:
        """Continue without the cluster until its absence is over."""
        executors, self._executors = self._executors, None
        if executors is not None:
            executors.close()
        self._session = None
        stop_context()
        self._starter = None

    def _end(self) -> None:
        executors, self._executors = self._executors, None
        if executors is not None:
            executors.close()
        end_jvm()
        self._starter = None

    @staticmethod
    def _check_answers(executors: Executors) -> None:
        if executors.is_silent:
            raise SparkLost("Spark's JVM has not answered for half a minute")

    def _cancel(self) -> None:
        session = self._session
        if session is not None:
            with suppress(Exception):  # `run` detects that the JVM does not answer
                session.sparkContext.cancelAllJobs()

    def _start(self) -> None:
        begun = time.monotonic()
        try:
            os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
            if self._cluster is None:
                os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            else:
                leave_surroundings(self._conf, self._scratch)
                if self._master is not None:
                    os.environ["SPARK_LOCAL_IP"] = (
                        "127.0.0.1"  # for the Master's web UI; everything else uses the pod's address
                    )
            from pyspark.sql import SparkSession

            conf = session_conf(self._conf, self._scratch, self._cluster)
            _silence_accumulators()
            if not self._may_launch():
                return
            if self._cluster is not None:
                launch(conf)
                if self._master is not None:
                    self._master.start()
                conf[SECRET] = self._cluster.secret
            master = f"local[{self._cores}]" if self._cluster is None else self._cluster.master
            session = SparkSession.builder.master(master).appName(self._name).config(map=conf).getOrCreate()
            if not has_named_user():
                # Hadoop looks up the user by its id, and rejects a user without a name, despite the variables.
                users = session.sparkContext._jvm.org.apache.hadoop.security.UserGroupInformation  # type: ignore[union-attr] # noqa: SLF001 (no other way to Hadoop)
                users.setLoginUser(users.createRemoteUser(USER))
            gateway = session.sparkContext._gateway  # noqa: SLF001 (no public way to the process)
            self._jvm = None if gateway is None else gateway.proc
            if self._cluster is not None:
                self._executors = Executors(session, self._cluster, self._report_executors)
                if self._master is None:
                    greet(session, self._executors, self._agreement or b"")
            else:
                # The first job starts the process that forks workers, so that the first batch need not wait for it.
                in_workers(session, _nothing, [b""])
            self._idle_end.use()
            self._session = session
            self._absence.end()
            log.info("Spark is up after %.1f s", time.monotonic() - begun)
        except BaseException as e:  # noqa: BLE001 (kept for the driver's thread)
            number = _killed_by()
            if number is not None:
                self._failure = SparkLost(f"Spark's JVM was killed by signal {number} while it started")
            elif self._cluster is None:
                self._failure = e
            elif _has_ended():
                self._failure = SparkLost("Spark's JVM has ended")
            elif isinstance(e, ConnectError) and not self._is_killed:
                self._absence.begin(str(e))
                self._leave()
            elif not self._is_killed:
                if self._master is None:
                    self._absence.begin_refused(e)
                else:
                    self._absence.begin_unstarted(e)
                self._leave()

    def _report_executors(self) -> None:
        """Report the state of executors in pods if it has changed."""
        if self._wish is None:
            return
        with self._reporting:
            executors, rest, wanted = self._executors, self._rest, self._wish.number
            connected = 0 if executors is None else executors.number
            trouble = self._absence.trouble or (None if rest is None else rest.trouble)
            if trouble is None and executors is not None and wanted and executors.gone_for > MANY_SECONDS:
                trouble = _NONE_CONNECTED
            state = ExecutorsState(wanted, connected, trouble)
            if state != self._reported:
                self._reported = state
                self._on_executors(state)

    def _is_running(self) -> bool:
        return self._jvm is not None and self._jvm.poll() is None

    def _run(self, entry: Entry, payloads: Sequence[bytes], timeout: float, through: Job) -> list[bytes]:
        from py4j.protocol import Py4JError, Py4JNetworkError
        from pyspark.errors import PySparkException

        session = self._awaited() if self._cluster is None else self._session
        if session is None:
            raise WorkerLost(
                "The session on the Spark cluster has ended",
                "find the reason in the logs of the task and its executors",
            )
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
            if self._agreement is not None:
                entry = partial(agreement.where_agreed, self._agreement, entry)
            return through(session, entry, payloads)
        except (PySparkException, Py4JError, OSError) as e:
            if expired.is_set():
                text = f"The batch was abandoned: it did not end within {timeout:.0f} s"
                raise WorkerLost(
                    text, "find out what takes so long, or make batches smaller with batch.max.records"
                ) from e
            if isinstance(e, OSError) and e.errno in (errno.ENOSPC, errno.EDQUOT):
                text = f"cannot pass a batch to Spark: its folder is full: {e}"
                raise WorkerLost(text, _DISK) from e
            if "No space left on device" in str(e):
                raise WorkerLost("Spark's folder is full", _DISK) from e
            if self._cluster is not None and self._is_running():
                if agreement.CANNOT in str(e):
                    self._absence.begin(cause(e))
                    self._leave()
                raise WorkerLost(f"A part was lost on a Spark cluster: {cause(e)}", _EXECUTORS) from e
            if isinstance(e, (Py4JNetworkError, OSError)) or not is_alive(session):
                raise SparkLost("Spark's JVM is gone") from e
            raise WorkerLost(f"A Spark worker was lost: {first_line(e)}") from e
        finally:
            timer.cancel()


def _result(job: Future[list[bytes]], stopped: StoppedProcesses) -> list[bytes]:
    try:
        return job.result()
    except WorkerLost as e:
        if not stopped.ended:
            raise
        raise WorkerLost(f"{_WAS_STOPPED}: {e}", _STOPS) from e


def _is_final(error: ConnectError | None) -> bool:
    """Return whether an error of a part would end a task."""
    passing = (Superseded, RetriableError, Fenced, TransactionAborted)
    return error is not None and not isinstance(error, passing)


def _retriable(error: ConnectError | None) -> ConnectError | None:
    if error is None or not _is_final(error):
        return error
    found = RetriableError(str(error))
    found.__cause__ = error
    return found


def _nothing(payload: bytes) -> bytes:
    return payload


def _silence_accumulators() -> None:
    """Keep Spark from printing a stack trace when its JVM ends while it sends counters; `attend` and `run` report that."""
    from pyspark import accumulators

    def log_quietly(server: object, request: object, address: object) -> None:
        log.debug("Spark's counters were interrupted: %s", sys.exc_info()[1])

    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = log_quietly  # type: ignore[method-assign, assignment]


def _killed_by() -> int | None:
    """Return the signal that killed the JVM while it started; None: the configuration may be the cause."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001 (no public way to the process)
    if gateway is None or gateway.proc is None:
        return None
    try:
        code = gateway.proc.wait(_ENDS)
    except subprocess.TimeoutExpired:
        return None
    return -code if code < 0 else None


def _has_ended() -> bool:
    """Return whether the JVM is gone, for any reason."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001 (no public way to the process)
    return gateway is not None and gateway.proc is not None and gateway.proc.poll() is not None
