"""The metrics of all plugins of a task: kept by place, told by workers, shown by the driver."""

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
    """What a worker tells of a metric.

    Attributes:
        place: that asks for the plugin (`connector`, `transforms.hoist`).
        kind: of the metric.
        name, doc: as the plugin gave them.
        value: a counter: what was added since the worker told last; a gauge: its present value.
    """

    place: str
    kind: Literal["counter", "gauge"]
    name: str
    doc: str
    value: float


class MetricsByPlace:
    """The metrics of the plugins of one process."""

    def __init__(self) -> None:
        self._places: dict[str, PluginMetrics] = {}
        self._told: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()
        self._refused: set[str] = set()

    def of(self, place: str) -> PluginMetrics:
        """The metrics of a place, always the same object."""
        with self._lock:
            return self._places.setdefault(place, PluginMetrics())

    def changes(self) -> list[Measure]:
        """In a worker: what has changed since the last call, for the driver."""
        measures = []
        for place, kind, metric in self:
            value, before = metric.value, self._told.get((place, metric.name))
            if value != (before or 0.0) or (before is None and kind == "counter"):
                self._told[place, metric.name] = value
                told = value - (before or 0.0) if kind == "counter" else value
                measures.append(Measure(place, kind, metric.name, metric.doc, told))
        return measures

    def add(self, measures: Sequence[Measure]) -> None:
        """In the driver: take over what a worker told."""
        for measure in measures:
            metrics = self.of(measure.place)
            try:
                if measure.kind == "counter":
                    metrics.counter(measure.name, measure.doc).add(measure.value)
                else:
                    metrics.gauge(measure.name, measure.doc).set(measure.value)
            except ValueError as e:  # the plugin makes one kind here, another there
                self._refuse(measure.name, str(e))

    def families(self) -> Iterator[tuple[str, str, Literal["counter", "gauge"], list[tuple[str, float]]]]:
        """All metrics for the endpoint: name, doc, kind, and the value of each place.

        A name that is a counter at one place and a gauge at another is shown as what it was first.
        """
        found: dict[str, tuple[str, Literal["counter", "gauge"], list[tuple[str, float]]]] = {}
        for place, kind, metric in self:
            _, first, values = found.setdefault(metric.name, (metric.doc, kind, []))
            if first == kind:
                values.append((place, metric.value))
            else:
                self._refuse(
                    metric.name, f"The metric {metric.name} of {place} is not shown: elsewhere it is a {first}"
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
