"""Render the figures of a Connector for the metrics. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from penstock_model.resources.connector import default_connect_name
from penstock_operator.connector.model.decision import Decision
from penstock_operator.connector.model.executors import executors_of
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.verdict import Kind
from penstock_operator.metrics import ConnectorFigures

__all__ = ["figures", "undecided"]


def figures(observed: Observation, decision: Decision) -> ConnectorFigures:
    """Return the figures of a Connector for which a decision was made."""
    plan, tasks = decision.plan, decision.persisted.tasks.values()
    return ConnectorFigures(
        class_name=plan.class_name if plan is not None else observed.connector.spec.class_name,
        type=plan.kind if plan is not None else "",
        version=plan.version if plan is not None else "",
        connector=observed.connector.connect_name,
        state=decision.state,
        tasks=dict(Counter(t.state for t in tasks)),
        restarts=sum(t.restarts for t in tasks),
        ready=decision.verdict.kind is Kind.READY,
        reason=str(decision.verdict.reason),
        active_topics=observed.records.active_topic_count,
        executors=_executors(decision),
        desired_tasks=None if decision.persisted.autoscaling is None else decision.persisted.autoscaling.tasks,
    )


def _executors(decision: Decision) -> tuple[int, int] | None:
    """Return how many executors its tasks want, and how many are ready; None: its spec has no executors."""
    if decision.plan is None or not any(executors_of(t) is not None for t in decision.plan.tasks):
        return None
    of_tasks = decision.executors.tasks.values()
    return sum(t.wanted for t in of_tasks), sum(t.ready for t in of_tasks)


def undecided(document: Mapping[str, Any], reason: str) -> ConnectorFigures:
    """Return the figures of a Connector without a decision, from its status: not ready, for this reason."""
    spec, metadata = document.get("spec") or {}, document["metadata"]
    status = document.get("status") or {}
    plugin, tasks = status.get("connector") or {}, status.get("tasks") or ()
    return ConnectorFigures(
        class_name=plugin.get("class") or str(spec.get("class", "")),
        type=plugin.get("type", ""),
        version=plugin.get("version", ""),
        connector=str(
            spec.get("connectName") or default_connect_name(metadata.get("namespace"), str(metadata.get("name", "")))
        ),
        state=status.get("state") or "Pending",
        tasks=dict(Counter(t["state"] for t in tasks if "state" in t)),
        restarts=sum(t.get("restarts", 0) for t in tasks),
        ready=False,
        reason=str(reason),
        active_topics=status.get("activeTopicCount"),
        executors=_executors_in(spec, tasks),
        desired_tasks=(status.get("autoscaling") or {}).get("tasks"),
    )


def _executors_in(spec: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
    if not (spec.get("spark") or {}).get("executors"):
        return None
    found = [t.get("executors") or {} for t in tasks]
    return sum(e.get("wanted", 0) for e in found), sum(e.get("ready", 0) for e in found)
