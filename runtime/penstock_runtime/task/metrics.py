"""Kafka Connect's metrics in Prometheus form (connect-semantics 13): one registry and one endpoint per process.

Names are `kafka_connect_<group>_<metric>` with underscores: `source-record-poll-total` of `source-task-metrics` is
`kafka_connect_source_task_source_record_poll_total`. JMX's `-rate` is `rate()` over the `_total`; its `-avg` or
`-avg-time-ms` is `_sum` over `_count` of the summary whose name lacks this suffix, in seconds. Counters of
`task-error-metrics` end in `_total` too, as Prometheus requires.
"""

import time
from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, Summary

from penstock.sink import TopicPartition
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.summary import Summary as BatchSummary
from penstock_runtime.plugins.plugin_metrics import MetricsByPlace
from penstock_runtime.task.backlog_gauges import BacklogGauges
from penstock_runtime.task.lag import LagWatch
from penstock_runtime.task.plugin_collector import PluginCollector

__all__ = ["TaskMetrics"]

_LABELS: Final = ("connector", "task")
_PLUGINS: Final = ("connector", "key.converter", "value.converter", "header.converter")
_BUCKETS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_ERRORS: Final[Mapping[str, str]] = {
    "total_record_failures": "Failed attempts at a record.",
    "total_record_errors": "Records that failed permanently.",
    "total_records_skipped": "Failed records that were skipped.",
    "total_retries": "Attempts after the first.",
    "total_errors_logged": "Failures written to the log.",
    "deadletterqueue_produce_requests": "Records sent to the dead letter queue.",
    "deadletterqueue_produce_failures": "Records that the dead letter queue did not take.",
}


class TaskMetrics:
    """Metrics of one task.

    Args:
        spec: task spec.
        plugins: measurements of its plugins.
    """

    def __init__(self, spec: TaskSpec, plugins: MetricsByPlace) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(PluginCollector(spec.connector, spec.task, plugins))
        self._labels = {"connector": spec.connector, "task": str(spec.task)}
        self.lag_watch = LagWatch(self._labels)
        self.backlog = BacklogGauges(self._labels)
        self._source = spec.kind == "source"
        self._describe(spec)
        self._status = self._gauge("connector_task_status", "1 for the state that the task is in.", "state")
        for state in ("running", "pause"):
            ratio = self._gauge(f"connector_task_{state}_ratio", "Share of this process's time in that state.")
            ratio.set_function(
                lambda s=State.RUNNING if state == "running" else State.PAUSED: self._share(s)  # type: ignore[misc]
            )
        self._begun = self._since = time.monotonic()
        self._state: State | None = None
        self._spent: dict[State, float] = {}
        self._batch_size = self._summary("connector_task_batch_size", "Records of a batch.")
        self._bytes = self._counter("task_bytes", "Bytes of keys and values moved.")
        batches = self._counter("task_batches", "Batches, by where they ran.", "where")
        self._ran = {where: batches.labels(**self._labels, where=where) for where in ("driver", "spark")}
        self._dropped = self._counter("task_records_dropped", "Records that transforms dropped.")
        self._errors = {name: self._counter(f"task_error_{name}", doc) for name, doc in _ERRORS.items()}
        self._last_error = self._gauge("task_error_last_error_timestamp", "Milliseconds since 1970; 0: none.")
        self._last_error.set(0)
        self._stages: dict[str, Histogram] = {}
        self._seconds = Histogram(
            "kafka_connect_task_batch_seconds",
            "Time of a batch by stage of work.",
            (*_LABELS, "stage"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._spark = Gauge(
            "penstock_task_spark_up", "1 while the Spark session is up.", _LABELS, registry=self.registry
        ).labels(**self._labels)
        self._wanted, self._connected = (
            Gauge(name, text, _LABELS, registry=self.registry).labels(**self._labels)
            for name, text in (
                ("penstock_task_executors_wanted", "Executors in pods that the task can use now."),
                ("penstock_task_executors", "Executors in pods that are connected to the task."),
            )
        )
        self._spark_workers = Gauge(
            "penstock_task_spark_workers",
            "Workers of the Spark session, each of which delivers a part of a backlog; 0 without a session.",
            _LABELS,
            registry=self.registry,
        ).labels(**self._labels)
        self.spark(None)
        self._last_record = self._last_loop = 0.0
        self._times = {
            name: Gauge(f"penstock_task_last_{name}_timestamp_seconds", doc, _LABELS, registry=self.registry)
            for name, doc in (
                ("record", "When the last record was delivered, in seconds since 1970."),
                ("loop", "When the loop last completed a round, even one without records, in seconds since 1970."),
            )
        }
        if self._source:
            self._make_source()
        else:
            self._make_sink()

    def state(self, state: State) -> None:
        """Record that the task has entered a state."""
        now = time.monotonic()
        if self._state is not None:
            self._spent[self._state] = self._spent.get(self._state, 0.0) + now - self._since
        self._state, self._since = state, now
        self.lag_watch.is_paused = state is State.PAUSED
        for each in State:
            self._status.labels(**self._labels, state=each.value.lower()).set(each is state)

    def batch(self, summary: BatchSummary, seconds: float, *, on_spark: bool) -> None:
        """Record a delivered batch: that of a source is committed, that of a sink will be."""
        self._read.inc(summary.read)
        self._sent.inc(summary.written)
        if summary.written:
            if not self._last_record:  # absent until then
                self._times["record"].labels(**self._labels).set_function(lambda: self._last_record)
            self._last_record = time.time()
        if self._source:
            self._poll_seconds.observe(summary.seconds.get("read", 0.0))
            self._transaction_size.observe(summary.written)
        else:
            self._put_seconds.observe(summary.seconds.get("deliver", 0.0))
            self._active.inc(summary.read)
        counts = {
            "total_record_failures": summary.failures + summary.retries,
            "total_record_errors": summary.failures,
            "total_records_skipped": summary.failures,
            "total_retries": summary.retries,
            "total_errors_logged": summary.logged,
            "deadletterqueue_produce_requests": summary.dead_letters,
            "deadletterqueue_produce_failures": summary.dead_letters_lost,
        }
        for name, count in counts.items():
            if count:
                self._errors[name].inc(count)
        if summary.failures:
            self._last_error.set(int(time.time() * 1000))
        self._bytes.inc(summary.bytes)
        self._dropped.inc(summary.dropped)
        self._ran["spark" if on_spark else "driver"].inc()
        self._batch_size.observe(summary.read)
        for stage, spent in {**summary.seconds, "total": seconds}.items():
            self._stage(stage).observe(spent)

    def looped(self) -> None:
        """Record that the loop has completed a round."""
        if not self._last_loop:
            self._times["loop"].labels(**self._labels).set_function(lambda: self._last_loop)
        self._last_loop = time.time()

    def committed(self) -> None:
        """Record that a sink's offsets are committed to its group."""
        self._commits.inc()
        self._sequence.inc()
        self._active.set(0)

    def partitions(self, number: int) -> None:
        """Record how many partitions a sink reads."""
        self._partitions.set(number)

    def lag(self, lags: Mapping[TopicPartition, int]) -> None:
        """Record how many records of each partition a sink has yet to write."""
        self.lag_watch.report(lags)

    def spark(self, workers: int | None) -> None:
        """Record how many workers the Spark session has; None: there is no session."""
        self._spark.set(workers is not None)
        self._spark_workers.set(workers or 0)

    def executors(self, *, wanted: int, connected: int) -> None:
        """Set the number of executors in pods."""
        self._wanted.set(wanted)
        self._connected.set(connected)

    def _describe(self, spec: TaskSpec) -> None:
        """Add the metrics of KIP-891: their values are strings, which become labels here."""
        info = Info(
            "kafka_connect_connector_task",
            "Classes and versions of this task's plugins.",
            _LABELS,
            registry=self.registry,
        )
        described: dict[str, str] = {"connector_type": spec.kind}
        for place in _PLUGINS:
            if (ref := spec.plugins.get(place)) is not None:
                name = place.replace(".", "_")
                described |= {f"{name}_class": ref.alias, f"{name}_version": ref.version}
        info.labels(**self._labels).info(described)
        for kind in ("transform", "predicate"):
            of = Info(
                f"kafka_connect_connector_{kind}",
                f"Class and version of each {kind}.",
                (*_LABELS, kind),
                registry=self.registry,
            )
            for place, ref in spec.plugins.items():
                if place.startswith(f"{kind}s."):
                    labels = {**self._labels, kind: place.partition(".")[2]}
                    of.labels(**labels).info({f"{kind}_class": ref.alias, f"{kind}_version": ref.version})

    def _make_source(self) -> None:
        self._read = self._counter("source_task_source_record_poll", "Records read from the source.")
        self._sent = self._counter("source_task_source_record_write", "Records written to Kafka and committed.")
        self.registry.register(self.backlog)
        self._poll_seconds = self._summary("source_task_poll_batch_seconds", "Time to read a batch.")
        self._transaction_size = self._summary("source_task_transaction_size", "Records that a batch wrote to Kafka.")

    def _make_sink(self) -> None:
        self._read = self._counter("sink_task_sink_record_read", "Records read from Kafka.")
        self._sent = self._counter("sink_task_sink_record_send", "Records given to the sink.")
        self._put_seconds = self._summary("sink_task_put_batch_seconds", "Time that the sink took for a batch.")
        self._active = self._gauge("sink_task_sink_record_active_count", "Records read and not committed yet.")
        self._partitions = self._gauge("sink_task_partition_count", "Partitions that this task reads.")
        self._commits = self._counter("sink_task_offset_commit_completion", "Commits of offsets.")
        self._sequence = self._gauge("sink_task_offset_commit_seq_no", "Number of the last commit.")
        self.registry.register(self.lag_watch)
        for gauge in (self._active, self._partitions, self._sequence):
            gauge.set(0)

    def _stage(self, stage: str) -> Histogram:
        found = self._stages.get(stage)
        if found is None:
            found = self._stages[stage] = self._seconds.labels(**self._labels, stage=stage)
        return found

    def _share(self, state: State) -> float:
        now = time.monotonic()
        spent = self._spent.get(state, 0.0) + (now - self._since if self._state is state else 0.0)
        return min(1.0, spent / max(now - self._begun, 1e-9))

    # A metric without further labels is returned as its only child: a lookup for every batch costs more than counting.

    def _gauge(self, name: str, doc: str, *labels: str) -> Gauge:
        gauge = Gauge(f"kafka_connect_{name}", doc, (*_LABELS, *labels), registry=self.registry)
        return gauge if labels else gauge.labels(**self._labels)

    def _summary(self, name: str, doc: str) -> Summary:
        return Summary(f"kafka_connect_{name}", doc, _LABELS, registry=self.registry).labels(**self._labels)

    def _counter(self, name: str, doc: str, *labels: str) -> Counter:
        counter = Counter(f"kafka_connect_{name}", doc, (*_LABELS, *labels), registry=self.registry)
        return counter if labels else counter.labels(**self._labels)
