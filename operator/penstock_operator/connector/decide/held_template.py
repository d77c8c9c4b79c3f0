"""Connector whose template is wrong or refused: its pods keep running, and no new one is created. Pure.

Only the current template is known, so a pod created while it is refused would differ from the request, or violate the
platform's policy. As with Kubernetes' own admission, a raised level ends no pod.
"""

from dataclasses import replace
from typing import Final

from penstock_operator.connector.decide.step_outcome import StepOutcome
from penstock_operator.connector.model.decision import CreateTask
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.plans import Plan, PodHashOf

__all__ = ["hashes_of_present_pods", "is_template_refused", "without_new_pods"]

_TEMPLATE: Final = "spec.template"


def is_template_refused(observed: Observation) -> bool:
    """Return whether no pod can be created from the template."""
    return any(f"{p.property}.".startswith(f"{_TEMPLATE}.") for p in observed.connector.reading.problems)


def hashes_of_present_pods(observed: Observation) -> PodHashOf:
    """Return pod hashes with which no pod is outdated: each task has that of its latest pod."""

    def pod_hash(_: Plan, task: int) -> str:
        pods = [p for p in observed.pods.tasks if p.task == task]
        return max(pods, key=lambda p: p.incarnation).pod_hash if pods else observed.persisted.task(task).pod_hash

    return pod_hash


def without_new_pods(outcome: StepOutcome) -> StepOutcome:
    """Return the same without pods to create; the verdict names the tasks that wait for theirs."""
    waiting = sorted(w.task for w in outcome.create if isinstance(w, CreateTask))
    if not waiting:
        return replace(outcome, create=())
    name = "task" if len(waiting) == 1 else "tasks"
    message = (
        f"{outcome.verdict.message}; {name} {', '.join(map(str, waiting))} cannot be started before that is changed"
    )
    return replace(outcome, create=(), verdict=replace(outcome.verdict, message=message))
