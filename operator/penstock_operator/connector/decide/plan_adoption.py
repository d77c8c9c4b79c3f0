"""Choose the plan that a Connector runs: the last good one, until another may replace it. Pure.

A change of the Connector is applied as soon as its plan exists. A change of the release that ends pods waits for the
rollout's permission (`rollout.limiter`); meanwhile all tasks, including lost ones, keep the last plan.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from penstock_model.resources.connector import State
from penstock_operator.connector.decide.canary import canary_for, running_canary
from penstock_operator.connector.decide.config_check import valid
from penstock_operator.connector.decide.plan_choice import PlanChoice
from penstock_operator.connector.decide.restart_requests import RestartRequests
from penstock_operator.connector.decide.step_outcome import StepOutcome
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.plans import Plan, PodHashOf
from penstock_operator.connector.model.pod_status import Phase
from penstock_operator.connector.model.verdict import Kind, Pending
from penstock_operator.reasons import Reason
from penstock_operator.rollout.progress import Permission, RolloutRestart

__all__ = ["adopt_and_run"]

_IMAGE_UNAVAILABLE: Final = frozenset(
    (
        Reason.ERR_IMAGE_PULL,
        Reason.IMAGE_PULL_BACK_OFF,
        Reason.INVALID_IMAGE_NAME,
        Reason.ERR_IMAGE_NEVER_PULL,
        Reason.REGISTRY_UNAVAILABLE,
        Reason.IMAGE_INSPECT_ERROR,
        Reason.SIGNATURE_VALIDATION_FAILED,
    )
)


def adopt_and_run(
    observed: Observation, pod_hash: PodHashOf, restarts: RestartRequests, planning: StepOutcome
) -> StepOutcome:
    """Decide which plan the tasks run, and the actions for them.

    Args:
        observed: with the persisted state as it was before planning.
        pod_hash: returns the hash of the contents that a task's pod must have.
        restarts: requested by annotations.
        planning: has the plan for the current request; None: there is none yet.
    """
    choice = PlanChoice.of(observed, pod_hash, restarts, planning)
    for rule in _RULES:
        if (outcome := rule(choice)) is not None:
            return outcome
    return _restart_with_permission(choice)


def _leave_stopped(choice: PlanChoice) -> StepOutcome | None:
    """Run nothing after a stop until a changed configuration is checked: the last plan must not run again."""
    if not choice.is_last_prepared or choice.plan is not None or not choice.is_own:
        return None
    is_left = choice.planning.config.valid is None and choice.observed.is_idle
    return choice.planning.then() if is_left else None


def _run_canary(choice: PlanChoice) -> StepOutcome | None:
    """Run a canary of the requested plugin versions; the other tasks keep the last plan, even if all must start."""
    if choice.last is None or not choice.is_own:
        return None
    if choice.plan is None:
        canary = running_canary(choice.observed, choice.last)
    else:
        canary = canary_for(choice.observed, choice.last, choice.plan)
    return None if canary is None else choice.run_canary(canary)


def _start_all(choice: PlanChoice) -> StepOutcome | None:
    """Start a set of tasks from the beginning, if no tasks may run: with the requested plan, or the last one."""
    if choice.is_last_prepared:
        return None
    if choice.plan is not None:
        return choice.adopt()
    return choice.planning.then() if choice.last is None else choice.keep()


def _keep_while_planning(choice: PlanChoice) -> StepOutcome | None:
    """Keep the last plan until there is another."""
    if choice.plan is not None or choice.last is None:
        return None
    return choice.keep(None if choice.is_own else _with_last_valid(choice.observed, choice.last, choice.planning))


def _adopt_own_change(choice: PlanChoice) -> StepOutcome | None:
    """Adopt the plan for a change of the Connector, for which no other Connector waits."""
    return choice.adopt() if choice.is_own else None


def _adopt_without_restart(choice: PlanChoice) -> StepOutcome | None:
    """Adopt a plan that ends no pods."""
    if choice.last is None or choice.plan is None:
        return None
    is_same = choice.plan.hash == choice.last.hash or not _ends_pods(choice.last, choice.plan, choice.pod_hash)
    return choice.adopt(choice.observed.persisted.rollout) if is_same else None


def _adopt_for_missing_image(choice: PlanChoice) -> StepOutcome | None:
    """Adopt the plan if the image of the last one is no longer available: no running task is left to protect."""
    if not _images_unavailable(choice.observed):
        return None
    return choice.adopt(RolloutRestart(choice.observed.release.hash, choice.observed.now, counts=False))


_RULES: Final[tuple[Callable[[PlanChoice], StepOutcome | None], ...]] = (
    _leave_stopped,
    _run_canary,
    _start_all,
    _keep_while_planning,
    _adopt_own_change,
    _adopt_without_restart,
    _adopt_for_missing_image,
)
"""Rules for the plan, of which the first that applies decides. If none does, a change of the release restarts tasks."""


def _restart_with_permission(choice: PlanChoice) -> StepOutcome:
    """Adopt the plan for a change of the release once the rollout permits it; until then keep the last one."""
    observed, kept = choice.observed, choice.keep()
    permission = _permission(observed)
    if not permission.granted:
        return replace(kept, pending=Pending(permission.reason, permission.message))
    counts = kept.verdict.kind is Kind.READY and observed.connector.spec.state is State.RUNNING
    return choice.adopt(RolloutRestart(observed.release.hash, observed.now, counts))


def _with_last_valid(observed: Observation, last: Plan, planning: StepOutcome) -> StepOutcome:
    """Count the last good configuration as valid, and keep it, while a plan for a change of the release is made."""
    if planning.config.valid is not None or observed.requested.secrets.missing:
        return planning
    text = f"{planning.verdict.message}; the last good configuration stays in use"
    return planning.then(config=valid(observed, last), pending=Pending(planning.verdict.reason, text, planning=True))


def _ends_pods(last: Plan, plan: Plan, pod_hash: PodHashOf) -> bool:
    """Return whether tasks of one plan cannot continue as those of the other."""
    if len(last.tasks) != len(plan.tasks) or last.fence("") != plan.fence(""):
        return True
    return any(pod_hash(last, n) != pod_hash(plan, n) for n in range(len(plan.tasks)))


def _images_unavailable(observed: Observation) -> bool:
    """Return whether no task of the last plan runs because its image is no longer available."""
    alive = [p for p in observed.pods.tasks if p.phase is not Phase.ENDED and p.leaving is None]
    return bool(alive) and all(p.hindrance is not None and p.hindrance[0] in _IMAGE_UNAVAILABLE for p in alive)


def _permission(observed: Observation) -> Permission:
    """Return the limiter's permission, unless it is unknown whether previously restarted tasks are healthy.

    An operator that has just started has not read the status topic yet. A Connector that waits keeps the limiter's message
    until Kafka's trouble has lasted, so that a short trouble writes no statuses.
    """
    is_unread = observed.records.is_unread and observed.release.permission.granted
    if observed.records.trouble is None and not is_unread:
        return observed.release.permission
    text = "waits until the operator sees again whether tasks are healthy; the last good configuration stays in use"
    return Permission(False, Reason.ROLLOUT_QUEUED, text)
