"""Run one task in this process, from its spec to its end, in a pod or under `penstock run`."""

import argparse
import faulthandler
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from penstock.errors import ConfigError, ConnectError, Superseded
from penstock_logging import log_warnings_and_uncaught_errors
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_model.contracts.texts import cut_trace
from penstock_model.resources.task_settings import SparkStart, TaskSettings
from penstock_runtime import logs
from penstock_runtime.java_plugins.hosts import close_host, expect_long_work, use_java
from penstock_runtime.java_plugins.java_error import JvmLost, JvmOomKilled
from penstock_runtime.kafka.compacted_topic import StatusWriter, read_to_end
from penstock_runtime.kafka.contact import KafkaContact
from penstock_runtime.kafka.end_offsets import EndOffsets
from penstock_runtime.kafka.status_topic import State, recorded_topics
from penstock_runtime.pipeline.context import TaskContext, config_providers
from penstock_runtime.pipeline.error_tolerance import printable, sentence
from penstock_runtime.pipeline.gc_tuning import tune_gc
from penstock_runtime.process import termination_message
from penstock_runtime.process.children import die_with_parent, kill_children
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.process.stdio_capture import last_lines, redirect_to_log
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.task import SinkTask
from penstock_runtime.source.context import SourceContext
from penstock_runtime.source.task import SourceTask
from penstock_runtime.spark.cluster import Cluster
from penstock_runtime.spark.session import Spark, SparkLost
from penstock_runtime.task.context import task_context
from penstock_runtime.task.executors import executor_pods, with_executors
from penstock_runtime.task.metrics import TaskMetrics
from penstock_runtime.task.pod.http_server import serve
from penstock_runtime.task.pod.pod import KafkaUnreachable, OperatorConnection, Pod
from penstock_runtime.task.redactor import redactor_of
from penstock_runtime.task.reports import ParentPipe, SynchronousStatusRecords, TaskReports
from penstock_runtime.task.shutdown import GracefulShutdown
from penstock_runtime.task.unread_topics import forget_unread

__all__ = ["run"]

log = logging.getLogger("penstock_runtime.task")
_TRACE_LIMIT = 16_000
_REPORT_ABANDONED = 0.5
"""Seconds of the grace period that are reserved for reporting the state of an abandoned task."""
_REPORT_FAILURE = 5.0
"""Seconds for writing a failure to the status topic. The termination message has the failure in any case."""
_SOURCE_CALL = 3600.0
"""Seconds that a call of a source may take. Kafka Connect does not bound `poll`, and many sources wait in it for new data.
A call that does not return within an hour is assumed to wait for a lost answer."""
_KAFKA_CALLS = 120.0
"""Seconds that a turn of the loop may take in addition to one call of a plugin, for its calls to Kafka."""
_LONG = 30.0
"""Seconds of one turn of the loop after which a task reports where it hangs; half of the limit if that is less."""
_REPLANNING = 5.0
"""Seconds between two requests of a plugin for new tasks under `penstock run`, where planning needs no pod."""
_REPORT_STOP = 3.0
"""Seconds for writing the state of a task that stops on request."""


@dataclass(frozen=True, slots=True)
class _End:
    """Outcome of an incarnation, without secrets."""

    code: ExitCode = ExitCode.OK
    message: str | None = None
    trace: str | None = None
    reason: str | None = None

    @classmethod
    def by(cls, error: Exception, redact: Callable[[str], str]) -> "_End":
        """Return the exit code and the messages of an error."""
        text = sentence(error)
        message = printable(redact(text)) or type(error).__name__
        if isinstance(error, (Superseded, KafkaUnreachable)):
            unavailable = isinstance(error, KafkaUnreachable)
            return cls(ExitCode.UNAVAILABLE if unavailable else ExitCode.SUPERSEDED, message)
        code = ExitCode.CONFIG_INVALID if isinstance(error, ConfigError) else ExitCode.FAILED
        trace = cut_trace(printable(redact("".join(traceback.format_exception(error)))), _TRACE_LIMIT)
        jvm = next((e for e in (error, error.__cause__) if isinstance(e, JvmLost)), None)  # the cause: within a write
        if jvm is not None:
            return cls(ExitCode.LOST, message, trace, "OOMKilled" if isinstance(jvm, JvmOomKilled) else "JvmLost")
        return cls(ExitCode.LOST if isinstance(error, SparkLost) else code, message, trace)


def run(arguments: list[str] | None, stopping: GracefulShutdown) -> int:
    """Run the task of the spec file, and return the exit code."""
    options = _options(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at a terminal reaches the parent too, which sends SIGTERM
    faulthandler.register(signal.SIGQUIT, sys.__stderr__ or sys.stderr)  # prints all stacks, as a JVM does
    expect_long_work()
    pod = None
    try:
        spec = TaskSpec.from_json(options.spec.read_bytes())
        if Pod.is_here():
            pod = Pod.of_environment(spec)
            spec = pod.spec
        settings = TaskSettings.of_task(spec.settings)
    except (ConfigError, OSError) as e:
        if not Pod.is_here():
            raise
        sys.stderr.write(f"{e}\n")
        termination_message.write(TerminationMessage(exit_code=ExitCode.CONFIG_INVALID, message=str(e)))
        return ExitCode.CONFIG_INVALID
    use_java(settings.java)
    if pod is None:
        die_with_parent(options.parent)
    return _Process(spec, pod, options, stopping).run()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="penstock_runtime.task")
    parser.add_argument("spec", type=Path, help="the task spec, a JSON file")
    parser.add_argument("--report-fd", type=int, help="descriptor to which events are written, as JSON lines")
    parser.add_argument("--parent", type=int, help="process id of the parent; the task ends with it")
    parser.add_argument("--metrics-port", type=int, help="0: any free port; default: 9404 in a pod, else any")
    parser.add_argument("--log-level", default="INFO")
    parser.add_argument("--log-fd", type=int, help="descriptor for log lines; default: standard error")
    parser.add_argument(
        "--reach-seconds", type=float, default=30.0, help="in a pod: seconds to wait for Kafka at the start"
    )
    parser.add_argument("--source-seconds", type=float, default=_SOURCE_CALL, help="seconds for one call of a source")
    parser.add_argument(
        "--answer-seconds",
        type=float,
        default=_KAFKA_CALLS,
        help="seconds for calls of Kafka within a turn of the loop",
    )
    return parser.parse_args(arguments)


class _Process:
    """Incarnation of a task in this process, with everything that it uses."""

    def __init__(
        self, spec: TaskSpec, pod: Pod | None, options: argparse.Namespace, stopping: GracefulShutdown
    ) -> None:
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
        self._connection: OperatorConnection | None = None
        self._contact: KafkaContact | None = None
        self._spark: Spark | None = None
        self._grace = WorkerConfig.parse({}).task_shutdown_graceful_timeout_ms / 1000
        self._ending = threading.Lock()
        self._health_error: str | None = None
        """Reason why the last health check failed; None if it did not."""

    def run(self) -> ExitCode:
        """Run the task until its end."""
        LOOP.begin()
        self._configure_log()
        log_warnings_and_uncaught_errors()
        redirect_to_log(lambda text: self._redact(text))
        with Scratch() as scratch:
            scratch.become_temporary()
            self._scratch = scratch
            self._stopping.within(self._grace, self._abandon)
            end = self._or_stalled(self._run_task())
            self._ending.acquire()  # from here on `_abandon` must not report another end
            self._write_termination_message(end)
            self._parent.flush()
            self._end_children()  # otherwise they would still write into the folder
        return end.code

    def _run_task(self) -> _End:
        end = _End()
        with ExitStack() as closing:
            try:
                self._do_work(closing)
            except BaseException as e:  # noqa: BLE001 (the end of the process: every error is reported, even `sys.exit`)
                end = self._report_failure(_End.by(as_failure(e), self._redact))
            # Closing may wait for a system that does not answer. The end is already reported, so the process exits in time.
            self._stopping.leave_within(self._grace, lambda: self._leave_unclosed(end))
        return end

    def _do_work(self, closing: ExitStack) -> None:
        context = self._create_context()
        self._apply_context(context)
        host = None if self._pod is None else self._pod.ip
        context, no_executors = with_executors(context, host)
        if not context.java_places:
            close_host()  # it may have run config providers
        self._set_time_limits(context)
        writer = StatusWriter(context.shared, client_id=f"penstock-status-{self._spec.id}")
        closing.callback(writer.close)
        self._reports = self._create_reports(context, writer)
        if self._pod is None:
            context.reconfiguration.begin(self._reports.ask, _REPLANNING)
        else:
            context.reconfiguration.begin(self._reports.ask)
        if self._connection is not None:
            self._connection.on_topics_reset = self._reports.forget_topics
            self._connection.begin(context, self._options.reach_seconds, self._stopping.asked)
            self._contact = KafkaContact(context.shared)
        if no_executors is not None:
            self._reports.executors(no_executors)
        given, pods = context.task_settings.spark, executor_pods(context, host)
        # If there are always executors, there is always a session.
        is_eager = given.start is SparkStart.EAGER or (pods is not None and pods.least > 0)
        spark = Spark(
            cores=context.cores,
            conf=given.conf,
            name=self._spec.id,
            eager=is_eager,
            idle_seconds=None if is_eager else given.idle_timeout.total_seconds(),
            scratch=self._scratch,
            cluster=pods or (None if self._spec.spark_cluster is None else Cluster.of(self._spec.spark_cluster)),
            plugins=self._spec.plugins,
            on_executors=self._reports.executors,
        )
        self._spark = spark
        closing.callback(spark.stop)
        closing.callback(close_host)  # runs after the Java plugins of the chain are closed
        closing.callback(context.close_chain)
        task = _create_task(context, self._reports, writer, spark, self._stopping.asked, self._paused)
        threading.Thread(target=self._report_long_turns, name="long-turns", daemon=True).start()
        if isinstance(task, SinkTask) and isinstance(context, SinkContext):
            self._watch_lag(task, context)
        tune_gc()
        try:
            task.run()
        except BaseException as e:
            closing.callback(_close_after_failure, partial(task.close, failure=as_failure(e)))
            raise
        task.close()
        if self._connection is not None:
            self._connection.check()
        self._reports.state(State.UNASSIGNED)
        self._flush(_REPORT_STOP)

    def _create_context(self) -> SourceContext | SinkContext:
        with config_providers(self._spec) as providers:
            redact_early = self._redact
            self._redact = lambda text: providers.redact(redact_early(text))
            return task_context(
                self._spec, slots_dir=self._scratch.slots, on_error=self._trouble, providers=providers.table
            )

    def _set_time_limits(self, context: SourceContext | SinkContext) -> None:
        """Limit the time of a turn of the loop: one call of the plugin, and the calls to Kafka around it."""
        options = self._options
        if isinstance(context, SinkContext):
            call, rule = context.put_seconds, "max.poll.interval.ms of consumers"
        else:
            call, rule = options.source_seconds, "an hour for a call of a source"
        LOOP.allow(call + options.answer_seconds, f"{rule}, and two minutes for Kafka's answers", call)

    def _apply_context(self, context: TaskContext) -> None:
        """Apply values of the context: more secrets, and the grace period."""
        redact_early, redact_resolved = self._redact, context.redactor
        self._redact = lambda text: redact_resolved(redact_early(text))
        self._grace = max(0.0, context.worker.task_shutdown_graceful_timeout_ms / 1000 - _REPORT_ABANDONED)
        self._stopping.within(self._grace, self._abandon)

    def _watch_lag(self, task: SinkTask, context: SinkContext) -> None:
        contact = self._contact
        is_lost = (lambda: False) if contact is None else (lambda: contact.trouble is not None)
        self._metrics.lag_watch.watch(task, EndOffsets(context.settings), is_lost)

    def _create_reports(self, context: TaskContext, writer: StatusWriter) -> TaskReports:
        spec = self._spec
        metrics = self._metrics = TaskMetrics(spec, context.plugin_metrics)
        port = serve(
            self._metrics_port(), metrics.registry, healthy=self._unhealthy, ready=self._unready, age=lambda: LOOP.age
        )
        log.info("Metrics are served on port %d at /metrics", port)
        self._parent.send("metrics", port=port)
        worker_id = f"{socket.gethostname()}:{os.getpid()}"
        if self._pod is not None:
            worker_id = self._pod.name
            self._connection = OperatorConnection(
                self._pod, context, paused=self._paused, stopping=self._stopping.asked
            )
        return TaskReports(
            connector=spec.connector,
            task=spec.task,
            generation=spec.generation,
            version=spec.plugins["connector"].version,
            worker_id=worker_id,
            records=self._connection or SynchronousStatusRecords(writer, context.status_topic),
            track_topics=context.worker.topic_tracking_enable,
            metrics=metrics,
            parent=self._parent,
            redact=self._redact,
            listener=self._connection.reports if self._connection else None,
            recorded=partial(self._recorded_topics, context),
            forget_unread=partial(forget_unread, context),
        )

    def _recorded_topics(self, context: TaskContext) -> Collection[bytes]:
        """Return the marks of the connector's active topics; read the status topic once if the operator has sent none."""
        if self._spec.status is not None:
            return self._spec.status.marks()
        try:
            return recorded_topics(read_to_end(context.shared, context.status_topic), self._spec.connector)
        except ConnectError as e:  # they are recorded again
            log.debug("Cannot read earlier active topics: %s", e)
            return ()

    def _unhealthy(self) -> str | None:
        """Return the answer to the kubelet's health check, and log once where the loop hangs."""
        standstill = LOOP.standstill()
        if standstill is None:
            self._health_error = None
            return None
        if self._health_error is None:
            log.error(
                "%s. The task's health check fails from now on",
                standstill,
                extra={"trace": self._redact(standstill.trace)},
            )
        self._health_error = self._redact(str(standstill))
        return f"the task's loop has been stuck for {standstill.seconds:.0f} s; its log says where"

    def _report_long_turns(self) -> None:
        """Report where the loop is when a turn takes long. The next turn withdraws the report."""
        while True:
            time.sleep(max(0.1, self._long_turn / 4))
            after = self._long_turn
            held = LOOP.standstill(after)
            if held is not None:
                self._trouble(
                    f"Held up for more than {after:.0f} s in {held.where}; after {held.most:.0f} s the health check fails "
                    f"({held.rule})"
                )

    @property
    def _long_turn(self) -> float:
        return min(_LONG, LOOP.most / 2)

    def _unready(self) -> str | None:
        """Return the answer to the readiness check. The operator reads it for causes that a report cannot contain."""
        if self._reports is None or not self._reports.works:
            return "the task does not run yet, or no longer runs"
        if self._contact is not None and (lost := self._contact.trouble) is not None:
            return self._redact(lost)
        if (unhealthy := self._unhealthy()) is not None:
            return unhealthy
        if LOOP.standstill(self._long_turn) is not None:
            return f"the task's loop has been stuck for more than {self._long_turn:.0f} s; its log and its report say where"
        return "the task is hindered; its report gives the reason" if self._reports.is_hindered else None

    def _or_stalled(self, end: _End) -> _End:
        """Return STALLED instead of OK if the health check has failed: this is why the kubelet stopped the task."""
        if self._health_error is None or end.code is not ExitCode.OK:
            return end
        return _End(ExitCode.STALLED, f"The task did not answer its health check: {self._health_error}")

    def _metrics_port(self) -> int:
        port: int | None = self._options.metrics_port
        return port if port is not None else Pod.METRICS_PORT if self._pod is not None else 0

    def _report_failure(self, end: _End) -> _End:
        """Report an end to the parent, Kubernetes and Kafka."""
        if self._ending.locked():  # the task is abandoned and reported as such; this error is a consequence
            return end
        self._stopping.within(self._grace, lambda: self._leave_unclosed(end))
        if end.code is ExitCode.SUPERSEDED:
            log.warning("%s", end.message)
            self._parent.send("superseded", message=end.message)
            self._write_termination_message(end)
            if self._connection is not None:
                self._connection.close()  # the newer incarnation reports from now on
            return end
        log.error("The task has failed: %s", end.message, extra={"trace": end.trace} if end.trace else {})
        self._parent.send("failed", message=end.message, config=end.code is ExitCode.CONFIG_INVALID)
        self._write_termination_message(end)
        if self._reports is not None and end.code is not ExitCode.UNAVAILABLE:
            self._reports.state(State.FAILED, trace=end.trace, message=end.message)
            self._flush(_REPORT_FAILURE)
        return end

    def _flush(self, seconds: float) -> None:
        if self._connection is not None:
            self._connection.flush(seconds)

    def _trouble(self, text: str) -> None:
        if self._reports is not None:
            self._reports.trouble(self._redact(text))

    def _abandon(self) -> None:
        """Exit as if killed, with the same guarantees. Spark's processes end with this one."""
        log.warning(
            "The task has not finished %.1f s after SIGTERM; its unfinished work is abandoned, and will be repeated",
            self._grace,
        )
        if not self._ending.acquire(blocking=False):
            return
        if self._reports is not None:
            self._reports.state(State.UNASSIGNED, timeout=_REPORT_ABANDONED)
            self._flush(_REPORT_ABANDONED)
        abandoned = _End(
            message=f"The task was abandoned {self._grace:.1f} s after SIGTERM: its batch was not finished"
        )
        self._exit(self._or_stalled(abandoned))

    def _leave_unclosed(self, end: _End) -> None:
        """Exit although closing has not ended. The end is already reported."""
        if not self._ending.acquire(blocking=False):
            return
        log.warning(
            "Not everything was closed within %.1f s (kill -QUIT shows what is open); exiting anyway", self._grace
        )
        self._exit(end)

    def _exit(self, end: _End) -> NoReturn:
        self._write_termination_message(end)
        self._parent.flush(_REPORT_ABANDONED)
        self._end_children()
        self._scratch.remove()
        os._exit(end.code)

    def _end_children(self) -> None:
        """Kill Spark's processes. Log nothing from here on: threads that wait for them get errors."""
        last_lines()
        logging.disable(logging.CRITICAL)
        if self._spark is not None:
            self._spark.kill()
        else:
            kill_children()

    def _write_termination_message(self, end: _End) -> None:
        trouble = self._connection.reports.present_trouble if self._connection is not None else None
        termination_message.write(
            TerminationMessage(
                exit_code=end.code, message=end.message, trace=end.trace, trouble=trouble, reason=end.reason
            )
        )

    def _configure_log(self) -> None:
        context: dict[str, Any] = {"connector": self._spec.connector, "task": self._spec.task}

        def fields() -> dict[str, Any]:
            return context if self._reports is None else {**context, "batch": self._reports.batches}

        logs.configure(
            level=self._options.log_level,
            descriptor=self._options.log_fd,
            stream=sys.__stderr__ if self._pod is not None else None,
            redact=lambda text: self._redact(text),
            context=fields,
        )


def _close_after_failure(close: Callable[[], None]) -> None:
    """Close after a failure. Only log errors: they must not replace the failure."""
    try:
        close()
    except BaseException as e:  # noqa: BLE001 (a plugin may raise anything)
        log.warning("Cannot close everything after the failure of the task: %s", as_failure(e))


def _create_task(
    context: SourceContext | SinkContext,
    reports: TaskReports,
    writer: StatusWriter,
    spark: Spark,
    stopping: threading.Event,
    paused: threading.Event,
) -> SourceTask | SinkTask:
    if isinstance(context, SinkContext):
        fence = SinkFence(context.at_least_once_fence(), writer)
        return SinkTask(context, fence, reports, stopping=stopping, paused=paused, spark=spark)
    return SourceTask(
        context, context.transactional_fence(), writer, reports, stopping=stopping, paused=paused, spark=spark
    )
