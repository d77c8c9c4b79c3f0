"""Metrics of the connectors. The rows of a connector are rendered when it changes, and a scrape only joins them.

Rendering all rows at each scrape would delay everything else, the longer the more connectors there are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock_operator.key import Key

__all__ = ["STATES", "ConnectorFigures", "ConnectorRows"]

STATES: Final = ("Unassigned", "Running", "Paused", "Stopped", "Failed")
"""States with a row for every connector and task, even if its value is 0."""


@dataclass(frozen=True)
class ConnectorFigures:
    """Figures of a connector.

    Attributes:
        class_name, type, version: class, type and version of its plugin; the type is `source`, `sink` or empty.
        connector: its Connect name, as in the metrics of its tasks.
        state: one of `STATES`, or another state, for which there is then also a row.
        tasks: number of tasks by state.
        restarts: restarts of its tasks since the connector was created.
        ready: whether condition Ready is True; False if the operator cannot determine it.
        reason: reason of condition Ready, or why the operator cannot determine it.
        executors: number of executors that its tasks want, and number that are ready; None: its spec has none.
        active_topics: number of active topics (KIP-558); None: they are not tracked.
        desired_tasks: number of tasks that autoscaling has chosen; None: there is no autoscaling.
    """

    class_name: str = ""
    type: str = ""
    version: str = ""
    connector: str = ""
    state: str = ""
    tasks: Mapping[str, int] = field(default_factory=dict)
    restarts: int = 0
    ready: bool = False
    reason: str = ""
    active_topics: int | None = None
    executors: tuple[int, int] | None = None
    desired_tasks: int | None = None


class ConnectorRows:
    """Rows of all connectors. Thread-safe."""

    def __init__(self) -> None:
        self._shown: dict[Key, tuple[ConnectorFigures, list[bytes]]] = {}
        self._heads = [block.head for block in _blocks(_families({}))]

    def put(self, key: Key, figures: ConnectorFigures) -> None:
        """Set the figures of a connector."""
        shown = self._shown.get(key)
        if shown is None or shown[0] != figures:
            self._shown[key] = figures, [block.rows for block in _blocks(_families({key: figures}))]

    def not_ready(self, key: Key, reason: str) -> None:
        """Set a known connector to not ready."""
        if (shown := self._shown.get(key)) is not None:
            self.put(key, replace(shown[0], ready=False, reason=reason))

    def drop(self, key: Key) -> None:
        """Remove a connector."""
        self._shown.pop(key, None)

    def page(self) -> bytes:
        """Return all rows, grouped by metric."""
        shown = [rows for _, rows in self._shown.copy().values()]
        return b"".join(part for n, head in enumerate(self._heads) for part in (head, *(rows[n] for rows in shown)))


@dataclass(frozen=True)
class _Block:
    head: bytes
    rows: bytes


class _Given(Collector):
    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return [self._family]


def _blocks(families: Iterable[Metric]) -> list[_Block]:
    """Return one block for each metric: its comment lines, and its rows."""
    found = []
    for family in families:
        # Split at \n only: a label may contain other characters that `splitlines` treats as line ends.
        lines = [line + b"\n" for line in generate_latest(_Given(family)).split(b"\n")[:-1]]
        heads = [line for line in lines if line.startswith(b"# ")]
        found.append(_Block(b"".join(heads), b"".join(lines[len(heads) :])))
    return found


def _families(shown: Mapping[Key, ConnectorFigures]) -> Iterable[Metric]:
    names = ["namespace", "name", "connector"]
    info = GaugeMetricFamily(
        "penstock_connector_info", "The connector and its plugin.", labels=[*names, "class", "type", "version"]
    )
    state = GaugeMetricFamily(
        "penstock_connector_state", "1 if the connector is in this state.", labels=[*names, "state"]
    )
    tasks = GaugeMetricFamily("penstock_connector_tasks", "The connector's tasks by state.", labels=[*names, "state"])
    ready = GaugeMetricFamily(
        "penstock_connector_ready",
        "1 if condition Ready is True; 0 also while the Connector cannot be read.",
        labels=[*names, "reason"],
    )
    restarts = CounterMetricFamily("penstock_connector_restarts", "Restarts of the connector's tasks.", labels=names)
    topics = GaugeMetricFamily(
        "penstock_connector_active_topics",
        "Active topics since the connector's creation or the last reset; absent if they are not tracked.",
        labels=names,
    )
    executors = GaugeMetricFamily(
        "penstock_connector_executors",
        "Executors that the tasks want now, and those that are connected; absent without spec.spark.executors.",
        labels=[*names, "state"],
    )
    desired = GaugeMetricFamily(
        "penstock_connector_desired_tasks",
        "Number of tasks that autoscaling has chosen; absent without spec.autoscaling.",
        labels=names,
    )
    for key, f in shown.items():
        values = [*key, f.connector]
        info.add_metric([*values, f.class_name, f.type, f.version], 1)
        for word in dict.fromkeys((*STATES, *([f.state] if f.state else []))):
            state.add_metric([*values, word], float(word == f.state))
        for word in dict.fromkeys((*STATES, *f.tasks)):
            tasks.add_metric([*values, word], f.tasks.get(word, 0))
        ready.add_metric([*values, f.reason], float(f.ready))
        restarts.add_metric(values, f.restarts)
        if f.active_topics is not None:
            topics.add_metric(values, f.active_topics)
        for word, number in zip(("wanted", "ready"), f.executors or (), strict=False):
            executors.add_metric([*values, word], number)
        if f.desired_tasks is not None:
            desired.add_metric(values, f.desired_tasks)
    return (info, state, tasks, ready, restarts, topics, executors, desired)
