"""Metrics of Java plugins for Prometheus: plugin metrics (KIP-877), and attributes of the beans that they register in JMX.

Metric names are Kafka Connect's: `record-age-ms` is `kafka_connect_plugins_record_age_ms`, with the tags as labels. Beans
have the names that Prometheus' JMX exporter gives them without rules. Beans of Debezium's connectors have the names that the
rules in Debezium's example produce, which its dashboards use.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from penstock.context import PluginContext
from penstock_runtime.java_plugins.hosts import running_host

__all__ = ["Sample", "metric_tags", "samples"]

_SECONDS: Final = 2.5
"""Seconds to wait for the JVM, which reads for at most 1.5 s."""
_FORBIDDEN: Final = re.compile(r"[^a-zA-Z0-9]+|_{2,}")
_OWN: Final = ("connector", "task")
_ALIASES: Final = {"transforms": "transformation", "predicates": "predicate"}


class Sample(NamedTuple):
    """Value of a plugin's metric.

    Attributes:
        name: name of the metric.
        doc: description of the metric.
        labels: labels, including `connector` and, except for metrics of the Connector object, `task`.
        value: current value.
    """

    name: str
    doc: str
    labels: Mapping[str, str]
    value: float


def metric_tags(context: PluginContext) -> dict[str, str]:
    """Return the tags that Kafka Connect gives the metrics of a plugin (KIP-877)."""
    tags = {"connector": context.connector, "task": str(context.task or 0)}
    kind, _, alias = context.place.partition(".")
    if kind in _ALIASES:
        return {**tags, _ALIASES[kind]: alias}
    return {**tags, "converter": kind} if alias == "converter" else tags


def samples(connector: str, task: int) -> Iterator[Sample]:
    """Yield the metrics of the Java plugins of this task; none if there is no JVM, or it does not answer in time."""
    host = running_host()
    answer = None if host is None else host.ask("metrics", _SECONDS)
    if answer is None:
        return
    of_plugins, of_beans = answer
    for name, doc, tags, value in of_plugins:
        labels = {_safe(tag): text for tag, text in tags.items()}
        yield Sample(f"kafka_connect_plugins_{_safe(name)}", doc or "Metric of a Java plugin.", labels, value)
    own = dict(zip(_OWN, (connector, str(task)), strict=True))
    for domain, attribute, properties, value in of_beans:
        name, labels = _of_bean(domain, attribute, properties)
        others = {_label(label, text, own): text for label, text in labels.items()}
        yield Sample(name, "Attribute of a JMX bean of a Java plugin.", {**others, **own}, value)


def _of_bean(domain: str, attribute: str, properties: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the metric name and the labels for a bean's attribute."""
    if domain.startswith("debezium.") and properties.get("type") == "connector-metrics":
        renamed = {"server": "name", "key": "table"}
        labels = {renamed.get(key, key): text for key, text in properties.items() if key != "type"}
        return f"debezium_metrics_{_safe(attribute)}", {**labels, "plugin": domain.removeprefix("debezium.")}
    first, *others = properties.items()
    return _safe(f"{domain}_{first[1]}_{attribute}"), dict(others)


def _label(label: str, text: str, own: Mapping[str, str]) -> str:
    """Return the name of a bean's label. If the target has the label with another value, rename it as Prometheus does."""
    safe = _safe(label)
    return f"exported_{safe}" if own.get(safe, text) != text else safe


def _safe(text: str) -> str:
    """Return a string as a Prometheus name, converted as in the JMX exporter."""
    safe = _FORBIDDEN.sub("_", text)
    return f"_{safe}" if safe[:1].isdigit() else safe
