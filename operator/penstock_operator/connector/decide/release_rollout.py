"""Progress of a Connector's restart for a change of the release, which the rollout limiter counts. Pure."""

from dataclasses import replace

from penstock_model.resources.connector import State
from penstock_operator.connector.decide.step_outcome import StepOutcome
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.plans import PodHashOf
from penstock_operator.connector.model.verdict import Kind
from penstock_operator.kubernetes.times import instant
from penstock_operator.reasons import ConditionType
from penstock_operator.rollout.progress import Phase, progress_of

__all__ = ["rollout_progress"]


def rollout_progress(observed: Observation, pod_hash: PodHashOf, tasks: StepOutcome) -> StepOutcome:
    """Return the outcome with the progress of a restart for a change of the release."""
    record, now, limits = tasks.persisted.rollout, observed.now, observed.release.rollout
    # The request has changed, perhaps back to the earlier one: a worker's Secret is not part of `release`.
    if record is not None and (
        record.release != observed.release.hash or tasks.persisted.plan != observed.requested.hash
    ):
        record = None
    if record is not None and observed.connector.spec.state is not State.RUNNING:
        record = replace(record, counts=False)
    ready_since, replaced = _ready_since(observed, tasks), _is_replaced(tasks, pod_hash)
    taken = progress_of(record, ready_since=ready_since, replaced=replaced, now=now, limits=limits)
    until = taken.until
    if record is not None and taken.phase is Phase.RESTING:
        until = record.since + limits.progress_deadline_seconds
        if not record.counts or until <= now:  # later problems have other causes
            record = until = None
    pending = tasks.pending
    return tasks.then(
        persisted=replace(tasks.persisted, rollout=record),
        rollout=replace(
            taken,
            waits=pending is not None
            and not (pending.planning or pending.canary or observed.release.permission.granted),
            planning=pending is not None and pending.planning,
        ),
        requeue_after=None if until is None else max(until - now, 0.1),
    )


def _ready_since(observed: Observation, tasks: StepOutcome) -> float | None:
    if tasks.verdict.kind is not Kind.READY:
        return None
    before = observed.persisted.conditions.get(ConditionType.READY, {})
    since = instant(before.get("lastTransitionTime")) if before.get("status") == "True" else None
    return observed.now if since is None else since


def _is_replaced(tasks: StepOutcome, pod_hash: PodHashOf) -> bool:
    """Return whether all pods belong to the running plan and have started."""
    if tasks.plan is None or tasks.plan.hash != tasks.persisted.plan:
        return False
    persisted = [tasks.persisted.task(n) for n in range(len(tasks.plan.tasks))]
    return all(t.has_ended or (t.started is not None and t.pod_hash == pod_hash(tasks.plan, t.id)) for t in persisted)
