"""Decision step for the number of tasks, which changes only while the connector works as requested. Pure.

The number is stored in the status, and replaces `spec.tasksMax` from the next run on (`observe.autoscaled`).
"""

from collections.abc import Iterator
from typing import Final

from penstock_model.resources.connector import State
from penstock_operator.connector.decide.autoscaling.load import TaskLoad, load_of
from penstock_operator.connector.decide.autoscaling.scaling_decision import choose_number
from penstock_operator.connector.decide.step_outcome import StepOutcome
from penstock_operator.connector.model.autoscaling import AutoscaledTasks, AutoscalingCondition, AutoscalingDecision
from penstock_operator.connector.model.executors import ExecutorsDecision
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.verdict import Kind
from penstock_operator.reasons import ConditionType, Reason

__all__ = ["autoscaling_step"]

_STAYS: Final = "the number of tasks does not change"


def autoscaling_step(observed: Observation, outcome: StepOutcome, executors: ExecutorsDecision) -> AutoscalingDecision:
    """Return the decision about the number of tasks.

    Args:
        observed: the Connector, with its current number of tasks.
        outcome: outcome of the steps for its tasks.
        executors: the decision about executors; while some are starting, the number of tasks does not change.
    """
    before, terms = observed.persisted.autoscaling, observed.connector.spec.autoscaling
    if before is None or terms is None:
        return AutoscalingDecision()
    if observed.records.is_unread:
        return AutoscalingDecision(before, _condition_before(observed))
    plan = outcome.plan
    if plan is not None and plan.kind == "source":
        text = "the lag of a source is unknown; set spec.tasksMax, and remove spec.autoscaling"
        return _without(before, Reason.LAG_UNKNOWN, text)
    if plan is None or (held := next(_causes_to_hold(observed, outcome, plan, executors), None)) is not None:
        cause = "no task runs" if plan is None else held
        return _without(before, Reason.HELD, f"{_STAYS}: {cause}")
    loads = [
        load_of(observed.records.reports.get(n), outcome.persisted.task(n).pod_uid, observed.now)
        for n in range(len(plan.tasks))
    ]
    unknown = next(((n, text) for n, text in enumerate(loads) if isinstance(text, str)), None)
    if unknown is not None:
        condition = AutoscalingCondition(True, Reason.MEASURING, f"{_STAYS}: task {unknown[0]} {unknown[1]}")
        return AutoscalingDecision(before.at_rest(), condition)
    return choose_number([load for load in loads if isinstance(load, TaskLoad)], terms, before, observed.now)


def _without(before: AutoscaledTasks, reason: Reason, text: str) -> AutoscalingDecision:
    return AutoscalingDecision(before.at_rest(), AutoscalingCondition(False, reason, text))


def _condition_before(observed: Observation) -> AutoscalingCondition | None:
    """Return the condition in the status, which stays while no report can be read."""
    found = observed.persisted.conditions.get(ConditionType.AUTOSCALING)
    if found is None:
        return None
    return AutoscalingCondition(found["status"] == "True", found["reason"], found["message"])


def _causes_to_hold(
    observed: Observation, outcome: StepOutcome, plan: Plan, executors: ExecutorsDecision
) -> Iterator[str]:
    """Yield the reasons why the number must not change now."""
    state = observed.connector.spec.state
    if observed.deleting is not None:
        yield "the Connector is being deleted"
    if state is not State.RUNNING:
        yield f"spec.state is {state}"
    if outcome.pending is not None:
        yield "a change has not reached all tasks (UpdatePending)"
    if outcome.persisted.rollout is not None:
        yield "the release was just rolled out to the Connector"
    if any(action.is_pending for action in outcome.persisted.offsets):
        yield "an action on its offsets is in progress"
    if outcome.verdict.kind is not Kind.READY:
        yield "the Connector is not Ready"
    if outcome.persisted.plan != observed.requested.hash:
        yield "a change of the Connector is in progress"
    if not plan.tasks:
        yield "the plugin requests no tasks"
    if observed.records.topic_fault:
        yield "the status topic is not compacted"
    if executors.state is not None and executors.state.reason == Reason.STARTING:
        yield "executors are starting, which may be sufficient"
