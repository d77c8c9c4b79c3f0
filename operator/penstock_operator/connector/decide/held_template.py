"""Keep the pods of a Connector whose template is invalid or refused, and create no new ones. Pure.

Only the current template is known, so a pod created while it is refused would differ from the request, or violate the
platform's policy. As with Pod Security admission, a stricter level does not stop running pods.
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
    """Return a function that returns the hash of each task's latest pod, so that no pod counts as outdated."""

    def pod_hash(_: Plan, task: int) -> str:
        pods = [p for p in observed.pods.tasks if p.task == task]
        return max(pods, key=lambda p: p.incarnation).pod_hash if pods else observed.persisted.task(task).pod_hash

    return pod_hash


def without_new_pods(outcome: StepOutcome) -> StepOutcome:
    """Return the outcome without pods to create; its verdict names the tasks that wait for a pod."""
    waiting = sorted(w.task for w in outcome.create if isinstance(w, CreateTask))
    if not waiting:
        return replace(outcome, create=())
    name = "task" if len(waiting) == 1 else "tasks"
    message = (
        f"{outcome.verdict.message}; {name} {', '.join(map(str, waiting))} cannot start until the template is corrected"
    )
    return replace(outcome, create=(), verdict=replace(outcome.verdict, message=message))
