"""Metrics of a task's plugins, for its endpoint (KIP-877)."""

from collections.abc import Callable, Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock_runtime.java_plugins.jvm_metrics import Sample, samples
from penstock_runtime.plugins.plugin_metrics import MetricsByPlace

__all__ = ["PluginCollector"]


class PluginCollector(Collector):
    """Collector that reads the current measurements of plugins at each scrape.

    Args:
        connector, task: task that has the plugins.
        plugins: measurements of Python plugins.
        java: yields measurements of Java plugins.
    """

    def __init__(
        self,
        connector: str,
        task: int,
        plugins: MetricsByPlace,
        java: Callable[[str, int], Iterable[Sample]] = samples,
    ) -> None:
        self._connector = connector
        self._task = task
        self._plugins = plugins
        self._java = java

    def collect(self) -> Iterable[Metric]:
        """Return all metrics. Java metrics have no type, unless a Python plugin has one of the same name."""
        shown: dict[str, Metric] = {}
        for name, doc, kind, values in self._plugins.families():
            family: CounterMetricFamily | GaugeMetricFamily
            family = (CounterMetricFamily if kind == "counter" else GaugeMetricFamily)(
                name, doc, labels=("connector", "task", "plugin")
            )
            for place, value in values:
                family.add_metric((self._connector, str(self._task), place), value)
            shown[f"{name}_total" if kind == "counter" else name] = family
        known = set()
        for sample in self._java(self._connector, self._task):
            row = (sample.name, frozenset(sample.labels.items()))
            if row not in known:  # names that differ in Java may be the same here
                known.add(row)
                found = shown.setdefault(sample.name, Metric(sample.name, sample.doc, "unknown"))
                found.add_sample(sample.name, dict(sample.labels), sample.value)
        return shown.values()
