"""A Connector whose template is wrong or refused: pods that live go on, and no other one is made. Pure.

There is only the template of now, so a pod that is made while it is refused would be another one than was asked for, or one
that the platform does not allow. As Kubernetes' own admission, a level that was raised ends no pod.
"""

from dataclasses import replace
from typing import Final

from penstock_operator.connector.decide.decision import CreateTask, Decision
from penstock_operator.connector.decide.pod_identity import LifeOf
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.plans import Plan

__all__ = ["as_they_are", "is_held", "without_new_pods"]

_TEMPLATE: Final = "spec.template"


def is_held(facts: Observation) -> bool:
    """Whether no pod can be made as the template asks."""
    return any(f"{p.property}.".startswith(f"{_TEMPLATE}.") for p in facts.connector.reading.problems)


def as_they_are(facts: Observation) -> LifeOf:
    """No pod is out of date."""

    def life(_: Plan, task: int) -> str:
        own = [p for p in facts.task_pods if p.task == task]
        return max(own, key=lambda p: p.incarnation).life if own else facts.memory.task(task).life

    return life


def without_new_pods(found: Decision) -> Decision:
    """What was found, but for pods."""
    missing = sorted(w.task for w in found.create if isinstance(w, CreateTask))
    if not missing:
        return replace(found, create=())
    name = "task" if len(missing) == 1 else "tasks"
    message = f"{found.verdict.message}; {name} {', '.join(map(str, missing))} cannot be started before that is changed"
    return replace(found, create=(), verdict=replace(found.verdict, message=message))
