"""A connector without tasks: stopped, shut out of its name, or on its way out. Pure."""

from dataclasses import replace
from typing import Final

from penstock_model.contracts.job import Action
from penstock_operator.connector.decide import job_step
from penstock_operator.connector.decide.decision import CreateJob, Decision, config_known, job_facts, named
from penstock_operator.connector.decide.restart_requests import remembered, requests
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.observe.pod_status import Phase, TaskPod
from penstock_operator.connector.persisted_state import JobMemory, TaskMemory
from penstock_operator.connector.render.conditions import Kind, Verdict
from penstock_operator.connector.render.names import digest
from penstock_operator.kubernetes.times import timestamp
from penstock_operator.reasons import Reason

__all__ = ["RELEASED_AFTER", "deleting", "stopped", "without_tasks"]

RELEASED_AFTER: Final = 600.0
"""Seconds after which a Connector that is being deleted is let go although its offsets could not be reset."""
_UNTRIED: Final = 3_600.0
"""The same where that could not even be tried: the operator was away, or all job slots were taken."""


def stopped(facts: Observation) -> Decision:
    """`spec.state: Stopped`."""
    annotations = facts.connector.metadata.annotations
    asked = requests(annotations, facts.memory, wanted=False, tasks=(), now=facts.now)
    handled = remembered(annotations, facts.memory, asked.handled)
    facts = replace(facts, memory=replace(facts.memory, handled=handled))
    verdict = Verdict(Kind.READY, Reason.STOPPED, "no task lives; configuration and offsets stay")
    return without_tasks(facts, verdict, "Stopped")


def without_tasks(facts: Observation, verdict: Verdict, state: str) -> Decision:
    """Pods that there are go; what is said of a connector that reaches its aim so is said once they are gone."""
    pods = [*facts.task_pods, *facts.job_pods]
    config = config_known(facts)
    staying = _staying(facts)
    busy = {p.task for p in staying}
    tasks = {
        # A task's counts begin anew with its next start; its incarnation goes on.
        n: t.to("Stopping", facts.now, Reason.STOPPED) if n in busy else _resting(t, facts.now)
        for n, t in facts.memory.tasks.items()
        if n in busy or t.incarnation
    }
    memory = replace(facts.memory, tasks=tasks, job=JobMemory())
    found = Decision(memory, verdict, config, state, delete=tuple(p for p in pods if p.leaving is None))
    # A job pod on a node that is away does no harm there: its time is over, and no kubelet starts it again.
    jobs = [p for p in facts.job_pods if not p.given_up(facts.now, facts.patience)]
    waited = [*staying, *jobs]
    if waited and verdict.kind is Kind.READY:
        text = f"waits for the end of {named(waited)}"
        left = [p.leaves_by + facts.patience - facts.now for p in jobs if p.leaves_by is not None]
        left += [p.leaves_by - facts.now for p in staying if p.phase is Phase.ENDED and p.leaves_by is not None]
        stopping = Verdict(Kind.UNDER_WAY, Reason.STOPPING, text)
        return replace(found, verdict=stopping, state="Stopping", again=min(left, default=None))
    return found


def _staying(facts: Observation) -> list[TaskPod]:
    """Task pods that are waited for: all but those that have ended, and are still there when their time is over.

    Somebody else's finalizer keeps such a pod. An ended pod goes within its time otherwise, so that no pod is left where
    a stop is told.
    """
    return [p for p in facts.task_pods if p.phase is not Phase.ENDED or p.leaves_by is None or facts.now < p.leaves_by]


def _resting(task: TaskMemory, now: float) -> TaskMemory:
    since = task.since if task.state == "Stopped" else float(int(now))
    return TaskMemory(task.id, state="Stopped", since=since, incarnation=task.incarnation, reason=Reason.STOPPED)


def deleting(facts: Observation) -> Decision:
    """It is being deleted: its tasks end, its offsets are reset where that is asked, then it is let go."""
    found = without_tasks(facts, Verdict(Kind.UNDER_WAY, Reason.DELETING, "its pods end"), "Stopping")
    if not facts.finalizer or facts.deleting is None:
        return found
    if (kept := _kept(facts)) is not None:
        return replace(found, finalizer=False, verdict=Verdict(Kind.UNDER_WAY, *kept))
    key = digest(facts.connector.metadata.uid, "reset")
    job = job_facts(facts, Action.RESET_OFFSETS, key)
    why = job.refusal.message if job.refusal is not None else job.memory.message if job.memory.key == job.name else ""
    staying = _staying(facts)
    if any(p.leaving is not None and facts.now - p.leaving >= RELEASED_AFTER for p in staying):
        why = why or f"{named(staying)} did not end"
    limit = RELEASED_AFTER if why else _UNTRIED
    left = limit - (facts.now - facts.deleting)
    if left <= 0:
        text = f"its offsets could not be reset within {limit / 60:.0f} minutes, and stay: {why or 'no job pod had a turn'}"
        return replace(found, finalizer=False, verdict=Verdict(Kind.UNDER_WAY, Reason.OFFSETS_KEPT, text))
    if staying:
        verdict = Verdict(Kind.UNDER_WAY, Reason.DELETING, f"waits for the end of {named(staying)}")
        ends = [p.leaves_by - facts.now for p in staying if p.phase is Phase.ENDED and p.leaves_by is not None]
        return replace(found, verdict=verdict, again=min(left, RELEASED_AFTER, *ends))
    step = job_step.step(job)
    delete = (*(p for p in found.delete if p.role == "task"), *step.delete)
    memory = replace(found.memory, job=step.memory)
    if step.answer is not None:
        plan = facts.plan(facts.memory.plan)
        verdict = Verdict(Kind.UNDER_WAY, Reason.DELETING, "its offsets are reset")
        if plan is not None and plan.left_behind:
            verdict = Verdict(
                Kind.UNDER_WAY, Reason.OFFSETS_KEPT, f"its offsets are reset, but {plan.left_behind} stay"
            )
        return replace(found, memory=memory, verdict=verdict, delete=delete, finalizer=False)
    failed = step.memory.attempts + (job.refusal.tries if job.refusal is not None else 0)
    create = () if step.create is None else (_reset_pod(facts, step.create, key, failed),)
    message = step.message
    if failed or message != job_step.DOING[Action.RESET_OFFSETS][1]:
        end = timestamp(facts.deleting + RELEASED_AFTER)
        message += f"; without a reset it goes at {end}, and at once with spec.deletion.offsets: Keep"
    return replace(
        found, memory=memory, verdict=Verdict(Kind.UNDER_WAY, step.reason, message), create=create,
        delete=delete, queued=step.queued, again=min(left, step.again if step.again is not None else left),
    )  # fmt: skip


def _reset_pod(facts: Observation, name: str, key: str, failed: int) -> CreateJob:
    """The pod that resets: like the tasks' pods at first, and at every second try as plain as can be.

    A plain one has nothing of the template, which may be what the API server refuses or what no node can start, and the
    image of the release, where that of the last plan may be gone. The template's own may yet be what it needs (a mounted
    certificate), so that both are tried in turn.
    """
    if failed % 2:
        return CreateJob(name, Action.RESET_OFFSETS, key, plain=True)
    return CreateJob(name, Action.RESET_OFFSETS, key, plan=facts.plan(facts.memory.plan))


def _kept(facts: Observation) -> tuple[str, str] | None:
    """Why nothing is reset for a Connector that has the finalizer: a reason and a sentence; None: its offsets are reset.

    An owner may be gone by now under whom it was refused the name: what stands there under the name is the owner's still.
    """
    if facts.name_refusal is not None:
        return facts.name_refusal
    name, memory = facts.connector.connect_name, facts.memory
    if memory.reason in (Reason.NAME_CONFLICT, Reason.NAME_RESERVED):
        return memory.reason, f"it did not own the name {name} in Kafka, whose offsets stay"
    if facts.connector.spec.connect_name is not None and not (memory.has_run or facts.has_claimed):
        return (
            Reason.OFFSETS_KEPT,
            f"it never ran, so that the offsets under the name {name}, which was given to it, stay",
        )
    if facts.connector.spec.deletion.offsets != "Reset":
        return Reason.OFFSETS_KEPT, "its offsets stay, as spec.deletion.offsets asks for by now"
    if facts.namespace_ends:
        return Reason.OFFSETS_KEPT, "its namespace is being deleted, where nothing can be started: its offsets stay"
    return None
