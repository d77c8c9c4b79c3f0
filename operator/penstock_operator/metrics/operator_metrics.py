"""Metrics of the operator: reconciliations, requests, the queue, the rollout, the Lease."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock_operator.key import Key
from penstock_operator.metrics.connector_rows import ConnectorFigures, ConnectorRows

__all__ = ["Metrics", "QueueFigures", "RolloutFigures"]

_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)
_REVIEW_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2)
"""Buckets of reviews, up to the two seconds for which the API server waits."""


@dataclass(frozen=True)
class QueueFigures:
    """Current figures of the work queue.

    Attributes:
        waiting: number of keys that are due and wait for a slot.
        delayed: number of keys that will be due later.
        running: number of keys that are being reconciled.
        oldest_waiting: seconds for which the longest waiting key has been due.
        oldest_running: seconds since the start of the longest reconciliation in progress.
    """

    waiting: int = 0
    delayed: int = 0
    running: int = 0
    oldest_waiting: float = 0.0
    oldest_running: float = 0.0


@dataclass(frozen=True)
class RolloutFigures:
    """Current figures of the rollout of a change of the release.

    Attributes:
        waiting: number of Connectors that wait for their turn.
        restarting: number of Connectors that are being restarted.
        failed: number of Connectors that were Ready before their restart, and have not been since.
        planning: number of Connectors for which planning is in progress.
        stopped: whether the rollout has stopped, in some namespaces or everywhere.
        stopped_namespaces: number of namespaces in which it has stopped.
    """

    waiting: int = 0
    restarting: int = 0
    failed: int = 0
    planning: int = 0
    stopped: bool = False
    stopped_namespaces: int = 0


class Metrics:
    """All metrics of the operator. Thread-safe."""

    def __init__(self, *, version: str = "", release: str = "") -> None:
        self.registry = CollectorRegistry()
        self._reconciles = Histogram(
            "penstock_operator_reconcile_seconds",
            "Duration of reconciliations.",
            ["outcome"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        for outcome in ("done", "error", "timeout"):
            self._reconciles.labels(outcome)
        self._requests = Counter(
            "penstock_operator_api_requests",
            "Requests to the API server; code 0: no response.",
            ["verb", "kind", "code"],
            registry=self.registry,
        )
        self._reviews = Counter(
            "penstock_operator_reviews",
            "Reviews of objects by the webhook; failed: an error in the review.",
            ["kind", "result"],
            registry=self.registry,
        )
        for kind in ("Connector", "PluginVersion", "TopicCreationPolicy"):
            for result in ("allowed", "warned", "refused", "failed"):
                self._reviews.labels(kind, result)
        self._review_seconds = Histogram(
            "penstock_operator_review_seconds",
            "Duration of reviews by the webhook.",
            buckets=_REVIEW_SECONDS,
            registry=self.registry,
        )
        self._console_answers = Counter(
            "penstock_operator_console_requests",
            "Requests to the console and the REST API by class of the response status; a stream counts when it starts.",
            ["code"],
            registry=self.registry,
        )
        for code in ("2xx", "3xx", "4xx", "5xx"):
            self._console_answers.labels(code)
        self._console_streams = Gauge(
            "penstock_operator_console_streams", "Open pages that receive live updates.", registry=self.registry
        )
        self._kafka = Gauge("penstock_operator_kafka_up", "1 if the status topic can be read.", registry=self.registry)
        self._compacted = Gauge(
            "penstock_operator_status_topic_compacted",
            "0 if the cleanup.policy of the status topic is not compact, so that Kafka deletes its records.",
            registry=self.registry,
        )
        self._compacted.set(1)
        self._leading = Gauge(
            "penstock_operator_leading", "1 if this operator holds the Lease of its release.", registry=self.registry
        )
        Gauge("penstock_operator_build_info", "1", ["version", "release"], registry=self.registry).labels(
            version, release
        ).set(1)
        self._queue: Callable[[], QueueFigures] = QueueFigures
        self._connectors = ConnectorRows()
        self._rollout: Callable[[], RolloutFigures] = RolloutFigures
        self.registry.register(_Now(self))

    def connector(self, key: Key, figures: ConnectorFigures) -> None:
        """Set the figures of a connector."""
        self._connectors.put(key, figures)

    def not_ready(self, key: Key, reason: str) -> None:
        """Set a connector that cannot be read to not ready, without changing its other figures."""
        self._connectors.not_ready(key, reason)

    def forget(self, key: Key) -> None:
        """Remove a connector."""
        self._connectors.drop(key)

    def reconciled(self, outcome: str, seconds: float) -> None:
        """Count a reconciliation; its outcome is `done`, `error` or `timeout`."""
        self._reconciles.labels(outcome).observe(seconds)

    def reviewed(self, kind: str, result: str, seconds: float) -> None:
        """Count a review; its result is `allowed`, `warned`, `refused` or `failed`."""
        self._reviews.labels(kind, result).inc()
        self._review_seconds.observe(seconds)

    def console_answered(self, status: int) -> None:
        """Count a request to the console."""
        self._console_answers.labels(f"{status // 100}xx").inc()

    def console_streaming(self, number: int) -> None:
        """Set the number of pages that receive live updates."""
        self._console_streams.set(number)

    def requested(self, verb: str, kind: str, code: int) -> None:
        """Count a request to the API server."""
        self._requests.labels(verb, kind, str(code)).inc()

    def requests(self) -> Mapping[tuple[str, str, str], int]:
        """Return the number of requests by verb, kind and code; for tests."""
        return {
            (s.labels["verb"], s.labels["kind"], s.labels["code"]): int(s.value)
            for metric in self._requests.collect()
            for s in metric.samples
            if s.name.endswith("_total")
        }

    def kafka(self, *, up: bool) -> None:
        """Set whether the status topic can be read."""
        self._kafka.set(up)

    def compacted(self, *, is_so: bool) -> None:
        """Set whether the status topic is compacted; unknown counts as compacted."""
        self._compacted.set(is_so)

    def leading(self, is_held: Callable[[], bool]) -> None:
        """Set the function that returns whether this operator holds the Lease."""
        self._leading.set_function(lambda: float(is_held()))

    def queue(self, figures: Callable[[], QueueFigures]) -> None:
        """Set the function that returns the queue's figures."""
        self._queue = figures

    def rollout(self, figures: Callable[[], RolloutFigures]) -> None:
        """Set the function that returns the rollout's figures."""
        self._rollout = figures

    def collect(self) -> Iterable[Metric]:
        """Return the metrics that are computed at each scrape: those of queue and rollout."""
        yield from _queue(self._queue())
        yield from _rollout(self._rollout())

    def page(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry) + self._connectors.page()


class _Now(Collector):
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics.collect()


def _queue(figures: QueueFigures) -> Iterable[Metric]:
    keys = GaugeMetricFamily("penstock_operator_queue_keys", "Connectors in the work queue.", labels=["state"])
    for state in ("waiting", "delayed", "running"):
        keys.add_metric([state], getattr(figures, state))
    yield keys
    yield GaugeMetricFamily(
        "penstock_operator_queue_oldest_waiting_seconds",
        "Age of the oldest key that waits for a slot.",
        figures.oldest_waiting,
    )
    yield GaugeMetricFamily(
        "penstock_operator_queue_oldest_running_seconds",
        "Age of the oldest reconciliation in progress.",
        figures.oldest_running,
    )


def _rollout(figures: RolloutFigures) -> Iterable[Metric]:
    connectors = GaugeMetricFamily(
        "penstock_operator_rollout_connectors",
        "Connectors that a change of the release has not reached yet, or that did not become Ready with it.",
        labels=["state"],
    )
    for state in ("planning", "waiting", "restarting", "failed"):
        connectors.add_metric([state], getattr(figures, state))
    yield connectors
    yield GaugeMetricFamily(
        "penstock_operator_rollout_stopped",
        "1 if Connectors wait because too many did not become Ready with the change of the release.",
        float(figures.stopped),
    )
    yield GaugeMetricFamily(
        "penstock_operator_rollout_stopped_namespaces",
        "Namespaces in which the rollout has stopped, so that no Connector is restarted.",
        figures.stopped_namespaces,
    )
