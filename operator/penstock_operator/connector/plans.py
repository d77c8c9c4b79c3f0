"""Plans: when one is due, and how it is kept in a ConfigMap. Pure.

A plan belongs to everything that it depends on (`due`); equal facts are never planned twice.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.errors import ConfigError
from penstock.job import PlanAnswer
from penstock.resources import Connector
from penstock.taskspec import TaskSpec
from penstock_operator.connector import names
from penstock_operator.connector.pod_facts import instant
from penstock_operator.connector.secrets import Secrets

__all__ = ["Plan", "due", "manifest", "stored"]

_ABOUT: Final = "plan.json"


@dataclass(frozen=True, slots=True)
class Plan:
    """A validated configuration, split into tasks.

    Attributes:
        hash: what it belongs to (`due`).
        kind, class_name, version: of the connector's plugin.
        tasks: the task specs, as texts of the ConfigMap.
        warnings: what the author should know.
        secrets: the hash of the secrets with which it was made, where a change of them restarts the tasks.
        created: seconds since 1970; 0: not stored yet.
    """

    hash: str
    kind: str
    class_name: str
    version: str
    tasks: tuple[TaskSpec, ...]
    warnings: tuple[str, ...] = ()
    secrets: str = ""
    created: float = 0.0

    @classmethod
    def of(cls, plan_hash: str, answer: PlanAnswer, warnings: tuple[str, ...], secrets: str | None) -> "Plan":
        """The plan that a short pod made."""
        return cls(plan_hash, answer.kind, answer.class_name, answer.version, answer.tasks, warnings, secrets or "")

    def fence(self, connect_name: str) -> str:
        """Equal for plans whose tasks may take over from each other one by one, without shutting out all of them."""
        return names.digest(connect_name, self.kind, self.class_name, len(self.tasks))

    def versions(self, task: int) -> dict[str, str]:
        """The plugin versions of a task, by place."""
        return {place: ref.version for place, ref in self.tasks[task].plugins.items()}


def due(
    connector: Connector, worker: Mapping[str, str], runtime_image: str, secrets: Secrets, restarted: str = ""
) -> str:
    """What a connector's plan depends on, as a hash: nothing is planned again while it is the same.

    Args:
        connector: the resource.
        worker: the worker configuration, as written.
        runtime_image: that plans and runs it.
        secrets: what its references name: a missing one is planned with, too, so that all that is wrong is told.
        restarted: the last token that asked for a restart of the connector: that plans again, too.
    """
    spec = connector.spec
    restarts = spec.on_secret_change == "Restart"  # noqa: S105 (no password)
    return names.digest(
        spec.class_name, spec.version, dict(spec.config), spec.tasks_max, connector.connect_name, dict(worker),
        runtime_image, spec.spark.model_dump(mode="json"),
        secrets.hash if restarts else None, secrets.missing, restarted,
    )  # fmt: skip


def manifest(plan: Plan, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The ConfigMap that keeps a plan."""
    about = {
        "hash": plan.hash, "kind": plan.kind, "class": plan.class_name, "version": plan.version,
        "tasks": len(plan.tasks), "warnings": list(plan.warnings), "secrets": plan.secrets,
    }  # fmt: skip
    data = {f"task-{n}.json": spec.to_json() for n, spec in enumerate(plan.tasks)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": dict(metadata),
        "immutable": True,
        "data": {_ABOUT: json.dumps(about, sort_keys=True), **data},
    }


def stored(config_map: Mapping[str, Any]) -> Plan | None:
    """The plan in a ConfigMap; None when it holds none that we can read (a newer operator's, say)."""
    data = config_map.get("data") or {}
    try:
        about = json.loads(data[_ABOUT])
        tasks = tuple(TaskSpec.from_json(data[f"task-{n}.json"]) for n in range(about["tasks"]))
        return Plan(
            about["hash"], about["kind"], about["class"], about["version"], tasks, tuple(about["warnings"]),
            about["secrets"], instant(config_map["metadata"].get("creationTimestamp")) or 0.0,
        )  # fmt: skip
    except (KeyError, ValueError, TypeError, ConfigError):
        return None
