"""Page of one Connector, with everything in its status. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from penstock_web.console.health import STARTING, Health, Tone, health_of
from penstock_web.console.measurements import figures_of, series_of
from penstock_web.console.numbers_text import compact, rate_text
from penstock_web.console.plot import Plot, plot_of
from penstock_web.console.task_rows import TaskRow, Version, task_rows, versions_of
from penstock_web.source import Measurement

__all__ = ["Action", "ConditionRow", "ConnectorView", "connector_view"]

_GOOD_WHEN_FALSE: Final = frozenset({"Reconciling", "Stalled", "Lagging", "UpdatePending"})
_SERIOUS: Final = frozenset({"Stalled", "Ready", "ConfigValid"})
_FIRST: Final = ("Ready", "Stalled", "Reconciling", "ConfigValid")


class ConditionRow(NamedTuple):
    """Condition. Problems are shown first."""

    type: str
    status: str
    tone: Tone
    reason: str
    message: str
    since: str


class Action(NamedTuple):
    """Finished or pending action that an annotation requested."""

    action: str
    result: str
    tone: Tone
    message: str
    at: str
    token: str


class Topic(NamedTuple):
    """Active topic (KIP-558)."""

    name: str
    task: str
    since: str


class ConnectorView(NamedTuple):
    """Content of the page of a Connector."""

    namespace: str
    name: str
    connect_name: str
    class_name: str
    kind: str
    version: str
    asked_version: str
    health: Health
    wanted: str
    tasks_max: int
    task_summary: str
    rate: str
    lag: str
    last_record: str
    created: str
    rates: Plot | None
    lags: Plot | None
    tasks: Sequence[TaskRow]
    more_tasks: int
    versions: Sequence[Version]
    conditions: Sequence[ConditionRow]
    topics: Sequence[Topic]
    topic_count: int
    actions: Sequence[Action]
    plugin_versions: Sequence[str]
    newer: Sequence[str]
    policy: str
    deleting: bool


def connector_view(connector: Mapping[str, Any], history: Sequence[Measurement], step: float) -> ConnectorView:
    """Return the content of the page of a Connector.

    Args:
        connector: the resource.
        history: figures of its tasks.
        step: seconds between the points of its plots.
    """
    own, spec, status = connector["metadata"], connector.get("spec") or {}, connector.get("status") or {}
    plugin = status.get("connector") or {}
    figures, series = figures_of(history), series_of(history, step)
    tasks: Sequence[Mapping[str, Any]] = status.get("tasks") or ()
    rows = task_rows(status, history)
    topics: Sequence[Mapping[str, Any]] = status.get("activeTopics") or ()
    namespace, name = str(own.get("namespace") or ""), str(own.get("name") or "")
    connect_name = str(spec.get("connectName") or "")
    return ConnectorView(
        namespace=namespace,
        name=name,
        connect_name=connect_name,
        class_name=str(plugin.get("class") or spec.get("class") or ""),
        kind=str(plugin.get("type") or ""),
        version=str(plugin.get("version") or ""),
        asked_version=str(spec.get("version") or ""),
        health=health_of(connector),
        wanted=str(spec.get("state") or "Running"),
        tasks_max=int(spec.get("tasksMax") or 1),
        task_summary=str(status.get("taskSummary") or ""),
        rate="" if figures.records_per_second is None else rate_text(figures.records_per_second),
        lag="" if figures.lag is None else compact(figures.lag),
        last_record=str(status.get("lastRecordTime") or ""),
        created=str(own.get("creationTimestamp") or ""),
        rates=plot_of(series.rates, "Records per second", is_rate=True),
        lags=plot_of(series.lags, "Lag", is_rate=False),
        tasks=rows,
        more_tasks=len(tasks) - len(rows),
        versions=versions_of(status),
        conditions=_conditions(status),
        topics=[Topic(str(t["name"]), str(t.get("task", "")), str(t.get("since") or "")) for t in topics],
        topic_count=max(int(status.get("activeTopicCount") or 0), len(topics)),
        actions=_actions(status),
        plugin_versions=[str(v) for v in status.get("pluginVersions") or ()],
        newer=[str(v) for v in status.get("newerPluginVersions") or ()],
        policy=str((spec.get("topicCreationPolicyRef") or {}).get("name") or ""),
        deleting="deletionTimestamp" in own,
    )


def _conditions(status: Mapping[str, Any]) -> list[ConditionRow]:
    rows = [
        ConditionRow(
            type=str(c.get("type") or ""),
            status=str(c.get("status") or ""),
            tone=_tone(c),
            reason=str(c.get("reason") or ""),
            message=str(c.get("message") or ""),
            since=str(c.get("lastTransitionTime") or ""),
        )
        for c in status.get("conditions") or ()
    ]
    order = {kind: n for n, kind in enumerate(_FIRST)}
    return sorted(rows, key=lambda row: (list(Tone).index(row.tone), order.get(row.type, len(order)), row.type))


def _tone(condition: Mapping[str, Any]) -> Tone:
    kind, status = condition.get("type"), condition.get("status")
    if status == "Unknown":
        return Tone.WARN
    if (status == "True") != (kind in _GOOD_WHEN_FALSE):
        return Tone.GOOD
    if kind == "Reconciling" or condition.get("reason") in STARTING:
        return Tone.BUSY
    return Tone.BAD if kind in _SERIOUS else Tone.WARN


def _actions(status: Mapping[str, Any]) -> list[Action]:
    tones = {"Succeeded": Tone.GOOD, "Refused": Tone.BAD, "Failed": Tone.BAD}
    found = [
        Action(
            action=f"{a.get('action', '')}{_numbers(a)}",
            result=str(a.get("result") or "Pending"),
            tone=tones.get(str(a.get("result")), Tone.BUSY),
            message=str(a.get("message") or ""),
            at=str(a.get("at") or ""),
            token=str(a.get("token") or "").split(" ")[0],
        )
        for a in (*(status.get("restartActions") or ()), *(status.get("offsetsActions") or ()))
    ]
    return sorted(found, key=lambda a: (a.result == "Pending", a.at), reverse=True)


def _numbers(action: Mapping[str, Any]) -> str:
    tasks = action.get("tasks") or ()
    return f" {', '.join(map(str, tasks))}" if action.get("action") == "restart-tasks" else ""
