"""Connectors of `connect_requests` as resources, in the states that they reach."""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["NAMESPACE", "TASKS", "connector"]

NAMESPACE: Final = "orders"
TASKS: Final[Mapping[str, list[str]]] = {
    "lines-in": ["Running"],
    "lines-out": ["Running", "Running"],
    "broken": ["Failed"],
    "halted": [],
    "waiting": ["Paused"],
}
STATES: Final = {"halted": "Stopped", "waiting": "Paused"}


def connector(name: str, config: Mapping[str, str], states: list[str], **spec: Any) -> dict[str, Any]:
    """A Connector with tasks in these states, as the operator writes it."""
    rest = {k: v for k, v in config.items() if k not in ("connector.class", "tasks.max")}
    tasks = [
        {"id": n, "state": s, "pod": f"{name}-{n}-1", "versions": {"connector": "0.1.0"}} for n, s in enumerate(states)
    ]
    for task in tasks:
        if task["state"] == "Failed":
            task["trace"] = "Traceback (most recent call last): ..."
    kind = "source" if "Source" in config["connector.class"] else "sink"
    used = kind == "source" or name in ("lines-out", "halted", "waiting")
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "class": config["connector.class"],
            "tasksMax": int(config.get("tasks.max", "1")),
            "state": STATES.get(name, "Running"),
            "config": rest,
            **spec,
        },
        "status": {
            "connector": {"class": config["connector.class"], "type": kind, "version": "0.1.0"},
            "tasks": tasks,
            "activeTopics": [{"name": "lines"}] if used else [],
        },
    }
