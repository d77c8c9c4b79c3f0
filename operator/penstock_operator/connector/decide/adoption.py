"""Chooses the plan that a Connector runs: the last good one, until another may replace it. Pure.

A change of the Connector is applied as soon as its plan exists. A change of the release that ends pods waits for the
rollout's permission (`rollout.limiter`); meanwhile all tasks, including lost ones, keep the last plan.
"""

from dataclasses import replace
from typing import Final

from penstock_model.resources.connector import State
from penstock_operator.connector.decide.canary import Canary, canary_for, running_canary
from penstock_operator.connector.decide.config_check import valid
from penstock_operator.connector.decide.held_template import hashes_of_present_pods
from penstock_operator.connector.decide.restart_requests import RestartRequests
from penstock_operator.connector.decide.step_outcome import StepOutcome, soonest
from penstock_operator.connector.decide.tasks import run_tasks
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.plans import Plan, PodHashOf
from penstock_operator.connector.model.pod_status import Phase
from penstock_operator.connector.model.verdict import Kind, Pending
from penstock_operator.kubernetes.times import instant
from penstock_operator.reasons import ConditionType, Reason
from penstock_operator.rollout.progress import Permission, RolloutRestart, progress_of
from penstock_operator.rollout.progress import Phase as RolloutPhase

__all__ = ["adopt_and_run", "rollout_progress"]

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
    plan, last = planning.plan, observed.plan(observed.persisted.plan)
    goes_on = last is not None and (observed.is_prepared(last) or not last.tasks)
    own = planning.persisted.own or (observed.own if last is not None else "")  # if lost, later changes count
    observed = replace(observed, persisted=replace(planning.persisted, own=own))
    is_own = observed.is_own_change
    is_checked = planning.config.valid is not None or observed.persisted.job.attempts > 0
    # Apply together what was changed together: the template waits until the plan that belongs to it is made.
    waits = plan is None and is_own and not is_checked
    task_pod_hash = hashes_of_present_pods(observed) if restarts.all or waits else pod_hash
    restarts = replace(restarts, later=restarts.later or waits)

    def run(
        chosen: Plan, adopted: Plan | None, before: StepOutcome, rollout: RolloutRestart | None = None
    ) -> StepOutcome:
        persisted = observed.persisted if adopted is None else _with_adopted(observed, adopted, rollout)
        if not is_own:  # all tasks already have the Connector's own settings
            persisted = replace(persisted, canary=None)
        return run_tasks(replace(observed, persisted=persisted), chosen, task_pod_hash, restarts, before)

    def run_canary(canary: Canary, before: StepOutcome) -> StepOutcome:
        """Run some tasks with the plan of the canary, and the others with the last one."""
        assert last is not None
        persisted = observed.persisted
        if canary.plan.restarted not in _carried_out(observed, last):  # all tasks restart, each with its own plan
            persisted = replace(persisted, epoch=None, fence="")
        outcome = run_tasks(replace(observed, persisted=persisted), last, task_pod_hash, restarts, before, canary)
        known = canary.memory_after(observed.persisted.canary, outcome.persisted.tasks)
        timeout = observed.connector.spec.rollout.timeout.total_seconds()
        left = canary.seconds_left(outcome.persisted.tasks, pod_hash, timeout, observed.now)
        if plan is not None and left is not None and left <= 0:
            return run(plan, plan, planning)
        return replace(
            outcome,
            persisted=replace(outcome.persisted, canary=known),
            pending=outcome.pending or canary.pending(last, known, left, timeout),
            requeue_after=soonest(outcome.requeue_after, left if left is not None and left > 0 else None),
        )

    if last is not None and not goes_on and is_own:  # the others keep their plan, even if they start from the beginning
        canary = running_canary(observed, last) if plan is None else canary_for(observed, last, plan)
        if canary is not None:
            return run_canary(canary, planning)
    if last is None or not goes_on:
        chosen = plan or last
        return planning.then() if chosen is None else run(chosen, plan, planning)
    if plan is None and is_own and planning.config.valid is None and observed.is_idle:
        return planning.then()  # a last plan that was stopped must not run again
    if plan is None:
        canary = running_canary(observed, last) if is_own else None
        if canary is not None:
            return run_canary(canary, planning)
        return run(last, None, planning if is_own else _with_last_valid(observed, last, planning))
    if plan.hash != last.hash and is_own and (canary := canary_for(observed, last, plan)) is not None:
        return run_canary(canary, planning)
    if plan.hash == last.hash or is_own or not _ends_pods(last, plan, pod_hash):
        return run(plan, plan, planning, None if is_own else observed.persisted.rollout)
    if _images_unavailable(observed):  # no running task is left to protect
        return run(plan, plan, planning, RolloutRestart(observed.release, observed.now, counts=False))
    on_last_plan = run(last, None, planning)
    permission = _permission(observed)
    if not permission.granted:
        return replace(on_last_plan, pending=Pending(permission.reason, permission.message))
    counts = on_last_plan.verdict.kind is Kind.READY and observed.connector.spec.state is State.RUNNING
    return run(plan, plan, planning, RolloutRestart(observed.release, observed.now, counts))


def rollout_progress(observed: Observation, pod_hash: PodHashOf, tasks: StepOutcome) -> StepOutcome:
    """Return the outcome with the progress of a restart for a change of the release."""
    record, now, limits = tasks.persisted.rollout, observed.now, observed.rollout
    # The request has changed since, perhaps back to the earlier one: a worker's Secret is not part of `release`.
    if record is not None and (record.release != observed.release or tasks.persisted.plan != observed.due):
        record = None
    if record is not None and observed.connector.spec.state is not State.RUNNING:
        record = replace(record, counts=False)
    ready_since, replaced = _ready_since(observed, tasks), _is_replaced(tasks, pod_hash)
    taken = progress_of(record, ready_since=ready_since, replaced=replaced, now=now, limits=limits)
    until = taken.until
    if record is not None and taken.phase is RolloutPhase.RESTING:
        until = record.since + limits.progress_deadline_seconds
        if not record.counts or until <= now:  # later events have other causes
            record = until = None
    pending = tasks.pending
    return tasks.then(
        persisted=replace(tasks.persisted, rollout=record),
        rollout=replace(
            taken,
            waits=pending is not None and not (pending.planning or pending.canary or observed.permission.granted),
            planning=pending is not None and pending.planning,
        ),
        requeue_after=None if until is None else max(until - now, 0.1),
    )


def _with_adopted(observed: Observation, plan: Plan, rollout: RolloutRestart | None) -> PersistedState:
    """Return the persisted state with another plan as the last good one."""
    persisted, last = observed.persisted, observed.plan(observed.persisted.plan)
    if last is not None and plan.restarted not in _carried_out(observed, last):  # its tasks must be prepared again
        persisted = replace(persisted, epoch=None, fence="")
    return replace(persisted, plan=plan.hash, own=observed.own, rollout=rollout, canary=None)


def _carried_out(observed: Observation, last: Plan) -> tuple[str, ...]:
    """Return the tokens of restarts that the tasks have had: that of the last plan, and of the running canary."""
    canary = observed.plan(observed.persisted.canary.plan) if observed.persisted.canary is not None else None
    return (last.restarted, *([] if canary is None else [canary.restarted]))


def _with_last_valid(observed: Observation, last: Plan, planning: StepOutcome) -> StepOutcome:
    """Count the last good configuration as valid, and keep it, while a plan for a change of the release is made."""
    if planning.config.valid is not None or observed.secrets.missing:
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
    alive = [p for p in observed.task_pods if p.phase is not Phase.ENDED and p.leaving is None]
    return bool(alive) and all(p.hindrance is not None and p.hindrance[0] in _IMAGE_UNAVAILABLE for p in alive)


def _permission(observed: Observation) -> Permission:
    """Return the limiter's permission, unless it is unknown whether previously restarted tasks are healthy.

    An operator that has just started has not read the status topic yet. A Connector that waits keeps the limiter's message
    until Kafka's trouble has lasted, so that a short trouble writes no statuses.
    """
    is_unread = observed.status_unread and observed.permission.granted
    if observed.kafka_trouble is None and not is_unread:
        return observed.permission
    text = "waits until the operator sees again whether tasks are healthy; the last good configuration stays in use"
    return Permission(False, Reason.ROLLOUT_QUEUED, text)


def _ready_since(observed: Observation, tasks: StepOutcome) -> float | None:
    if tasks.verdict.kind is not Kind.READY:
        return None
    before = observed.persisted.conditions.get(ConditionType.READY, {})
    since = instant(before.get("lastTransitionTime")) if before.get("status") == "True" else None
    return observed.now if since is None else since


def _is_replaced(tasks: StepOutcome, pod_hash: PodHashOf) -> bool:
    """Return whether all pods are of the running plan, and have started."""
    if tasks.plan is None or tasks.plan.hash != tasks.persisted.plan:
        return False
    memories = [tasks.persisted.task(n) for n in range(len(tasks.plan.tasks))]
    return all(t.has_ended or (t.started is not None and t.pod_hash == pod_hash(tasks.plan, t.id)) for t in memories)
