"""What Prometheus reads of the operator: how it works, and the connectors that there are now."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock_operator.key import Key

__all__ = ["STATES", "ConnectorFigures", "Metrics", "QueueFigures"]

STATES: Final = ("Unassigned", "Running", "Paused", "Stopped", "Failed")
"""Those that every connector and every task has a row for, also where it is 0."""
_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)


@dataclass(frozen=True)
class ConnectorFigures:
    """What is shown of a connector.

    Attributes:
        class_name, type, version: of its plugin; type is `source`, `sink` or empty.
        state: in a word; one of `STATES`, or one of its own, which then has a row too.
        tasks: how many are in each state.
        restarts: of its tasks, since the connector was made.
        ready: condition Ready.
    """

    class_name: str = ""
    type: str = ""
    version: str = ""
    state: str = ""
    tasks: Mapping[str, int] = field(default_factory=dict)
    restarts: int = 0
    ready: bool = False


@dataclass(frozen=True)
class QueueFigures:
    """Of the work queue, as it is asked.

    Attributes:
        waiting: keys that are due and wait for a slot.
        delayed: keys that will be due later.
        running: keys that are worked on.
        oldest_waiting: seconds since the key that waits longest was due.
        oldest_running: seconds since the run that takes longest began.
    """

    waiting: int = 0
    delayed: int = 0
    running: int = 0
    oldest_waiting: float = 0.0
    oldest_running: float = 0.0


class Metrics:
    """All of it, in a registry of its own. Usable by many threads."""

    def __init__(self, *, version: str = "", release: str = "") -> None:
        self.registry = CollectorRegistry()
        self._reconciles = Histogram(
            "penstock_operator_reconcile_seconds", "How long reconciliations took.",
            ["outcome"], buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        for outcome in ("done", "error", "timeout"):
            self._reconciles.labels(outcome)
        self._requests = Counter(
            "penstock_operator_api_requests", "Requests to the API server; code 0: no answer.",
            ["verb", "kind", "code"], registry=self.registry,
        )  # fmt: skip
        self._kafka = Gauge("penstock_operator_kafka_up", "1: the status topic can be read.", registry=self.registry)
        self._leading = Gauge(
            "penstock_operator_leading", "1: this operator holds the Lease of its release.", registry=self.registry
        )
        Gauge("penstock_operator_build_info", "1", ["version", "release"], registry=self.registry).labels(
            version, release
        ).set(1)
        self._queue: Callable[[], QueueFigures] = QueueFigures
        self._connectors: dict[Key, ConnectorFigures] = {}
        self.registry.register(_Now(self))

    def connector(self, key: Key, figures: ConnectorFigures) -> None:
        """Show a connector so from now on, in the place of what was shown."""
        self._connectors[key] = figures

    def forget(self, key: Key) -> None:
        """The connector is gone."""
        self._connectors.pop(key, None)

    def reconciled(self, outcome: str, seconds: float) -> None:
        """A run has ended: done, error or timeout."""
        self._reconciles.labels(outcome).observe(seconds)

    def requested(self, verb: str, kind: str, code: int) -> None:
        """A request to the API server was answered."""
        self._requests.labels(verb, kind, str(code)).inc()

    def requests(self) -> Mapping[tuple[str, str, str], int]:
        """The requests so far, by verb, kind and code: what tests compare."""
        return {
            (s.labels["verb"], s.labels["kind"], s.labels["code"]): int(s.value)
            for metric in self._requests.collect()
            for s in metric.samples
            if s.name.endswith("_total")
        }

    def kafka(self, *, up: bool) -> None:
        """Whether the status topic can be read."""
        self._kafka.set(up)

    def leading(self, *, is_leading: bool) -> None:
        """Whether this operator holds the Lease."""
        self._leading.set(is_leading)

    def queue(self, figures: Callable[[], QueueFigures]) -> None:
        """Ask for the queue's figures here."""
        self._queue = figures

    def collect(self) -> Iterable[Metric]:
        """What is as it is now: the queue, the connectors."""
        yield from _queue(self._queue())
        yield from _connectors(dict(self._connectors))


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
        "penstock_operator_queue_oldest_waiting_seconds", "Age of the oldest key that waits for a slot.",
        figures.oldest_waiting,
    )  # fmt: skip
    yield GaugeMetricFamily(
        "penstock_operator_queue_oldest_running_seconds", "Age of the oldest reconciliation under way.",
        figures.oldest_running,
    )  # fmt: skip


def _connectors(shown: Mapping[Key, ConnectorFigures]) -> Iterable[Metric]:
    names = ["namespace", "name"]
    info = GaugeMetricFamily(
        "penstock_connector_info", "A connector and its plugin.", labels=[*names, "class", "type", "version"]
    )
    state = GaugeMetricFamily("penstock_connector_state", "1: it is in this state.", labels=[*names, "state"])
    tasks = GaugeMetricFamily("penstock_connector_tasks", "Its tasks by state.", labels=[*names, "state"])
    ready = GaugeMetricFamily("penstock_connector_ready", "1: condition Ready is True.", labels=names)
    restarts = CounterMetricFamily("penstock_connector_restarts", "Restarts of its tasks.", labels=names)
    for key, f in shown.items():
        info.add_metric([*key, f.class_name, f.type, f.version], 1)
        for word in dict.fromkeys((*STATES, *([f.state] if f.state else []))):
            state.add_metric([*key, word], float(word == f.state))
        for word in dict.fromkeys((*STATES, *f.tasks)):
            tasks.add_metric([*key, word], f.tasks.get(word, 0))
        ready.add_metric(list(key), float(f.ready))
        restarts.add_metric(list(key), f.restarts)
    return (info, state, tasks, ready, restarts)
