"""Outcome for a Connector that is stopped, does not own its name, or is being deleted. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from penstock_model.contracts.job import Action
from penstock_operator.connector.decide import job_step
from penstock_operator.connector.decide.config_check import known_config
from penstock_operator.connector.decide.job_step import JobObservation
from penstock_operator.connector.decide.restart_requests import kept_actions, restart_requests
from penstock_operator.connector.decide.step_outcome import StepOutcome, pod_names, soonest
from penstock_operator.connector.model.decision import CreateJob
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import FailedJob, PersistedTask
from penstock_operator.connector.model.pod_status import Phase, TaskPod
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.kubernetes.times import timestamp
from penstock_operator.names import digest
from penstock_operator.reasons import Reason

__all__ = ["RELEASED_AFTER", "deleting", "stopped", "without_tasks"]

RELEASED_AFTER: Final = 600.0
"""Seconds after which the finalizer of a deleted Connector is removed although its offsets could not be reset."""
_UNTRIED: Final = 3_600.0
"""Seconds after which the finalizer is removed if the reset was not even tried, because the operator was down or all job
slots were taken.
"""


def stopped(observed: Observation) -> StepOutcome:
    """Stop the tasks for `spec.state: Stopped`, which is reported once all pods have ended."""
    annotations = observed.connector.metadata.annotations
    restarts = restart_requests(annotations, observed.persisted, running=False, tasks=(), now=observed.now)
    handled = kept_actions(annotations, observed.persisted, restarts.handled)
    observed = replace(observed, persisted=replace(observed.persisted, handled=handled))
    # A job pod on a lost node is harmless: its deadline has passed, and no kubelet starts it again.
    jobs = [p for p in observed.pods.jobs if not p.is_on_lost_node(observed.now, observed.release.node_timeout)]
    staying = _staying(observed)
    if not (staying or jobs):
        verdict = Verdict(Kind.READY, Reason.STOPPED, "no task is running; configuration and offsets are kept")
        return without_tasks(observed, verdict, "Stopped")
    verdict = Verdict(Kind.IN_PROGRESS, Reason.STOPPING, f"waiting for {pod_names([*staying, *jobs])} to terminate")
    left = [p.leaves_by + observed.release.node_timeout - observed.now for p in jobs if p.leaves_by is not None]
    return without_tasks(
        observed, verdict, "Stopping", requeue_after=soonest(*left, *_left_of_ended(staying, observed.now))
    )


def without_tasks(
    observed: Observation, verdict: Verdict, state: str, *, requeue_after: float | None = None
) -> StepOutcome:
    """Delete all pods of the Connector."""
    busy = {p.task for p in _staying(observed)}
    tasks = {
        # A task's counts start again from 0 with its next start; its incarnation is kept.
        n: t.to("Stopping", observed.now, Reason.STOPPED, last_loop=None)
        if n in busy
        else _stopped_task(t, observed.now)
        for n, t in observed.persisted.tasks.items()
        if n in busy or t.incarnation
    }
    pods = (*observed.pods.tasks, *observed.pods.jobs)
    return StepOutcome(
        persisted=replace(observed.persisted, tasks=tasks, job=FailedJob()),
        verdict=verdict,
        config=known_config(observed),
        state=state,
        delete=tuple(p for p in pods if p.leaving is None),
        requeue_after=requeue_after,
    )


def _staying(observed: Observation) -> list[TaskPod]:
    """Return the task pods to wait for: all except ended ones that still exist after their grace period.

    Such a pod is kept by a finalizer of another program. Other ended pods are deleted within their grace period, so that
    none is left when the Connector is reported as stopped.
    """
    return [
        p
        for p in observed.pods.tasks
        if p.phase is not Phase.ENDED or p.leaves_by is None or observed.now < p.leaves_by
    ]


def _stopped_task(task: PersistedTask, now: float) -> PersistedTask:
    since = task.since if task.state == "Stopped" else float(int(now))
    return PersistedTask(
        task.id,
        state="Stopped",
        since=since,
        incarnation=task.incarnation,
        reason=Reason.STOPPED,
        last_record=task.last_record,
    )


def _left_of_ended(staying: Sequence[TaskPod], now: float) -> list[float]:
    """Return, for each of these pods that has ended, the seconds for which to wait until it is deleted."""
    return [p.leaves_by - now for p in staying if p.phase is Phase.ENDED and p.leaves_by is not None]


def deleting(observed: Observation) -> StepOutcome:
    """Stop the tasks of a deleted Connector, reset its offsets if that is requested, then remove its finalizer."""
    ending = without_tasks(
        observed, Verdict(Kind.IN_PROGRESS, Reason.DELETING, "its pods are being stopped"), "Stopping"
    )
    ending = replace(ending, delete=(*ending.delete, *(p for p in observed.pods.offsets_jobs if p.leaving is None)))
    if not observed.has_finalizer or observed.deleting is None:
        return ending
    if (kept := _offsets_kept(observed)) is not None:
        return replace(ending, finalizer=False, verdict=Verdict(Kind.IN_PROGRESS, *kept))
    key = digest(observed.connector.metadata.uid, "reset")
    job = JobObservation.of(observed, Action.RESET_OFFSETS, key)
    staying = _staying(observed)
    why = (
        job.refusal.message
        if job.refusal is not None
        else job.persisted.message
        if job.persisted.key == job.name
        else ""
    )
    if any(p.leaving is not None and observed.now - p.leaving >= RELEASED_AFTER for p in staying):
        why = why or f"{pod_names(staying)} did not terminate"
    limit = RELEASED_AFTER if why else _UNTRIED
    left = limit - (observed.now - observed.deleting)
    if left <= 0:
        why = why or "no job pod got a slot"
        text = f"its offsets could not be reset within {limit / 60:.0f} minutes, and are kept: {why}"
        return replace(ending, finalizer=False, verdict=Verdict(Kind.IN_PROGRESS, Reason.OFFSETS_KEPT, text))
    busy = observed.pods_changing_offsets
    if staying or busy:
        verdict = Verdict(Kind.IN_PROGRESS, Reason.DELETING, f"waiting for {pod_names([*staying, *busy])} to terminate")
        ends = [p.leaves_by + observed.release.node_timeout - observed.now for p in busy if p.leaves_by is not None]
        requeue_after = soonest(left, RELEASED_AFTER, *ends, *_left_of_ended(staying, observed.now))
        return replace(ending, verdict=verdict, requeue_after=requeue_after)
    return _reset_offsets(observed, job, ending, observed.deleting, left)


def _reset_offsets(
    observed: Observation, job: JobObservation, ending: StepOutcome, since: float, left: float
) -> StepOutcome:
    step = job_step.step(job)
    outcome = replace(
        ending,
        persisted=replace(ending.persisted, job=step.persisted),
        delete=(*(p for p in ending.delete if p.role == "task"), *step.delete),
    )
    if step.answer is not None:
        plan = observed.plan(observed.persisted.plan)
        verdict = Verdict(Kind.IN_PROGRESS, Reason.DELETING, "its offsets have been reset")
        if plan is not None and plan.left_behind:
            text = f"its offsets have been reset, but {plan.left_behind} are kept"
            verdict = Verdict(Kind.IN_PROGRESS, Reason.OFFSETS_KEPT, text)
        return replace(outcome, verdict=verdict, finalizer=False)
    failed = step.persisted.attempts + (job.refusal.tries if job.refusal is not None else 0)
    create = () if step.create is None else (_reset_pod(observed, step.create, job.key, failed),)
    message = step.message
    if failed or message != job_step.DOING[Action.RESET_OFFSETS][1]:
        end = timestamp(since + RELEASED_AFTER)
        message += (
            f"; without a reset the Connector is released at {end}, or immediately with spec.deletion.offsets: Keep"
        )
    return replace(
        outcome,
        verdict=Verdict(Kind.IN_PROGRESS, step.reason, message),
        create=create,
        queued=step.queued,
        requeue_after=soonest(left, step.requeue_after),
    )


def _reset_pod(observed: Observation, name: str, key: str, failed: int) -> CreateJob:
    """Return the pod that resets the offsets: like the task pods at first, and as plain as possible at every second attempt.

    A plain pod does not use the template, which may be the reason why the API server refuses the pod or no node can start
    it, and it has the image of the release, since that of the last plan may no longer exist. But the pod may need the
    template, for example for a mounted certificate, so both are tried in turn.
    """
    if failed % 2:
        return CreateJob(name, Action.RESET_OFFSETS, key, plain=True)
    return CreateJob(name, Action.RESET_OFFSETS, key, plan=observed.plan(observed.persisted.plan))


def _offsets_kept(observed: Observation) -> tuple[str, str] | None:
    """Return reason and message why offsets are not reset despite the finalizer; None: they are reset.

    The Connector that owned the name may have been deleted since, but the data under the name still belong to it.
    """
    if observed.name.refusal is not None:
        return observed.name.refusal
    name, persisted = observed.connector.connect_name, observed.persisted
    if persisted.reason in (Reason.NAME_CONFLICT, Reason.NAME_RESERVED):
        return persisted.reason, f"it did not own the name {name} in Kafka, whose offsets are kept"
    if observed.connector.spec.connect_name is not None and not (persisted.has_run or observed.name.has_claim):
        return (
            Reason.OFFSETS_KEPT,
            f"it never ran, so the offsets under its spec.connectName {name} are kept",
        )
    if observed.connector.spec.deletion.offsets != "Reset":
        return Reason.OFFSETS_KEPT, "its offsets are kept, as spec.deletion.offsets now requests"
    if observed.namespace_ends:
        return (
            Reason.OFFSETS_KEPT,
            "its namespace is being deleted, and no pod can be created there: its offsets are kept",
        )
    return None
