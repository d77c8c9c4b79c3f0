"""Metrics of all plugins of a task: stored by place, sent by workers, exposed by the driver."""

import logging
import threading
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from penstock.metrics import Counter, PluginMetrics

__all__ = ["Measure", "MetricsByPlace"]

log = logging.getLogger(__name__)
_PREFIX: Final = "kafka_connect_plugins_"


class Measure(msgspec.Struct, frozen=True):
    """Change of a metric, sent by a worker.

    Attributes:
        place: place of the plugin (`connector`, `transforms.hoist`).
        kind: kind of the metric.
        name, doc: name and description from the plugin.
        value: for a counter, the increase since the worker's last report; for a gauge, its current value.
    """

    place: str
    kind: Literal["counter", "gauge"]
    name: str
    doc: str
    value: float


class MetricsByPlace:
    """Metrics of the plugins of one process, by place."""

    def __init__(self) -> None:
        self._places: dict[str, PluginMetrics] = {}
        self._reported: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()
        self._refused: set[str] = set()

    def of(self, place: str) -> PluginMetrics:
        """Return the metrics of a place, always the same object."""
        with self._lock:
            return self._places.setdefault(place, PluginMetrics())

    def changes(self) -> list[Measure]:
        """Return the changes since the last call. A worker calls this to send them to the driver."""
        measures = []
        for place, kind, metric in self:
            value, before = metric.value, self._reported.get((place, metric.name))
            if value != (before or 0.0) or (before is None and kind == "counter"):
                self._reported[place, metric.name] = value
                amount = value - (before or 0.0) if kind == "counter" else value
                measures.append(Measure(place, kind, metric.name, metric.doc, amount))
        return measures

    def add(self, measures: Sequence[Measure]) -> None:
        """Apply the changes that a worker has sent. Called in the driver."""
        for measure in measures:
            metrics = self.of(measure.place)
            try:
                if measure.kind == "counter":
                    metrics.counter(measure.name, measure.doc).add(measure.value)
                else:
                    metrics.gauge(measure.name, measure.doc).set(measure.value)
            except ValueError as e:  # the plugin uses the name for different kinds in different places
                self._refuse(measure.name, str(e))

    def families(self) -> Iterator[tuple[str, str, Literal["counter", "gauge"], list[tuple[str, float]]]]:
        """Yield all metrics for the endpoint: name, doc, kind, and the value of each place.

        A name that is a counter in one place and a gauge in another is exposed as the kind found first.
        """
        found: dict[str, tuple[str, Literal["counter", "gauge"], list[tuple[str, float]]]] = {}
        for place, kind, metric in self:
            _, first, values = found.setdefault(metric.name, (metric.doc, kind, []))
            if first == kind:
                values.append((place, metric.value))
            else:
                self._refuse(
                    metric.name,
                    f"The metric {metric.name} of {place} is not exposed: the name is already used for a {first}",
                )
        for name, (doc, kind, values) in found.items():
            yield f"{_PREFIX}{name}", doc, kind, values

    def __iter__(self) -> Iterator[tuple[str, Literal["counter", "gauge"], "Counter"]]:
        with self._lock:
            places = list(self._places.items())
        for place, metrics in places:
            for metric in metrics:
                yield place, "counter" if isinstance(metric, Counter) else "gauge", metric  # type: ignore[misc]

    def _refuse(self, name: str, text: str) -> None:
        if name not in self._refused:
            self._refused.add(name)
            log.warning("%s", text)
