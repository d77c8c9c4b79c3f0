"""Render the status of a Connector from a decision and its observation. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock_model.connect.plugin_chain import CONNECTOR
from penstock_operator import names
from penstock_operator.connector.model.api_failures import KEPT_REASONS
from penstock_operator.connector.model.decision import Decision
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import PersistedTask, task_status
from penstock_operator.connector.model.pod_status import Phase
from penstock_operator.connector.model.verdict import Verdict
from penstock_operator.connector.render.conditions import all_conditions, undecided_conditions
from penstock_operator.connector.render.status_size import with_short_texts
from penstock_operator.kubernetes.leftovers import without_foreign_conditions
from penstock_operator.kubernetes.times import timestamp
from penstock_operator.reasons import ConditionType
from penstock_operator.status_fields import without_empty, write

__all__ = ["connector_status", "is_unchanged", "status_with_trouble"]

_MOST_TOPICS: Final = 200
_WITHOUT_POD: Final = ("Stopped", "Stopping")


def connector_status(observed: Observation, decision: Decision) -> dict[str, Any]:
    """Return the whole status of a Connector.

    Lag, offsets and counts are in the metrics, so that statuses are not written periodically, except for the time of the
    last record, once a minute while records are delivered.
    """
    persisted, connector = decision.persisted, observed.connector
    plan = decision.plan or observed.plan(persisted.plan)
    tasks = [persisted.tasks[n] for n in sorted(persisted.tasks)]
    wanted = [t for t in tasks if t.state not in _WITHOUT_POD]
    running = sum(t.state in ("Running", "Paused") for t in wanted)
    plugin = None
    if plan is not None:
        plugin = {"class": plan.class_name, "type": plan.kind, "version": plan.version}
        if (of := plan.plugin_version(CONNECTOR)) is not None:
            plugin["pluginVersion"] = of
    of_canary = observed.plan(persisted.canary.plan) if persisted.canary is not None else None
    used = {v for p in (plan, of_canary) if p is not None for v in p.plugin_versions}
    used |= {v for p in observed.pods.tasks if p.phase is not Phase.ENDED for v in p.plugin_versions}
    topics = [{"name": t.name, "task": t.task, "since": timestamp(t.since)} for t in observed.records.active_topics]
    selector = {names.UID_LABEL: connector.metadata.uid, names.ROLE_LABEL: "task"}
    status = {
        **without_empty(
            {
                "state": decision.state,
                "connector": plugin,
                "pluginVersions": sorted(used),
                "newerPluginVersions": list(observed.requested.plugin.newer),
                "lastRecordTime": timestamp(max(records))
                if (records := [t.last_record for t in tasks if t.last_record])
                else "",
                "tasks": [{**task_status(t), **_executors(decision, t.id)} for t in tasks],
                "activeTopics": topics[:_MOST_TOPICS],
                "autoscaling": {} if persisted.autoscaling is None else write(persisted.autoscaling),
                "restartActions": [write(h) for h in persisted.handled],
                "offsetsActions": [write(h) for h in persisted.offsets],
                "operatorState": persisted.operator_state(),
            }
        ),
        "observedGeneration": connector.metadata.generation,
        "conditions": all_conditions(
            decision.verdict,
            decision.config,
            persisted.conditions,
            connector.metadata.generation,
            observed.now,
            decision.pending,
            _lagging(observed, tasks),
            decision.executors.state,
            decision.autoscaling.condition,
        ),
        "taskSummary": f"{running}/{len(wanted)}",
        "replicas": sum(p.phase is not Phase.ENDED for p in observed.pods.tasks),
        **(
            {}
            if observed.records.active_topic_count is None
            else {"activeTopicCount": observed.records.active_topic_count}
        ),
        "labelSelector": ",".join(f"{k}={v}" for k, v in selector.items()),
    }
    return with_short_texts(status)


def _executors(decision: Decision, task: int) -> dict[str, Any]:
    """Return the field `executors` of a task's entry; empty: the task wants none."""
    if (found := decision.executors.tasks.get(task)) is None:
        return {}
    return {
        "executors": {
            "wanted": found.wanted,
            "ready": found.ready,
            **without_empty({"reason": str(found.reason), "message": found.message}),
        }
    }


def _lagging(observed: Observation, tasks: Sequence[PersistedTask]) -> str:
    """Return a message about the growing lag of running tasks; empty: it does not grow."""
    reports = {n: r for n, r in observed.records.reports.items() if r.lagging}
    lagging = [t.id for t in tasks if t.state == "Running" and t.id in reports and reports[t.id].pod_uid == t.pod_uid]
    return "; ".join(f"task {n}: {reports[n].lagging}" for n in lagging)


def is_unchanged(status: Mapping[str, Any], before: Mapping[str, Any] | None) -> bool:
    """Return whether the Connector already has this status, apart from conditions of other controllers."""
    return dict(status) == without_foreign_conditions(before or {})


def status_with_trouble(document: Mapping[str, Any], trouble: Verdict, now: float) -> dict[str, Any] | None:
    """Return the status of a Connector without a decision: the current one, with conditions that report the trouble.

    `observedGeneration` stays that of the last decision.

    Returns:
        The status to write; None: it does not change.
    """
    status, metadata = document.get("status") or {}, document["metadata"]
    before: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    ready = next((c for c in before if c["type"] == ConditionType.READY), {})
    if ready.get("reason") in KEPT_REASONS:
        return None
    with_conditions = {
        "state": "Pending",
        **status,
        "conditions": undecided_conditions(before, trouble, metadata["generation"], now),
    }
    return None if is_unchanged(with_conditions, status) else with_conditions
