"""One task in this process, from its spec to its end, with or without a pod around it."""

import argparse
import faulthandler
import logging
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from penstock.errors import ConfigError, Superseded
from penstock_logging import log_warnings_and_uncaught_errors
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.contracts.task_spec import SparkStart, TaskSpec, TaskState
from penstock_runtime import logs
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.pipeline.gc_tuning import collect_seldom
from penstock_runtime.pipeline.record_errors import printable
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.task import SinkTask
from penstock_runtime.source.context import SourceContext
from penstock_runtime.source.task import SourceTask
from penstock_runtime.spark.session import Spark, SparkLost
from penstock_runtime.task.children import die_with_parent, kill_children
from penstock_runtime.task.context import task_context
from penstock_runtime.task.liveness import LOOP
from penstock_runtime.task.metrics import TaskMetrics
from penstock_runtime.task.pod import termination_message
from penstock_runtime.task.pod.http_server import serve
from penstock_runtime.task.pod.pod import Connection, Pod, Unreached
from penstock_runtime.task.redactor import redactor_of
from penstock_runtime.task.reports import ParentPipe, TaskReports, WrittenAtOnce
from penstock_runtime.task.scratch import Scratch
from penstock_runtime.task.shutdown import Stopping
from penstock_runtime.task.stdio_capture import become_log_lines, last_lines

__all__ = ["run"]

log = logging.getLogger("penstock_runtime.task")
_TRACE_LIMIT = 16_000
_LAST_WORD = 0.5
"""Seconds of the grace period that are kept for telling the state of a task that is abandoned."""
_FAILED = 5.0
"""Seconds for which a failure is tried to be told to Kafka; the last word tells it in any case."""
_SOURCE_CALL = 3600.0
"""Seconds that a call of a source may take. Kafka Connect lets `poll` wait for as long as it likes, and many wait for their
outside to have something new; one that does not come back within an hour waits for an answer that is lost."""
_ANSWERS = 120.0
"""Seconds that a turn of the loop may take beside one call of a plugin: Kafka is asked a few things in it."""
_LEAVING = 3.0
"""The same of a task that leaves as it was asked to."""


@dataclass(frozen=True, slots=True)
class _End:
    """How a life ended: without secrets."""

    code: ExitCode = ExitCode.OK
    message: str | None = None
    trace: str | None = None

    @classmethod
    def by(cls, error: Exception, redact: Callable[[str], str]) -> "_End":
        """What an error means, and says."""
        message = printable(redact(str(error))) or type(error).__name__
        if isinstance(error, (Superseded, Unreached)):
            unavailable = isinstance(error, Unreached)
            return cls(ExitCode.UNAVAILABLE if unavailable else ExitCode.SUPERSEDED, message)
        code = ExitCode.CONFIG_INVALID if isinstance(error, ConfigError) else ExitCode.FAILED
        trace = printable(redact("".join(traceback.format_exception(error))))[-_TRACE_LIMIT:]
        return cls(ExitCode.LOST if isinstance(error, SparkLost) else code, message, trace)


def run(arguments: list[str] | None, stopping: Stopping) -> int:
    """The process's work; its exit code."""
    options = _options(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the parent, which then sends SIGTERM
    faulthandler.register(signal.SIGQUIT, sys.__stderr__ or sys.stderr)  # as a JVM tells where its threads stand
    pod = None
    try:
        spec = TaskSpec.from_json(options.spec.read_bytes())
        if Pod.here():
            pod = Pod.of_environment(spec)
            spec = pod.spec
    except (ConfigError, OSError) as e:
        if not Pod.here():
            raise
        sys.stderr.write(f"{e}\n")
        termination_message.leave(TerminationMessage(exit_code=ExitCode.CONFIG_INVALID, message=str(e)))
        return ExitCode.CONFIG_INVALID
    if pod is None:
        die_with_parent()
    return _Process(spec, pod, options, stopping).run()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="penstock_runtime.task")
    parser.add_argument("spec", type=Path, help="the task spec, a JSON file")
    parser.add_argument("--report-fd", type=int, help="where to send events, as JSON lines")
    parser.add_argument("--metrics-port", type=int, help="0: any; in a pod 9404 unless it is given, else any")
    parser.add_argument("--log-level", default="INFO")
    parser.add_argument("--log-fd", type=int, help="where log lines go, when standard error is for other words")
    parser.add_argument("--reach-seconds", type=float, default=30.0, help="in a pod: how long Kafka is waited for")
    parser.add_argument("--source-seconds", type=float, default=_SOURCE_CALL, help="for one call of a source")
    parser.add_argument(
        "--answer-seconds", type=float, default=_ANSWERS, help="for Kafka's answers within a turn of the loop"
    )
    return parser.parse_args(arguments)


class _Process:
    """What belongs to one life of a task."""

    def __init__(self, spec: TaskSpec, pod: Pod | None, options: argparse.Namespace, stopping: Stopping) -> None:
        self._spec = spec
        self._pod = pod
        self._options = options
        self._stopping = stopping
        self._paused = threading.Event()
        if spec.state is TaskState.PAUSED:
            self._paused.set()
        self._parent = ParentPipe(options.report_fd)
        self._redact: Callable[[str], str] = redactor_of(spec.config, spec.worker, spec.secrets_dir)
        self._reports: TaskReports | None = None
        self._connection: Connection | None = None
        self._spark: Spark | None = None
        self._grace = WorkerConfig.parse({}).task_shutdown_graceful_timeout_ms / 1000
        self._ended = threading.Lock()
        self._stalled: str | None = None
        """Why the last health check failed."""

    def run(self) -> ExitCode:
        """Until its end."""
        LOOP.begin()
        self._log()
        log_warnings_and_uncaught_errors()
        become_log_lines(lambda text: self._redact(text))
        with Scratch() as scratch:
            scratch.become_temporary()
            self._scratch = scratch
            self._stopping.within(self._grace, self._abandon)
            end = self._as_it_was(self._live())
            self._ended.acquire()  # an abandonment that comes now would say something else
            self._last_word(end)
            self._parent.flush()
            self._end_children()  # they would go on to write into the folder
        return end.code

    def _live(self) -> _End:
        end = _End()
        with ExitStack() as closing:
            try:
                self._work(closing)
            except Exception as e:  # noqa: BLE001 (the end of the process: whatever it was is told)
                end = self._told(_End.by(e, self._redact))
            # What is closed may wait for an outside that does not answer: it is told by now, and the process leaves.
            self._stopping.leave_within(self._grace, lambda: self._leave(end))
        return end

    def _work(self, closing: ExitStack) -> None:
        setup = task_context(self._spec, slots_dir=self._scratch.slots, on_error=self._trouble)
        self._learn(setup)
        self._allow(setup)
        writer = StatusWriter(setup.shared, client_id=f"penstock-status-{self._spec.id}")
        closing.callback(writer.close)
        self._reports = self._made_reports(setup, writer)
        if self._connection is not None:
            self._connection.begin(setup, self._options.reach_seconds, self._stopping.asked)
        spark = Spark(
            cores=setup.cores, conf=self._spec.spark.conf, name=self._spec.id,
            eager=self._spec.spark.start is SparkStart.EAGER, scratch=self._scratch,
        )  # fmt: skip
        self._spark = spark
        closing.callback(spark.stop)
        task = _task(setup, self._reports, writer, spark, self._stopping.asked, self._paused)
        collect_seldom()
        try:
            task.run()
        except Exception as e:
            closing.callback(_quietly, partial(task.close, failure=e))
            raise
        task.close()
        if self._connection is not None:
            self._connection.check()
        self._reports.state(State.UNASSIGNED)
        self._flush(_LEAVING)

    def _allow(self, setup: SourceContext | SinkContext) -> None:
        """How long the loop may not turn: for a call of the plugin, and for what Kafka is asked beside it."""
        options = self._options
        if isinstance(setup, SinkContext):
            call, rule = setup.put_seconds, "max.poll.interval.ms of consumers"
        else:
            call, rule = options.source_seconds, "an hour for a call of a source"
        LOOP.allow(call + options.answer_seconds, f"{rule}, and two minutes for Kafka's answers")

    def _learn(self, setup: TaskContext) -> None:
        """What the setup knows: more secrets, and how long a stop may take."""
        known, found = self._redact, setup.redactor
        self._redact = lambda text: found(known(text))
        self._grace = max(0.0, setup.worker.task_shutdown_graceful_timeout_ms / 1000 - _LAST_WORD)
        self._stopping.within(self._grace, self._abandon)

    def _made_reports(self, setup: TaskContext, writer: StatusWriter) -> TaskReports:
        spec = self._spec
        metrics = TaskMetrics(spec, {f"{place}.plugin": f"{p.alias} {p.version}" for place, p in spec.plugins.items()})
        port = serve(
            self._metrics_port(), metrics.registry, healthy=self._unhealthy, ready=self._unready, age=lambda: LOOP.age
        )
        log.info("Metrics are at port %d, /metrics", port)
        self._parent.send("metrics", port=port)
        worker_id = f"{socket.gethostname()}:{os.getpid()}"
        if self._pod is not None:
            worker_id = self._pod.name
            self._connection = Connection(self._pod, setup, paused=self._paused, stopping=self._stopping.asked)
        return TaskReports(
            connector=spec.connector, task=spec.task, generation=spec.generation,
            version=spec.plugins["connector"].version, worker_id=worker_id,
            records=self._connection or WrittenAtOnce(writer, setup.status_topic),
            track_topics=setup.worker.topic_tracking_enable, metrics=metrics, parent=self._parent,
            redact=self._redact, news=self._connection.reports if self._connection else None,
        )  # fmt: skip

    def _unhealthy(self) -> str | None:
        """What the kubelet is told; the log is told where the loop stands, once."""
        still = LOOP.standstill()
        if still is None:
            self._stalled = None
            return None
        if self._stalled is None:
            log.error("%s. Its health check fails from now on", still, extra={"trace": self._redact(still.trace)})
        self._stalled = self._redact(str(still))
        return f"the task's loop has stood still for {still.seconds:.0f} s; its log says where"

    def _unready(self) -> str | None:
        if self._reports is None or not self._reports.works:
            return "the task does not run yet, or no more"
        return self._unhealthy()

    def _as_it_was(self, end: _End) -> _End:
        """A stop that was asked for because of the health check is no stop as any other."""
        if self._stalled is None or end.code is not ExitCode.OK:
            return end
        return _End(ExitCode.STALLED, f"The task did not answer its health check as it should: {self._stalled}")

    def _metrics_port(self) -> int:
        given: int | None = self._options.metrics_port
        return given if given is not None else Pod.METRICS_PORT if self._pod is not None else 0

    def _told(self, end: _End) -> _End:
        """How it ended, to whoever can be told."""
        if self._ended.locked():  # it is abandoned, and told so: what fails now fails of that
            return end
        self._stopping.within(self._grace, lambda: self._leave(end))
        if end.code is ExitCode.SUPERSEDED:
            log.warning("%s", end.message)
            self._parent.send("superseded", message=end.message)
            self._last_word(end)
            if self._connection is not None:
                self._connection.close()  # what it would still tell is another's to tell now
            return end
        log.error("The task has failed: %s", end.message, extra={"trace": end.trace} if end.trace else {})
        self._parent.send("failed", message=end.message, config=end.code is ExitCode.CONFIG_INVALID)
        self._last_word(end)
        if self._reports is not None and end.code is not ExitCode.UNAVAILABLE:
            self._reports.state(State.FAILED, trace=end.trace, message=end.message)
            self._flush(_FAILED)
        return end

    def _flush(self, seconds: float) -> None:
        if self._connection is not None:
            self._connection.flush(seconds)

    def _trouble(self, text: str) -> None:
        if self._reports is not None:
            self._reports.trouble(self._redact(text))

    def _abandon(self) -> None:
        """As if killed: exactly once holds, and at least once. Spark's processes end with this one."""
        log.warning("Not at an end %.1f s after SIGTERM; what is under way is abandoned, and comes again", self._grace)
        if not self._ended.acquire(blocking=False):
            return
        if self._reports is not None:
            self._reports.state(State.UNASSIGNED, timeout=_LAST_WORD)
            self._flush(_LAST_WORD)
        abandoned = _End(message=f"Abandoned {self._grace:.1f} s after SIGTERM: its batch was not at an end")
        self._gone(self._as_it_was(abandoned))

    def _leave(self, end: _End) -> None:
        """The end that is told already, though something does not let itself be closed."""
        if not self._ended.acquire(blocking=False):
            return
        log.warning(
            "Something is not closed after %.1f s (kill -QUIT would show what); leaving all the same", self._grace
        )
        self._gone(end)

    def _gone(self, end: _End) -> NoReturn:
        self._last_word(end)
        self._parent.flush(_LAST_WORD)
        self._end_children()
        self._scratch.remove()
        os._exit(end.code)

    def _end_children(self) -> None:
        """Kill Spark's processes. Threads that wait for them meet errors, of which nothing is logged."""
        last_lines()
        logging.disable(logging.CRITICAL)
        if self._spark is not None:
            self._spark.kill()
        else:
            kill_children()

    def _last_word(self, end: _End) -> None:
        if self._pod is None:
            return
        trouble = self._connection.reports.present_trouble if self._connection is not None else None
        termination_message.leave(
            TerminationMessage(exit_code=end.code, message=end.message, trace=end.trace, trouble=trouble)
        )

    def _log(self) -> None:
        context: dict[str, Any] = {"connector": self._spec.connector, "task": self._spec.task}

        def fields() -> dict[str, Any]:
            return context if self._reports is None else {**context, "batch": self._reports.batches}

        logs.configure(
            level=self._options.log_level, descriptor=self._options.log_fd,
            stream=sys.__stderr__ if self._pod is not None else None,
            redact=lambda text: self._redact(text), context=fields,
        )  # fmt: skip


def _quietly(close: Callable[[], None]) -> None:
    """On the way out of a failure, which is the error that counts."""
    try:
        close()
    except Exception as e:  # noqa: BLE001 (a plugin may raise anything)
        log.warning("Not closed as it should be after the failure: %s", e)


def _task(
    setup: SourceContext | SinkContext, reports: TaskReports, writer: StatusWriter, spark: Spark, stopping: threading.Event,
    paused: threading.Event,
) -> SourceTask | SinkTask:  # fmt: skip
    if isinstance(setup, SinkContext):
        fence = SinkFence(setup.at_least_once_fence(), writer)
        return SinkTask(setup, fence, reports, stopping=stopping, paused=paused, spark=spark)
    return SourceTask(
        setup, setup.transactional_fence(), writer, reports, stopping=stopping, paused=paused, spark=spark
    )
