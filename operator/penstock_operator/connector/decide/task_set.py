"""Run the tasks of a plan. They are restarted together if their set changes, otherwise one by one. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action
from penstock_model.contracts.task_spec import TaskState
from penstock_model.resources.connector import State
from penstock_operator.connector.decide import job_step, task_step
from penstock_operator.connector.decide.canary import Canary
from penstock_operator.connector.decide.job_step import JobObservation
from penstock_operator.connector.decide.restart_requests import RestartRequests
from penstock_operator.connector.decide.step_outcome import StepOutcome, pod_names, soonest
from penstock_operator.connector.decide.task_observation import LATE_JOB_POD, TaskObservation, living, needs_control
from penstock_operator.connector.decide.tasks_verdict import summarize
from penstock_operator.connector.model.decision import CreateJob, CreateTask
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import FailedJob, PersistedState, PersistedTask
from penstock_operator.connector.model.plans import Plan, PodHashOf
from penstock_operator.connector.model.pod_status import Pod, TaskPod
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.names import digest
from penstock_operator.reasons import Reason

__all__ = ["run_tasks", "without_lost_preparation"]

_PLANS_KEPT: Final = 2
_LOOK: Final = 10.0
"""Seconds until the next check, in case no event reports that the status topic can be read again."""


def without_lost_preparation(observed: Observation) -> PersistedState:
    """Return the persisted state without its preparation, if a later one of the same Connector has fenced its tasks.

    A job pod on a node that was frozen may resume after another pod has replaced it, and fence the tasks that run by then:
    each of their incarnations would be superseded. They are prepared again, with the backoff of repeatedly lost tasks. After
    a preparation by another connector nothing is done: two operators that use the same name would otherwise fence each
    other's tasks endlessly.
    """
    persisted, now = observed.persisted, observed.now
    left = {n for n, t in persisted.tasks.items() if t.has_ended and t.reason == Reason.SUPERSEDED}
    if not observed.is_overtaken_by_itself or all((persisted.tasks[n].retry_at or 0.0) > now for n in left):
        return persisted
    left |= {p.task for p in observed.pods.tasks if _has_left(p, persisted)}
    alive = {p.task for p in living(observed.pods.tasks)}
    losses = max(t.losses for t in persisted.tasks.values())
    text = f"{LATE_JOB_POD} its tasks; they are prepared again"
    tasks = dict(persisted.tasks)
    for n, t in persisted.tasks.items():
        if n in left | alive:
            begun = replace(t, has_ended=False, retry_at=None, losses=losses, restarts=t.restarts + (n in left))
            tasks[n] = begun.to("Restarting", now, Reason.PREPARING, text)
    return replace(persisted, fence="", tasks=tasks)


def _has_left(pod: TaskPod, persisted: PersistedState) -> bool:
    is_last = pod.incarnation == persisted.task(pod.task).incarnation
    return is_last and pod.ended is not None and pod.ended.code == ExitCode.SUPERSEDED


def run_tasks(
    observed: Observation,
    plan: Plan,
    pod_hash: PodHashOf,
    restarts: RestartRequests,
    planning: StepOutcome,
    canary: Canary | None = None,
) -> StepOutcome:
    """Return the outcome for the tasks of a plan.

    Args:
        observed: the Connector, with its persisted state after planning.
        plan: the requested plan, or the last good one until there is another.
        pod_hash: returns the hash that a task's pod must have.
        restarts: restarts requested by annotations.
        planning: outcome of planning; its verdict is kept unless the configuration is valid.
        canary: first tasks, which run another plan with the same fence; None: all tasks run `plan`.
    """
    if observed.is_prepared(plan) or not plan.tasks:
        return _run_one_by_one(observed, plan, pod_hash, restarts, planning, canary)
    if planning.config.valid is None:  # the outcome of planning decides how to continue
        return planning.then(
            persisted=observed.persisted, plan=plan, state=summarize(observed, plan, observed.persisted.tasks).state
        )
    return _begin_anew(observed, plan, planning)


def _begin_anew(observed: Observation, plan: Plan, planning: StepOutcome) -> StepOutcome:
    """Replace the set of tasks: all old pods are stopped, old tasks are fenced, then the new ones start."""
    tasks = observed.persisted.tasks
    has_others = max(len(tasks), len(plan.tasks)) > 1
    if all(t.reason != Reason.PREPARING for t in tasks.values()):  # else the set is the same, and keeps its counters
        cause = "together with the other tasks" if has_others else "for a change of configuration"
        tasks = {n: _reset_counters(t, observed.now, cause) for n, t in tasks.items()}
    persisted = replace(observed.persisted, tasks=tasks)

    def under_way(reason: str, message: str) -> Verdict:
        return Verdict(Kind.IN_PROGRESS, reason, message) if planning.config.valid is True else planning.verdict

    before = planning.then(persisted=persisted, plan=plan, state="Pending")
    alive = [p for p in observed.pods.tasks if p.lives(observed.now, observed.release.node_timeout)]
    if alive:
        which = "all tasks are restarted together" if has_others else "the task is restarted"
        text = f"{which}; waiting for {pod_names(alive)} to terminate"
        return before.then(
            verdict=under_way(Reason.RESTARTING, text),
            delete=tuple(p for p in alive if p.leaving is None),
            requeue_after=_until_node_is_lost(observed, alive),
        )
    if observed.name.unknown_cause:  # tasks of another connector may run under this name, and would be fenced
        reason = Reason.WAITING if observed.records.trouble is None else Reason.KAFKA_UNAVAILABLE
        text = (
            f"starts once it is known that no other connector has the name {observed.connector.connect_name} in Kafka"
        )
        return before.then(verdict=under_way(reason, f"{text}: {observed.name.unknown_cause}"), requeue_after=_LOOK)
    fence = plan.fence(observed.connector.connect_name)
    generation = persisted.epoch.generation if persisted.epoch is not None else 0
    # After a change of a Secret, a failed preparation is retried immediately, under another key.
    key = digest(plan.hash, fence, generation, observed.requested.secrets.hash)
    step = job_step.step(JobObservation.of(observed, Action.PREPARE, key))
    # This pod may fence the tasks of all plans, so any plan must be prepared again.
    persisted = replace(persisted, job=step.persisted, fence="")
    if step.answer is not None and step.answer.epoch is not None:
        return before.then(
            persisted=replace(persisted, epoch=step.answer.epoch, fence=fence),
            delete=step.delete,
            requeue_after=0.0,
            verdict=under_way(Reason.STARTING, "the tasks are about to start"),
        )
    verdict, state = under_way(step.reason, step.message), "Pending"
    if step.persisted.reason == Reason.PREPARE_FAILED:  # also while the next attempt is in progress
        verdict, state = Verdict(Kind.STALLED, Reason.PREPARE_FAILED, step.persisted.message), "Failed"
    create = () if step.create is None else (CreateJob(step.create, Action.PREPARE, key, plan=plan),)
    return before.then(
        persisted=persisted,
        verdict=verdict,
        state=state,
        create=create,
        delete=step.delete,
        requeue_after=step.requeue_after,
        queued=step.queued,
    )


def _until_node_is_lost(observed: Observation, pods: Sequence[TaskPod]) -> float | None:
    """Return the seconds until the first node of these pods counts as lost; None: no pod is being deleted."""
    leaving = [p.leaves_by + observed.release.node_timeout - observed.now for p in pods if p.leaves_by is not None]
    return min(leaving, default=None)


def _reset_counters(task: PersistedTask, now: float, cause: str) -> PersistedTask:
    begun = replace(task, has_ended=False, failures=0, losses=0, unavailable=0, retry_at=None, trace=None)
    return begun.to("Restarting", now, Reason.SPEC_CHANGED, f"restarts {cause}")


def _run_one_by_one(
    observed: Observation,
    plan: Plan,
    pod_hash: PodHashOf,
    restarts: RestartRequests,
    planning: StepOutcome,
    canary: Canary | None,
) -> StepOutcome:
    """Keep the set of tasks; each task continues or is replaced independently."""
    persisted = observed.persisted
    wanted = TaskState.PAUSED if observed.connector.spec.state is State.PAUSED else TaskState.RUNNING
    tasks: dict[int, PersistedTask] = {}
    delete: list[Pod] = []
    create: list[CreateTask] = []
    requeue_after: list[float | None] = []
    for number in range(len(plan.tasks)):
        own = plan if canary is None else canary.plan_of(number, plan)
        step = task_step.step(TaskObservation.of(observed, own, number, pod_hash, wanted, restarts))
        tasks[number] = replace(step.persisted, versions=step.persisted.versions or own.versions(number))
        delete += step.delete
        requeue_after.append(step.requeue_after)
        if step.create is not None:
            assert persisted.epoch is not None
            create.append(CreateTask(own, number, step.create, persisted.epoch, wanted, pod_hash(own, number)))
    delete += (p for p in observed.pods.tasks if p.task >= len(plan.tasks) and p.leaving is None)
    is_valid = planning.config.valid is True
    is_planned = is_valid and (planning.pending is None or not planning.pending.planning)  # planning is done
    delete += (p for p in observed.pods.jobs if p.leaving is None and (is_planned or p.action != Action.PLAN))
    if is_planned:
        persisted = replace(persisted, job=FailedJob())
    connector = summarize(observed, plan, tasks)
    return planning.then(
        persisted=replace(persisted, tasks=tasks),
        verdict=connector.verdict if is_valid else planning.verdict,
        state=connector.state,
        plan=plan,
        control_state=wanted if needs_control(observed, observed.pods.tasks, wanted) else None,
        delete=tuple(delete),
        create=tuple(create),
        drop=_plans_to_drop(observed, plan, canary),
        requeue_after=soonest(*requeue_after),
    )


def _plans_to_drop(observed: Observation, plan: Plan, canary: Canary | None) -> tuple[str, ...]:
    """Return the plans to delete: all except the current one, a canary's, and the previous or next one."""
    kept = {plan.hash, *([] if canary is None else [canary.plan.hash])}
    others = [p for p in observed.plans if p.hash not in kept]
    # The requested plan counts as the newest. Creation times are unreliable: the clocks of API servers differ.
    others.sort(key=lambda p: p.hash == observed.requested.hash)
    return tuple(p.hash for p in others[: max(0, len(others) - (_PLANS_KEPT - 1))])
