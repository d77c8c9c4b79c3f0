"""Connectors in the JSON formats of Kafka Connect's REST API: `ConnectorInfo`, `ConnectorStateInfo`, `TaskInfo`. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock_web.source import Document

__all__ = ["active_topics", "connector_info", "connector_status", "name_of", "task_infos", "task_status"]

_TASK_STATES: Final[Mapping[str, str]] = {
    "Running": "RUNNING",
    "Paused": "PAUSED",
    "Failed": "FAILED",
    "Restarting": "RESTARTING",
    "Stopping": "UNASSIGNED",
    "Stopped": "UNASSIGNED",
}
"""States of tasks; all others are UNASSIGNED."""


def name_of(connector: Document) -> str:
    """Return the name of a connector in this API: the name of its resource."""
    return str(connector["metadata"]["name"])


def connector_info(connector: Document, config: Mapping[str, str]) -> dict[str, Any]:
    """Return `ConnectorInfo`.

    Args:
        connector: the resource.
        config: its `spec.config` without secrets.
    """
    name, status = name_of(connector), _status(connector)
    return {
        "name": name,
        "config": _whole_config(connector, config),
        "tasks": [{"connector": name, "task": task["id"]} for task in _tasks(connector)],
        "type": _type(status),
    }


def task_infos(connector: Document, config: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return `TaskInfo` of each task, with the connector's configuration: further properties of a task are not public."""
    name, whole = name_of(connector), _whole_config(connector, config)
    return [{"id": {"connector": name, "task": task["id"]}, "config": whole} for task in _tasks(connector)]


def connector_status(connector: Document) -> dict[str, Any]:
    """Return `ConnectorStateInfo`."""
    status = _status(connector)
    plugin = status.get("connector") or {}
    state, trace = _connector_state(connector)
    own: dict[str, Any] = {"state": state, "worker_id": _worker_id(connector)}
    own["version"] = plugin.get("version")
    if trace is not None:
        own["trace"] = trace
    tasks = [task_status(connector, task) for task in _tasks(connector)]
    return {"name": name_of(connector), "connector": own, "tasks": tasks, "type": _type(status)}


def task_status(connector: Document, task: Mapping[str, Any]) -> dict[str, Any]:
    """Return `TaskState` of a task of `status.tasks`."""
    state = _TASK_STATES.get(str(task.get("state")), "UNASSIGNED")
    pod = task.get("pod")
    found: dict[str, Any] = {
        "id": task["id"],
        "state": state,
        "worker_id": f"{pod}.{connector['metadata']['namespace']}" if pod else _worker_id(connector),
        "version": (task.get("versions") or {}).get("connector"),
    }
    if state == "FAILED":
        found["trace"] = task.get("trace") or task.get("message") or ""
    return found


def active_topics(connector: Document) -> list[str]:
    """Return the active topics (KIP-558) that the status lists."""
    return [str(topic["name"]) for topic in _status(connector).get("activeTopics") or ()]


def _connector_state(connector: Document) -> tuple[str, str | None]:
    """Return the state of the connector apart from its tasks, and the trace of a failed one."""
    spec, status = connector.get("spec") or {}, _status(connector)
    wanted = spec.get("state", "Running")
    if wanted == "Stopped":
        return "STOPPED", None
    conditions = {c.get("type"): c for c in status.get("conditions") or ()}
    invalid = conditions.get("ConfigValid") or {}
    if invalid.get("status") == "False" and not _tasks(connector):
        return "FAILED", f"{invalid.get('reason', '')}: {invalid.get('message', '')}"
    if not _tasks(connector):
        return "UNASSIGNED", None
    return ("PAUSED" if wanted == "Paused" else "RUNNING"), None


def _whole_config(connector: Document, config: Mapping[str, str]) -> dict[str, str]:
    spec = connector.get("spec") or {}
    version = {"connector.plugin.version": str(spec["version"])} if spec.get("version") is not None else {}
    return {
        "connector.class": str(spec.get("class", "")),
        **version,
        **config,
        "tasks.max": str(spec.get("tasksMax", 1)),
        "name": name_of(connector),
    }


def _type(status: Mapping[str, Any]) -> str:
    return str((status.get("connector") or {}).get("type") or "unknown")


def _worker_id(connector: Document) -> str:
    return f"penstock.{connector['metadata']['namespace']}"


def _status(connector: Document) -> Mapping[str, Any]:
    return connector.get("status") or {}


def _tasks(connector: Document) -> Sequence[Mapping[str, Any]]:
    tasks = _status(connector).get("tasks") or ()
    stopped = (connector.get("spec") or {}).get("state") == "Stopped"
    return [t for t in tasks if not (stopped and t.get("state") == "Stopped")]
