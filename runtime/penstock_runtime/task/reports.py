"""Reports of a task: to the status topic (Kafka Connect's records), to the metrics, and to the parent process."""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from penstock.errors import ConnectError
from penstock.sink import TopicPartition
from penstock.source import Backlog
from penstock_kafka.records import Entry
from penstock_model.contracts.status_snapshot import topic_mark
from penstock_runtime.kafka import status_topic
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.spark.executors_wanted import ExecutorsState
from penstock_runtime.task.metrics import TaskMetrics
from penstock_runtime.task.skipped_in_a_row import SkippedInARow

__all__ = ["ParentPipe", "StatusRecords", "SynchronousStatusRecords", "TaskReports"]

log = logging.getLogger(__name__)
_PROGRESS_INTERVAL: Final = 0.5


class ParentPipe:
    """Events for the parent process: JSON lines on an inherited file descriptor.

    A thread writes them, so that the task does not wait for a parent that does not read, such as a stopped one. The latest
    event of each kind is kept until the parent reads, earlier ones are dropped. Progress is written at most twice a
    second. A parent that has ended is not an error.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._fd = descriptor
        self._changed = threading.Condition()
        self._progress: dict[str, Any] = {}
        self._latest: dict[str, Any] = {}
        self._events: dict[str, dict[str, Any]] = {}
        self._due = 0.0
        self._urgent = False
        self._writing = False
        if descriptor is not None:
            threading.Thread(target=self._run, name="reports", daemon=True).start()

    def send(self, event: str, **fields: Any) -> None:
        """Send an event as soon as the parent reads, after pending progress; it replaces a pending one of the same kind."""
        with self._changed:
            self._events.pop(event, None)  # put last
            self._events[event] = fields
            self._urgent = True
            self._changed.notify_all()

    def progress(self, **fields: Any) -> None:
        """Send these values with the next progress event, unless they are unchanged. Later values replace earlier ones."""
        with self._changed:
            changed = {k: v for k, v in fields.items() if k not in self._latest or self._latest[k] != v}
            if not changed:
                return
            self._latest.update(changed)
            begins = not self._is_pending
            self._progress.update(changed)
            if begins:  # otherwise the thread already waits for the next event; waking it costs more than all else here
                self._changed.notify_all()

    def flush(self, seconds: float = 1.0) -> None:
        """Wait at most `seconds` until all events are written."""
        with self._changed:
            self._urgent = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._fd is None or not (self._is_pending or self._writing), seconds)

    @property
    def _is_pending(self) -> bool:
        return bool(self._progress or self._events)

    def _run(self) -> None:
        while self._fd is not None:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._is_pending)
                self._changed.wait_for(lambda: self._urgent, max(0.0, self._due - time.monotonic()))
                events = [{"event": "progress", **self._progress}] if self._progress else []
                events += [{"event": name, **fields} for name, fields in self._events.items()]
                self._progress, self._events, self._urgent = {}, {}, False
                self._writing = True
                self._due = time.monotonic() + _PROGRESS_INTERVAL
            self._write(b"".join(json.dumps(e, default=str).encode() + b"\n" for e in events))

    def _write(self, lines: bytes) -> None:
        try:
            while lines and self._fd is not None:
                lines = lines[os.write(self._fd, lines) :]
        except OSError:
            self._fd = None
            with self._changed:
                self._changed.notify_all()


class StatusRecords(Protocol):
    """Writer to the status topic."""

    def write(self, entries: Sequence[Entry], *, timeout: float) -> None:
        """Write records, waiting at most `timeout` seconds. Does not raise if Kafka is unavailable."""


class SynchronousStatusRecords:
    """Writer of records that waits until they are acknowledged."""

    def __init__(self, writer: StatusWriter, topic: str) -> None:
        self._writer = writer
        self._topic = topic

    def write(self, entries: Sequence[Entry], *, timeout: float) -> None:
        """Write records. Failures are logged."""
        try:
            self._writer.write(self._topic, entries, timeout=timeout)
        except ConnectError as e:
            log.warning("Cannot write to the status topic: %s", e)


class StateListener(Protocol):
    """Additional receiver of state and trouble of the task (`pod.reports.PodReports`)."""

    def state(self, state: State, *, message: str | None = None, trace: str | None = None) -> None:
        """Report that the task has entered a state."""

    def trouble(self, text: str | None) -> None:
        """Report a problem that hinders the task; None: there is none any more."""

    def lag(self, records: int, growth: str | None) -> None:
        """Report the lag of a sink, and its growth (None: it does not grow). Called often, perhaps from several threads."""

    def partitions(self, number: int) -> None:
        """Report how many partitions a sink reads."""

    def waited(self, seconds: float) -> None:
        """Report that a sink has waited for records. Called often."""

    def executors(self, state: ExecutorsState) -> None:
        """Report the executors of the task in pods. May be called from several threads."""

    def ask(self, asked: str) -> None:
        """Report that the plugin requests a task reconfiguration."""

    def batch(self, read: int, delivered: int) -> None:
        """Report how many records a batch has read and delivered. Called often."""

    def looped(self, *, proven: bool) -> None:
        """Report that a round of the loop is complete. Called often."""


class TaskReports:
    """Implementation of `pipeline.reports.Reports` for a task process."""

    def __init__(
        self,
        *,
        connector: str,
        task: int,
        generation: int,
        version: str,
        worker_id: str,
        records: StatusRecords,
        track_topics: bool,
        metrics: TaskMetrics,
        parent: ParentPipe,
        redact: Callable[[str], str] = str,
        listener: StateListener | None = None,
        recorded: Callable[[], Collection[bytes]] = tuple,
        forget_unread: Callable[[Callable[[str], object], Collection[str]], None] = lambda is_read, known: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connector = connector
        self._task = task
        self._generation = generation
        self._version = version
        self._worker_id = worker_id
        self._records = records
        self._listener = listener
        self._track = track_topics
        self._metrics = metrics
        self._parent = parent
        self._redact = redact
        self._active: set[str] = set()
        self._ask_recorded = recorded
        self._forget_unread = forget_unread
        self._recorded: Collection[bytes] | None = None
        """Marks of the topics that the connector had used before; None: not read yet."""
        self._forgets = False
        self._total = Summary()
        self._clock = clock
        self._skipped_in_a_row = SkippedInARow()
        self._trouble: str | None = None
        self._state: State | None = None
        self.batches = 0
        self._spark_batches = 0
        if listener is not None:
            metrics.lag_watch.on_lag = listener.lag

    def state(
        self, state: State, *, trace: str | None = None, message: str | None = None, timeout: float | None = None
    ) -> None:
        """Report a new state everywhere. The task continues if the status topic cannot be written."""
        if state is self._state:  # a task that starts paused reports it both at its start and when it pauses
            return
        self._state = state
        self._metrics.state(state)
        if self._listener is not None:
            self._listener.state(state, message=message, trace=trace)
        self._parent.send("state", state=state.value, trace=trace)
        self._records.write(
            [
                status_topic.task_status(
                    self._connector,
                    self._task,
                    state,
                    worker_id=self._worker_id,
                    generation=self._generation,
                    version=self._version,
                    trace=trace,
                )
            ],
            timeout=timeout if timeout is not None else 5.0 if state is State.FAILED else 30.0,
        )

    @property
    def works(self) -> bool:
        """Return whether the last reported state is RUNNING or PAUSED."""
        return self._state in (State.RUNNING, State.PAUSED)

    @property
    def is_hindered(self) -> bool:
        """Return whether the task currently reports trouble."""
        return self._trouble is not None

    def batch(self, summary: Summary, *, seconds: float, on_spark: bool) -> None:
        """Count a batch for the metrics and the parent, and log its failed records."""
        self.batches += 1
        self._spark_batches += on_spark
        self._metrics.batch(summary, seconds, on_spark=on_spark)
        self._skipped_in_a_row.add(summary, self._clock())
        if self._listener is not None:
            self._listener.batch(summary.read, summary.written)
        for line in summary.log:
            log.error("%s", line)
        if summary.logged > len(summary.log):
            log.error("%d more records of this batch failed", summary.logged - len(summary.log))
        total = self._total
        total.read += summary.read
        total.written += summary.written
        total.bytes += summary.bytes
        total.failures += summary.failures
        total.dropped += summary.dropped
        self._parent.progress(
            read=total.read,
            written=total.written,
            bytes=total.bytes,
            failures=total.failures,
            dropped=total.dropped,
            spark_batches=self._spark_batches,
        )
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                "Batch of %d records in %.3f s (%s): %s",
                summary.read,
                seconds,
                "Spark" if on_spark else "driver",
                summary.seconds,
            )

    def looped(self, *, proven: bool) -> None:
        """Report a complete round of the loop to the metrics and the listener."""
        self._metrics.looped()
        if self._listener is not None:
            self._listener.looped(proven=proven)

    def committed(self) -> None:
        """Report committed offsets of a sink to the metrics."""
        self._metrics.committed()

    def waited(self, seconds: float) -> None:
        """Report to the listener that a sink has waited for records."""
        if self._listener is not None:
            self._listener.waited(seconds)

    def partitions(self, number: int) -> None:
        """Report the number of partitions to the metrics and the listener."""
        self._metrics.partitions(number)
        if self._listener is not None:
            self._listener.partitions(number)

    def lag(self, lags: Mapping[TopicPartition, int] | None) -> None:
        """Report the lag to the metrics and the parent; None if it is unknown."""
        if lags is not None:
            self._metrics.lag(lags)
            self._parent.progress(lag=sum(lags.values()))

    def backlog(self, backlog: Backlog) -> None:
        """Report the backlog to the metrics."""
        self._metrics.backlog.report(backlog)

    def active(self, topics: list[str]) -> None:
        """Write topics that are new to this task to the status topic, unless the connector already has them (KIP-558)."""
        if self._forgets:
            self._forgets = False
            self._active, self._recorded = set(), ()
        new = [t for t in topics if t not in self._active]
        if not new:
            return
        self._active.update(new)
        self._parent.progress(topics=sorted(self._active))
        if not self._track:
            return
        if self._recorded is None:
            self._recorded = self._ask_recorded()
        now = int(time.time() * 1000)
        unrecorded = [t for t in new if topic_mark(t) not in self._recorded]
        entries = [status_topic.topic_status(t, self._connector, self._task, now) for t in unrecorded]
        if entries:
            self._records.write(entries, timeout=30.0)

    def reads(self, is_read: Callable[[str], object], known: Collection[str]) -> None:
        """Remove active topics that the sink does not read."""
        self._forget_unread(is_read, known)

    def forget_topics(self) -> None:
        """Record topics again from now on, because the active topics were reset. May be called from any thread."""
        self._forgets = True

    def trouble(self, message: str | None) -> None:
        """Report to the parent and the listener when the problem that hinders the task changes.

        If `message` is None, a running task may still have one: it delivers no record, because all fail and are skipped.
        """
        if message is None and self._state is State.RUNNING:
            message = self._skipped_in_a_row.trouble(self._clock())
        message = message and self._redact(message)
        if message != self._trouble:
            self._trouble = message
            self._parent.progress(trouble=message)
            if self._listener is not None:
                self._listener.trouble(message)

    def ask(self, asked: str) -> None:
        """Report to the listener or the parent that the plugin requests a task reconfiguration. Callable from any thread."""
        log.info("The plugin requests a task reconfiguration; the connector is planned again")
        if self._listener is not None:
            self._listener.ask(asked)
        else:
            self._parent.send("asked", asked=asked)

    def spark(self, workers: int | None) -> None:
        """Report the number of Spark workers to the metrics and the parent."""
        self._metrics.spark(workers)
        self._parent.progress(spark_workers=workers)

    def executors(self, state: ExecutorsState) -> None:
        """Report the task's executors in pods to the metrics and the listener. May be called from any thread."""
        self._metrics.executors(wanted=state.wanted or 0, connected=state.connected or 0)
        if self._listener is not None:
            self._listener.executors(replace(state, trouble=state.trouble and self._redact(state.trouble)))
