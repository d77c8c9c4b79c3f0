"""Connect's metrics in Prometheus form (connect-semantics 13): one registry and one endpoint per process."""

import time
from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, start_http_server

from penstock.taskspec import TaskSpec
from penstock_runtime.engine.summary import Summary
from penstock_runtime.kafka.status_topic import State

__all__ = ["TaskMetrics"]

_LABELS: Final = ("connector", "task")
_BUCKETS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class TaskMetrics:
    """The metrics of one task."""

    def __init__(self, spec: TaskSpec, versions: Mapping[str, str]) -> None:
        self.registry = CollectorRegistry()
        self._labels = {"connector": spec.connector, "task": str(spec.task)}
        self._kind = spec.kind
        info = Info(
            "kafka_connect_task", "Classes and versions of this task's plugins.", _LABELS, registry=self.registry
        )
        info.labels(**self._labels).info({k.replace(".", "_"): v for k, v in versions.items()})
        self._status = self._gauge(
            "kafka_connect_connector_task_status", "1 for the state that the task is in.", "state"
        )
        self._total: dict[str, Counter] = {}
        source = {
            "source_record_poll": "Records read from the source.",
            "source_record_write": "Records written to Kafka and committed.",
        }
        sink = {
            "sink_record_read": "Records read from Kafka.",
            "sink_record_send": "Records given to the sink.",
            "offset_commit_completion": "Batches committed.",
        }
        for name, doc in (source if spec.kind == "source" else sink).items():
            self._counter(f"kafka_connect_{spec.kind}_task_{name}", doc)
        for name, doc in {
            "total_record_failures": "Records that failed for good.",
            "total_records_skipped": "Failed records that were passed over.",
            "total_records_dropped": "Records that transforms dropped.",
            "total_retries": "Attempts after the first.",
            "total_errors_logged": "Failures written to the log.",
            "deadletterqueue_produce_requests": "Records written to the dead letter queue.",
        }.items():
            self._counter(f"kafka_connect_task_error_{name}", doc)
        self._counter("kafka_connect_task_bytes", "Bytes of keys and values moved.")
        self._counter("kafka_connect_task_batches", "Batches, by where they ran.", "where")
        self._batch_size = self._gauge("kafka_connect_task_batch_size", "Records of the last batch.")
        self._last_error = self._gauge("kafka_connect_task_error_last_error_timestamp", "Milliseconds since 1970.")
        self._lag = self._gauge("kafka_connect_sink_task_lag", "Records in Kafka that are not written yet.")
        self._spark = self._gauge("penstock_task_spark_up", "1 while the Spark session is up.")
        self._seconds = Histogram(
            "kafka_connect_task_batch_seconds", "Time of a batch by stage of work.", (*_LABELS, "stage"),
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip

    def serve(self, port: int) -> int:
        """Offer the metrics over HTTP; 0 takes any port. The port that was taken."""
        server, _ = start_http_server(port, registry=self.registry)
        return int(server.server_port)

    def state(self, state: State) -> None:
        """The task changed its state."""
        for each in State:
            self._status.labels(**self._labels, state=each.value.lower()).set(each is state)

    def batch(self, summary: Summary, seconds: float, *, on_spark: bool) -> None:
        """A batch was committed."""
        names = (
            {"source_record_poll": summary.read, "source_record_write": summary.written}
            if self._kind == "source"
            else {"sink_record_read": summary.read, "sink_record_send": summary.written, "offset_commit_completion": 1}
        )
        for name, count in names.items():
            self._total[f"kafka_connect_{self._kind}_task_{name}"].labels(**self._labels).inc(count)
        errors = {
            "total_record_failures": summary.failures, "total_records_skipped": summary.failures,
            "total_records_dropped": summary.dropped, "total_retries": summary.retries,
            "total_errors_logged": summary.logged, "deadletterqueue_produce_requests": summary.dead_letters,
        }  # fmt: skip
        for name, count in errors.items():
            if count:
                self._total[f"kafka_connect_task_error_{name}"].labels(**self._labels).inc(count)
        if summary.failures:
            self._last_error.labels(**self._labels).set(int(time.time() * 1000))
        self._total["kafka_connect_task_bytes"].labels(**self._labels).inc(summary.bytes)
        where = "spark" if on_spark else "driver"
        self._total["kafka_connect_task_batches"].labels(**self._labels, where=where).inc()
        self._batch_size.labels(**self._labels).set(summary.read)
        for stage, spent in {**summary.seconds, "total": seconds}.items():
            self._seconds.labels(**self._labels, stage=stage).observe(spent)

    def lag(self, records: int) -> None:
        """How far a sink is behind."""
        self._lag.labels(**self._labels).set(records)

    def spark(self, *, up: bool) -> None:
        """Whether the Spark session is up."""
        self._spark.labels(**self._labels).set(up)

    def _gauge(self, name: str, doc: str, *labels: str) -> Gauge:
        return Gauge(name, doc, (*_LABELS, *labels), registry=self.registry)

    def _counter(self, name: str, doc: str, *labels: str) -> None:
        self._total[name] = Counter(name, doc, (*_LABELS, *labels), registry=self.registry)
