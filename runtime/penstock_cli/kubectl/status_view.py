"""Tables of `kubectl penstock status` and `versions`. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from penstock_cli.kubectl.task_figures import Figures, Pod
from penstock_cli.text_table import printable, text_table

__all__ = ["Measured", "connector_list", "connector_view", "pods_of", "versions_view"]

Measured = Mapping[Pod, tuple[Figures | None, Figures]]
"""Previous and latest figures of task pods."""
_NONE: Final = "-"
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"))


def pods_of(connectors: Sequence[Mapping[str, Any]]) -> list[Pod]:
    """Return the pods of the running and paused tasks."""
    return [
        Pod(connector["metadata"]["namespace"], task["pod"])
        for connector in connectors
        for task in _tasks(connector)
        if task.get("state") in ("Running", "Paused") and task.get("pod")
    ]


def connector_list(
    connectors: Sequence[Mapping[str, Any]], measured: Measured, now: float, *, with_namespace: bool
) -> str:
    """Return a line for each Connector."""
    head = ["NAME", "CLASS", "STATE", "TASKS", "READY", "RECORDS/S", "LAG", "LAST RECORD", "VERSION", "REASON"]
    rows = [["NAMESPACE", *head] if with_namespace else head]
    for connector in connectors:
        status, ready = _status(connector), _condition(connector, "Ready")
        pods = pods_of([connector])
        row = [
            connector["metadata"]["name"],
            connector["spec"].get("class", "").rpartition(".")[2],
            status.get("state", "Pending"),
            status.get("taskSummary", _NONE),
            ready.get("status", "Unknown"),
            _rate([measured[p] for p in pods if p in measured]),
            _lag([measured[p][1] for p in pods if p in measured]),
            _last_record(status, [measured[p][1] for p in pods if p in measured], now),
            (status.get("connector") or {}).get("version") or _NONE,
            ready.get("reason", _NONE),
        ]
        rows.append([connector["metadata"]["namespace"], *row] if with_namespace else row)
    return text_table(rows)


def connector_view(connector: Mapping[str, Any], measured: Measured, now: float) -> str:
    """Return the state, tasks, conditions and topics of one Connector."""
    own, spec, status = connector["metadata"], connector["spec"], _status(connector)
    plugin = status.get("connector") or {}
    title = f"{own['namespace']}/{own['name']}: {status.get('state', 'Pending')}"
    if (wanted := spec.get("state", "Running")) != status.get("state"):
        title += f" (spec.state: {wanted})"
    lines = [title, f"{plugin.get('class') or spec.get('class')} {plugin.get('version', '')}".rstrip()]
    if found := status.get("pluginVersions"):
        lines.append(f"PluginVersions: {', '.join(found)}")
    if newer := status.get("newerPluginVersions"):
        lines.append(f"Newer PluginVersions, used after a restart: {', '.join(newer)}")
    if chosen := status.get("autoscaling"):
        lines.append(_autoscaling(chosen, spec.get("autoscaling") or {}, now))
    parts = [printable("\n".join(lines)) + "\n"]
    if tasks := _tasks(connector):
        parts.append(_task_table(own["namespace"], tasks, measured, now))
    if conditions := status.get("conditions"):
        parts.append(_condition_table(conditions, now))
    if topics := status.get("activeTopics"):
        names = printable(", ".join(t["name"] for t in topics))
        more = status.get("activeTopicCount", 0) - len(topics)
        parts.append(f"Topics: {names}{f' and {more} more' if more > 0 else ''}\n")
    return "\n".join(parts)


def _autoscaling(chosen: Mapping[str, Any], terms: Mapping[str, Any], now: float) -> str:
    """Return the number of tasks that autoscaling has chosen, and why, as a line. The condition Autoscaling has more."""
    last = f"; {_age(chosen['lastScaleTime'], now)}: {chosen.get('message', '')}" if "lastScaleTime" in chosen else ""
    return f"Autoscaling: {chosen['tasks']} tasks of {terms.get('min', 1)} to {terms.get('max', _NONE)}{last}"


def versions_view(connector: Mapping[str, Any]) -> str:
    """Return the version of each plugin of each task (KIP-891), a row for each plugin and version."""
    found: dict[tuple[str, str], list[int]] = {}
    for task in _tasks(connector):
        for place, version in _places(task.get("versions") or {}):
            found.setdefault((place, version), []).append(task["id"])
    rows = [("PLUGIN", "VERSION", "TASKS")]
    places = list(dict.fromkeys(place for place, _ in found))
    ordered = sorted(found.items(), key=lambda item: places.index(item[0][0]))  # versions of a plugin together
    rows += [(place, version, ",".join(map(str, tasks))) for (place, version), tasks in ordered]
    return text_table(rows)


def _places(versions: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = {
        "keyConverter": "key.converter",
        "valueConverter": "value.converter",
        "headerConverter": "header.converter",
    }
    for place, version in versions.items():
        if isinstance(version, Mapping):
            yield from ((f"{place}.{alias}", str(v)) for alias, v in version.items())
        elif version:
            yield names.get(place, place), str(version)


def _task_table(namespace: str, tasks: Sequence[Mapping[str, Any]], measured: Measured, now: float) -> str:
    has_executors = any(t.get("executors") for t in tasks)
    more = ["EXECUTORS"] if has_executors else []
    rows = [["TASK", "STATE", "RECORDS/S", "LAG", "LAST RECORD", "RESTARTS", *more, "POD", "VERSION", "REASON"]]
    for task in tasks:
        pod = Pod(namespace, task.get("pod", ""))
        seen = [measured[pod]] if pod in measured else []
        rows.append(
            [
                str(task["id"]),
                task.get("state", "Pending"),
                _rate(seen),
                _lag([latest for _, latest in seen]),
                _last_record(task, [latest for _, latest in seen], now),
                str(task.get("restarts", 0)),
                *([_executors(task)] if has_executors else []),
                task.get("pod") or _NONE,
                (task.get("versions") or {}).get("connector") or _NONE,
                task.get("reason") or _NONE,
            ]
        )
    messages = (f"task {t['id']}: {printable(t['message'])}\n" for t in tasks if t.get("message"))
    return text_table(rows) + "".join(messages)


def _executors(task: Mapping[str, Any]) -> str:
    """Return how many executors are ready, of those that the task wants; the condition ExecutorsReady has the reason."""
    executors = task.get("executors") or {}
    return f"{executors.get('ready', 0)}/{executors['wanted']}" if executors.get("wanted") else _NONE


def _condition_table(conditions: Sequence[Mapping[str, Any]], now: float) -> str:
    rows = [["CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"]]
    for c in conditions:
        since = _age(c.get("lastTransitionTime"), now).removesuffix(" ago")
        message = " ".join(c.get("message", "").split())
        rows.append([c["type"], c["status"], since, c.get("reason", ""), message])
    return text_table(rows)


def _tasks(connector: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(_status(connector).get("tasks") or ())


def _status(connector: Mapping[str, Any]) -> Mapping[str, Any]:
    return connector.get("status") or {}


def _condition(connector: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    return next((c for c in _status(connector).get("conditions") or () if c["type"] == kind), {})


def _rate(seen: Sequence[tuple[Figures | None, Figures]]) -> str:
    rates = [rate for before, latest in seen if (rate := latest.rate_since(before)) is not None]
    return f"{sum(rates):,.0f}" if rates else _NONE


def _lag(figures: Sequence[Figures]) -> str:
    known = [f for f in figures if f.lag is not None]
    if not known:
        return _NONE
    unit = known[0].unit
    lags = [f.lag for f in known if f.lag is not None and f.unit == unit]
    return f"{max(lags) if unit == ' s' else sum(lags):,.0f}{unit}"


def _last_record(status: Mapping[str, Any], figures: Sequence[Figures], now: float) -> str:
    """Return how long ago the last record was delivered, also by the metrics: the status is up to two minutes old."""
    known = [f.last_record for f in figures if f.last_record is not None]
    if written := status.get("lastRecordTime"):
        known.append(_seconds(written))
    return _ago(max(known), now) if known else _NONE


def _age(time: str | None, now: float) -> str:
    return _ago(_seconds(time), now) if time else _NONE


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).astimezone(UTC).timestamp()


def _ago(time: float, now: float) -> str:
    seconds = max(0, int(now - time))
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size}{unit} ago"
    return f"{seconds}s ago"
