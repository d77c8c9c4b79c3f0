"""The process of one task: `python -m penstock_runtime.task SPEC`.

Started by `penstock run`, or as the main process of a pod.
"""

import argparse
import logging
import os
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from penstock.errors import ConfigError, Superseded
from penstock.exit_codes import ExitCode
from penstock.taskspec import SparkStart, TaskSpec, TaskState
from penstock.worker_config import WorkerConfig
from penstock_runtime import logs
from penstock_runtime.engine.garbage import collect_seldom
from penstock_runtime.engine.incarnation import Life
from penstock_runtime.engine.setup import Setup
from penstock_runtime.engine.sink_task import SinkTask
from penstock_runtime.engine.source_task import SourceTask
from penstock_runtime.engine.spark import Spark, SparkLost
from penstock_runtime.kafka.compacted import StatusWriter
from penstock_runtime.kafka.status_topic import Incarnation, State
from penstock_runtime.metrics import TaskMetrics
from penstock_runtime.parent import die_with_parent, kill_children
from penstock_runtime.scratch import Scratch
from penstock_runtime.stopping import Stopping
from penstock_runtime.task_reports import ParentPipe, TaskReports

__all__ = ["main"]

log = logging.getLogger("penstock_runtime.task")
_TRACE_LIMIT = 16_000
_LAST_WORD = 0.5
"""Seconds of the grace period that are kept for telling the state of a task that is abandoned."""


def main(arguments: list[str] | None = None) -> int:
    """Run the task of a spec file until it is told to stop (SIGTERM), fails, or is superseded."""
    parser = argparse.ArgumentParser(prog="penstock_runtime.task", description=__doc__)
    parser.add_argument("spec", type=Path, help="the task spec, a JSON file")
    parser.add_argument("--report-fd", type=int, help="where to send events, as JSON lines")
    parser.add_argument("--metrics-port", type=int, default=0, help="0: any")
    parser.add_argument("--log-level", default="INFO")
    parser.add_argument("--log-fd", type=int, help="where log lines go, when standard error is for other words")
    options = parser.parse_args(arguments)

    die_with_parent()
    stopping, paused = Stopping(), threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the parent, which then sends SIGTERM

    spec = TaskSpec.from_json(options.spec.read_bytes())
    if spec.state is TaskState.PAUSED:
        paused.set()
    parent = ParentPipe(options.report_fd)
    context: dict[str, Any] = {"connector": spec.connector, "task": spec.task}
    logs.configure(level=options.log_level, descriptor=options.log_fd, context=lambda: context)
    logs.include_the_rest()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # what a plugin prints is not held back
    with Scratch() as scratch:
        scratch.become_temporary()
        code = _run(spec, scratch, parent, stopping, paused, options, context)
        parent.flush()
        kill_children()  # Spark's processes, which would go on to write into the folder
    return code


def _run(
    spec: TaskSpec, scratch: Scratch, parent: ParentPipe, stopping: Stopping, paused: threading.Event,
    options: argparse.Namespace, context: dict[str, Any],
) -> ExitCode:  # fmt: skip
    reports: TaskReports | None = None
    redact: Any = str

    def trouble(text: str) -> None:
        if reports is not None:
            reports.trouble(redact(text))

    def abandon() -> None:
        """As if killed: exactly once holds, and at least once. Spark's processes end with this one."""
        log.warning("Not at an end %.1f s after SIGTERM; what is under way is abandoned, and comes again", grace)
        if reports is not None:
            reports.state(State.UNASSIGNED, timeout=_LAST_WORD)
        parent.flush(_LAST_WORD)
        kill_children()
        scratch.remove()
        os._exit(ExitCode.OK)

    grace = WorkerConfig.parse({}).task_shutdown_graceful_timeout_ms / 1000
    stopping.within(grace, abandon)
    spark: Spark | None = None
    writer: StatusWriter | None = None
    try:
        setup = Setup.of(spec, slots_dir=scratch.slots, on_error=trouble)
        redact = setup.redactor
        grace = max(0.0, setup.worker.task_shutdown_graceful_timeout_ms / 1000 - _LAST_WORD)
        stopping.within(grace, abandon)
        logs.configure(
            level=options.log_level, descriptor=options.log_fd, redact=redact,
            context=lambda: context if reports is None else {**context, "batch": reports.batches},
        )  # fmt: skip
        metrics = TaskMetrics(spec, {f"{place}.plugin": f"{p.alias} {p.version}" for place, p in spec.plugins.items()})
        port = metrics.serve(options.metrics_port)
        log.info("Metrics are at http://127.0.0.1:%d/metrics", port)
        parent.send("metrics", port=port)
        writer = StatusWriter(setup.shared, client_id=f"penstock-status-{spec.id}")
        reports = TaskReports(
            connector=spec.connector, task=spec.task, generation=spec.generation,
            version=spec.plugins["connector"].version, worker_id=f"{socket.gethostname()}:{os.getpid()}",
            writer=writer, topic=setup.status_topic, track_topics=setup.worker.topic_tracking_enable,
            metrics=metrics, parent=parent, redact=redact,
        )  # fmt: skip
        spark = Spark(
            cores=setup.cores, conf=spec.spark.conf, name=spec.id, eager=spec.spark.start is SparkStart.EAGER,
            scratch=scratch,
        )  # fmt: skip
        task = _task(setup, reports, writer, spark, stopping.asked, paused)
        collect_seldom()
        task.run()
        reports.state(State.UNASSIGNED)
    except Superseded as e:
        log.warning("%s", redact(str(e)))
        parent.send("superseded", message=redact(str(e)))
        return ExitCode.SUPERSEDED
    except Exception as e:  # noqa: BLE001 (the end of the process: whatever it was is told)
        trace = redact("".join(traceback.format_exception(e)))[-_TRACE_LIMIT:]
        log.error("The task has failed: %s", e, extra={"trace": trace})
        parent.send("failed", message=redact(str(e)) or type(e).__name__, config=isinstance(e, ConfigError))
        if reports is not None:
            reports.state(State.FAILED, trace=trace)
        if isinstance(e, SparkLost):
            return ExitCode.LOST
        return ExitCode.CONFIG_INVALID if isinstance(e, ConfigError) else ExitCode.FAILED
    finally:
        if spark is not None:
            spark.stop()
        if writer is not None:
            writer.close()
    return ExitCode.OK


def _task(
    setup: Setup, reports: TaskReports, writer: StatusWriter, spark: Spark, stopping: threading.Event,
    paused: threading.Event,
) -> SourceTask | SinkTask:  # fmt: skip
    spec = setup.spec
    if spec.kind == "sink":
        return SinkTask(setup, reports, stopping=stopping, paused=paused, spark=spark)
    life = None
    if setup.exactly_once:
        incarnation = Incarnation(
            spec.incarnation, 0, spec.token, setup.cores + 1, generation=spec.generation, plan=spec.plan
        )
        life = Life(setup.settings, setup.shared, setup.status_topic, setup.ids, incarnation)
    return SourceTask(setup, life, writer, reports, stopping=stopping, paused=paused, spark=spark)


def _leave(code: int) -> NoReturn:
    """End now: an abandoned Spark job's thread must not hold the process up. The JVM ends with our pipe to it."""
    with suppress(OSError):  # whoever reads them may be gone
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _leave(main())
