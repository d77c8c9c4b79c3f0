"""A Connector's status, as it is written: made from a decision and the facts that it rests on. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from penstock_operator.connector.decide.decision import Decision
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.observe.pod_status import Phase
from penstock_operator.connector.persisted_state import task_status
from penstock_operator.connector.render import names
from penstock_operator.connector.render.conditions import conditions
from penstock_operator.connector.render.status_size import with_short_texts
from penstock_operator.connector.status_fields import without_empty, write
from penstock_operator.kubernetes.times import timestamp

__all__ = ["same", "status"]

_TOPICS_SHOWN: Final = 200
_RESTING: Final = ("Stopped", "Stopping")


def status(facts: Observation, decision: Decision) -> dict[str, Any]:
    """The whole status. What ticks (lag, offsets, counts) is in the metrics, so that nothing is written by a clock."""
    memory, connector = decision.memory, facts.connector
    plan = decision.plan or facts.plan(memory.plan)
    tasks = [memory.tasks[n] for n in sorted(memory.tasks)]
    meant = [t for t in tasks if t.state not in _RESTING]
    moving = sum(t.state in ("Running", "Paused") for t in meant)
    about = None
    if plan is not None:
        about = {"class": plan.class_name, "type": plan.kind, "version": plan.version}
    topics = [{"name": t.name, "task": t.task, "since": timestamp(t.since)} for t in facts.topics]
    selector = {names.UID_LABEL: connector.metadata.uid, names.ROLE_LABEL: "task"}
    found = {
        **without_empty(
            {
                "state": decision.state,
                "connector": about,
                "tasks": [task_status(t) for t in tasks],
                "activeTopics": topics[:_TOPICS_SHOWN],
                "plan": memory.plan_status(),
                "job": memory.job_status(),
                "rollout": write(memory.rollout) if memory.rollout is not None else {},
                "restartActions": [write(h) for h in memory.handled],
                "offsetsActions": [write(h) for h in memory.offsets],
            }
        ),
        "observedGeneration": connector.metadata.generation,
        "conditions": conditions(
            decision.verdict,
            decision.config,
            memory.conditions,
            connector.metadata.generation,
            facts.now,
            decision.pending,
        ),
        "taskSummary": f"{moving}/{len(meant)}",
        "replicas": sum(p.phase is not Phase.ENDED for p in facts.task_pods),
        "activeTopicCount": len(topics),
        "labelSelector": ",".join(f"{k}={v}" for k, v in selector.items()),
    }
    return with_short_texts(found)


def same(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> bool:
    """Whether nothing would change: then nothing is written."""
    return dict(one) == (other or {})
