"""Choose the plan that a Connector runs: the last good one, until another may replace it. Pure.

A change of the Connector is applied as soon as its plan exists. A change of the release that restarts pods waits for the
rollout's permission (`rollout.limiter`); until then all tasks, including replacements of lost ones, keep the last plan.
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
    """Decide the plan that the tasks run, and the actions for them.

    Args:
        observed: the Connector, with its persisted state before planning.
        pod_hash: returns the hash that a task's pod must have.
        restarts: restarts requested by annotations.
        planning: outcome of planning; its plan is None if there is none for the current request yet.
    """
    choice = PlanChoice.of(observed, pod_hash, restarts, planning)
    for rule in _RULES:
        if (outcome := rule(choice)) is not None:
            return outcome
    return _restart_with_permission(choice)


def _leave_stopped(choice: PlanChoice) -> StepOutcome | None:
    """Run no task after a stop until a changed configuration is checked: the last plan must not run again."""
    if not choice.is_last_prepared or choice.plan is not None or not choice.is_own:
        return None
    is_left = choice.planning.config.valid is None and choice.observed.is_idle
    return choice.planning.then() if is_left else None


def _run_canary(choice: PlanChoice) -> StepOutcome | None:
    """Run a canary of the requested plugin versions, if there is one; the other tasks run the last plan."""
    if choice.last is None or not choice.is_own:
        return None
    if choice.plan is None:
        canary = running_canary(choice.observed, choice.last)
    else:
        canary = canary_for(choice.observed, choice.last, choice.plan)
    return None if canary is None else choice.run_canary(canary)


def _start_all(choice: PlanChoice) -> StepOutcome | None:
    """Prepare and start all tasks if none may run, with the requested plan or else the last one."""
    if choice.is_last_prepared:
        return None
    if choice.plan is not None:
        return choice.adopt()
    return choice.planning.then() if choice.last is None else choice.keep()


def _keep_while_planning(choice: PlanChoice) -> StepOutcome | None:
    """Keep the last plan until the requested one exists."""
    if choice.plan is not None or choice.last is None:
        return None
    return choice.keep(None if choice.is_own else _with_last_valid(choice.observed, choice.last, choice.planning))


def _adopt_own_change(choice: PlanChoice) -> StepOutcome | None:
    """Adopt the plan for a change of the Connector, which need not wait for the rollout."""
    return choice.adopt() if choice.is_own else None


def _adopt_without_restart(choice: PlanChoice) -> StepOutcome | None:
    """Adopt a plan that restarts no pods."""
    if choice.last is None or choice.plan is None:
        return None
    is_same = choice.plan.hash == choice.last.hash or not _ends_pods(choice.last, choice.plan, choice.pod_hash)
    return choice.adopt(choice.observed.persisted.rollout) if is_same else None


def _adopt_for_missing_image(choice: PlanChoice) -> StepOutcome | None:
    """Adopt the plan if the last one's image is no longer available, so that no running task needs protection."""
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
"""Rules for the plan; the first that applies decides. If none does, a change of the release restarts tasks."""


def _restart_with_permission(choice: PlanChoice) -> StepOutcome:
    """Adopt the plan for a change of the release once the rollout permits it; until then keep the last plan."""
    observed, kept = choice.observed, choice.keep()
    permission = _permission(observed)
    if not permission.granted:
        return replace(kept, pending=Pending(permission.reason, permission.message))
    counts = kept.verdict.kind is Kind.READY and observed.connector.spec.state is State.RUNNING
    return choice.adopt(RolloutRestart(observed.release.hash, observed.now, counts))


def _with_last_valid(observed: Observation, last: Plan, planning: StepOutcome) -> StepOutcome:
    """Report the last good configuration as valid, and keep it, during planning for a change of the release."""
    if planning.config.valid is not None or observed.requested.secrets.missing:
        return planning
    text = f"{planning.verdict.message}; the last good configuration stays in use"
    return planning.then(config=valid(observed, last), pending=Pending(planning.verdict.reason, text, planning=True))


def _ends_pods(last: Plan, plan: Plan, pod_hash: PodHashOf) -> bool:
    """Return whether a change between these plans restarts pods."""
    if len(last.tasks) != len(plan.tasks) or last.fence("") != plan.fence(""):
        return True
    return any(pod_hash(last, n) != pod_hash(plan, n) for n in range(len(plan.tasks)))


def _images_unavailable(observed: Observation) -> bool:
    """Return whether no task runs, because the image of the last plan is no longer available."""
    alive = [p for p in observed.pods.tasks if p.phase is not Phase.ENDED and p.leaving is None]
    return bool(alive) and all(p.hindrance is not None and p.hindrance[0] in _IMAGE_UNAVAILABLE for p in alive)


def _permission(observed: Observation) -> Permission:
    """Return the limiter's permission, or a refusal while it is unknown whether already restarted tasks are healthy.

    An operator that has just started has not read the status topic yet. A waiting Connector keeps the limiter's message
    until a problem with Kafka has lasted for a while, so that a short problem causes no status writes.
    """
    is_unread = observed.records.is_unread and observed.release.permission.granted
    if observed.records.trouble is None and not is_unread:
        return observed.release.permission
    text = "waiting until the operator can tell whether tasks are healthy; the last good configuration stays in use"
    return Permission(False, Reason.ROLLOUT_QUEUED, text)
