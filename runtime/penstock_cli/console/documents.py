"""Connector documents, as the operator would write them, from the tasks of `penstock run`. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from penstock_model.contracts.task_spec import PluginReference

__all__ = ["TaskFacts", "state_of", "status_of", "versions_of"]

_STATES: Final = {
    "STARTING": "Pending",
    "RUNNING": "Running",
    "PAUSED": "Paused",
    "STOPPED": "Stopped",
    "FAILED": "Failed",
    "LOST": "Failed",
    "SUPERSEDED": "Stopped",
}
_CONVERTERS: Final = {
    "key.converter": "keyConverter",
    "value.converter": "valueConverter",
    "header.converter": "headerConverter",
}


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """State of one task.

    Attributes:
        number: task number.
        state: state in the view of `penstock run`.
        problem: current problem; empty: none.
        restarts: number of restarts.
        since: start of this state, in seconds since 1970.
        last_record: time at which it was last seen to deliver records; None: never.
        retry_at: time of the next restart; None: no restart is due.
        topics: topics that it has used.
        plugins: plugins by role, such as `key.converter` or `transforms.<alias>`.
    """

    number: int
    state: str
    problem: str = ""
    restarts: int = 0
    since: float = 0.0
    last_record: float | None = None
    retry_at: float | None = None
    topics: tuple[str, ...] = ()
    plugins: Mapping[str, PluginReference] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the state of the task, as shown in the status of a Connector."""
        if self.retry_at is not None and self.state != "STOPPED":
            return "Restarting"
        return _STATES.get(self.state, "Pending")


def status_of(class_name: str, kind: str, wanted: str, tasks: Sequence[TaskFacts]) -> dict[str, Any]:
    """Return the status of a Connector.

    Args:
        class_name: its class.
        kind: `source` or `sink`.
        wanted: its `spec.state`.
        tasks: its tasks.
    """
    state = state_of(wanted, tasks)
    running = sum(task.name == "Running" for task in tasks)
    records = [task.last_record for task in tasks if task.last_record is not None]
    topics = {name: task.number for task in reversed(tasks) for name in task.topics}
    versions = versions_of(tasks[0].plugins) if tasks else {}
    return {
        "state": state,
        "connector": {"class": class_name, "type": kind, "version": versions.get("connector", "")},
        "conditions": [_ready(state, wanted, tasks)],
        "tasks": [_task(task) for task in tasks],
        "taskSummary": f"{running}/{len(tasks)}",
        **({"lastRecordTime": _time(max(records))} if records else {}),
        "activeTopics": [{"name": name, "task": topics[name]} for name in sorted(topics)],
        "activeTopicCount": len(topics),
    }


def state_of(wanted: str, tasks: Sequence[TaskFacts]) -> str:
    """Return the state of a Connector with these tasks."""
    states = Counter(task.name for task in tasks)
    if not tasks or states["Stopped"] == len(tasks):
        return "Stopped"
    if states["Failed"] == len(tasks):
        return "Failed"
    if states["Failed"] or states["Restarting"]:
        return "Degraded"
    if states["Paused"] == len(tasks):
        return "Paused"
    return "Running" if states["Running"] == len(tasks) else "Pending"


def versions_of(plugins: Mapping[str, PluginReference]) -> dict[str, Any]:
    """Return the versions of plugins, in the form of `status.tasks[].versions`."""
    found: dict[str, Any] = {}
    for place, plugin in plugins.items():
        group, _, alias = place.partition(".")
        if group in ("transforms", "predicates"):
            found.setdefault(group, {})[alias] = plugin.version
        else:
            found[_CONVERTERS.get(place, place)] = plugin.version
    return found


def _ready(state: str, wanted: str, tasks: Sequence[TaskFacts]) -> dict[str, str]:
    problems = [f"task {task.number}: {task.problem}" for task in tasks if task.problem]
    is_ready = state == wanted and not problems
    reason = (
        state
        if is_ready
        else "TasksFailed"
        if state in ("Failed", "Degraded")
        else "Hindered"
        if problems
        else "Starting"
    )
    message = "\n".join(problems) or ("all tasks run" if state == "Running" else f"the tasks are {state.lower()}")
    since = max((task.since for task in tasks), default=0.0)
    found = {"type": "Ready", "status": str(is_ready), "reason": state if is_ready else reason, "message": message}
    return {**found, "lastTransitionTime": _time(since)} if since else found


def _task(task: TaskFacts) -> dict[str, Any]:
    return {
        "id": task.number,
        "state": task.name,
        "restarts": task.restarts,
        "since": _time(task.since),
        "versions": versions_of(task.plugins),
        **({"message": task.problem, "reason": "Hindered" if task.name == "Running" else ""} if task.problem else {}),
        **({"lastRecordTime": _time(task.last_record)} if task.last_record is not None else {}),
        **({"retryAt": _time(task.retry_at)} if task.retry_at is not None else {}),
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
