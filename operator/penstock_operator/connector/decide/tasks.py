"""The tasks of a plan: all anew where their set changes, one by one where it does not. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action
from penstock_model.contracts.task_spec import TaskState
from penstock_model.resources.connector import State
from penstock_operator.connector.decide import job_step, task_step
from penstock_operator.connector.decide.decision import CreateJob, CreateTask, Decision, job_facts, named
from penstock_operator.connector.decide.pod_identity import LifeOf
from penstock_operator.connector.decide.restart_requests import Requests
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.observe.pod_status import Phase, Pod, TaskPod
from penstock_operator.connector.persisted_state import JobMemory, Memory, TaskMemory
from penstock_operator.connector.plans import Plan
from penstock_operator.connector.render.conditions import Kind, Verdict
from penstock_operator.connector.render.names import digest, pod_name
from penstock_operator.connector.render.summary import summarize
from penstock_operator.reasons import Reason

__all__ = ["run", "to_be_prepared_anew"]

_KEPT_PLANS: Final = 2
_LATE: Final = "a job pod of this Connector that came late has shut"
_LOOK: Final = 10.0
"""Should nobody tell that the status topic can be read."""


def to_be_prepared_anew(facts: Observation) -> Memory:
    """The memory without its preparation, where tasks have left for a later one of this very Connector.

    A job pod whose node stood still may go on after another has taken its place, and shut out the tasks that run by then:
    they would leave for ever. That happens at the pace of tasks that are lost in a row. Where somebody else has prepared,
    nothing is done here: two operators that use one name would shut out each other's tasks for ever.
    """
    memory, now = facts.memory, facts.now
    left = {n for n, t in memory.tasks.items() if t.over and t.reason == Reason.SUPERSEDED}
    if not facts.is_overtaken_by_itself or all((memory.tasks[n].retry_at or 0.0) > now for n in left):
        return memory
    left |= {p.task for p in facts.task_pods if _has_left(p, memory)}
    alive = {p.task for p in _alive(facts.task_pods)}
    losses = max(t.losses for t in memory.tasks.values())
    text = f"{_LATE} its tasks out; they are prepared anew"
    tasks = dict(memory.tasks)
    for n, t in memory.tasks.items():
        if n in left | alive:
            begun = replace(t, over=False, retry_at=None, losses=losses, restarts=t.restarts + (n in left))
            tasks[n] = begun.to("Restarting", now, Reason.PREPARING, text)
    return replace(memory, fence="", tasks=tasks)


def _has_left(pod: TaskPod, memory: Memory) -> bool:
    is_last = pod.incarnation == memory.task(pod.task).incarnation
    return is_last and pod.ended is not None and pod.ended.code == ExitCode.SUPERSEDED


def run(facts: Observation, plan: Plan, life: LifeOf, asked: Requests, planned: Decision) -> Decision:
    """What becomes of the tasks.

    Args:
        facts: with the memory that `planned` leaves.
        plan: what is asked for, or the last good one while there is no other.
        life: what a task's pod must be made from.
        asked: restarts.
        planned: what planning does besides.
    """
    memory = facts.memory
    if facts.is_prepared(plan) or not plan.tasks:
        return _tasks(facts, plan, life, asked, planned)
    if planned.config.valid is None:  # the plan that is being made decides how to go on
        return replace(planned, plan=plan, state=summarize(facts, plan, memory.tasks).state)
    return _anew(facts, plan, planned)


def _anew(facts: Observation, plan: Plan, planned: Decision) -> Decision:
    """Another set of tasks: all of the old ones go, then they are shut out, then the new ones come."""
    tasks = facts.memory.tasks
    if all(t.reason != Reason.PREPARING for t in tasks.values()):  # else the tasks are the same, and go on counting
        tasks = {n: _afresh(t, facts.now) for n, t in tasks.items()}
    memory = replace(facts.memory, tasks=tasks)
    alive = [p for p in facts.task_pods if p.lives(facts.now, facts.patience)]
    found = replace(planned, memory=memory, plan=plan, state="Pending")
    if alive:
        text = f"the tasks begin anew; waits for the end of {named(alive)}"
        going = tuple(p for p in alive if p.leaving is None)
        found = replace(found, delete=(*planned.delete, *going), again=_until_given_up(facts, alive))
        return _under_way(found, planned, Reason.RESTARTING, text)
    if facts.name_unseen:  # somebody's tasks may run under it, and would be shut out
        reason = Reason.WAITING if facts.kafka_trouble is None else Reason.KAFKA_UNAVAILABLE
        text = f"starts once it is known that nobody has the name {facts.connector.connect_name} in Kafka"
        return _under_way(replace(found, again=_LOOK), planned, reason, f"{text}: {facts.name_unseen}")
    fence = plan.fence(facts.connector.connect_name)
    before = memory.standing.generation if memory.standing is not None else 0
    key = digest(
        plan.hash, fence, before, facts.secrets.hash
    )  # a preparation that failed begins anew with another Secret
    step = job_step.step(job_facts(facts, Action.PREPARE, key))
    memory = replace(memory, job=step.memory, fence="")  # whichever plan comes next: this pod may shut out its tasks
    found = replace(found, memory=memory, delete=tuple(dict.fromkeys((*planned.delete, *step.delete))))
    if step.answer is not None and step.answer.standing is not None:
        memory = replace(memory, standing=step.answer.standing, fence=fence)
        return _under_way(
            replace(found, memory=memory, again=0.0), planned, Reason.STARTING, "the tasks are about to start"
        )
    create = () if step.create is None else (CreateJob(step.create, Action.PREPARE, key, plan=plan),)
    found = replace(found, create=(*planned.create, *create), again=step.again, queued=step.queued)
    if step.memory.reason == Reason.PREPARE_FAILED:  # told while it is tried again, too
        verdict = Verdict(Kind.STALLED, Reason.PREPARE_FAILED, step.memory.message)
        return replace(found, verdict=verdict, state="Failed")
    return _under_way(found, planned, step.reason, step.message)


def _until_given_up(facts: Observation, pods: Sequence[TaskPod]) -> float | None:
    """When the first of these is taken to be on a node that is away."""
    leaving = [p.leaves_by + facts.patience - facts.now for p in pods if p.leaves_by is not None]
    return min(leaving, default=None)


def _under_way(found: Decision, planned: Decision, reason: str, message: str) -> Decision:
    """Unless planning has more important news."""
    if planned.config.valid is not True:
        return found
    return replace(found, verdict=Verdict(Kind.UNDER_WAY, reason, message))


def _afresh(task: TaskMemory, now: float) -> TaskMemory:
    begun = replace(task, over=False, failures=0, losses=0, unavailable=0, retry_at=None, trace=None)
    return begun.to("Restarting", now, Reason.SPEC_CHANGED, "begins anew with the other tasks")


def _tasks(facts: Observation, plan: Plan, life: LifeOf, asked: Requests, planned: Decision) -> Decision:
    memory = facts.memory
    wanted = TaskState.PAUSED if facts.connector.spec.state is State.PAUSED else TaskState.RUNNING
    tasks: dict[int, TaskMemory] = {}
    delete: list[Pod] = [*planned.delete]
    create: list[CreateJob | CreateTask] = [*planned.create]
    again = [planned.again]
    for number in range(len(plan.tasks)):
        step = task_step.step(_task_facts(facts, plan, number, life, wanted, asked))
        tasks[number] = replace(step.memory, versions=step.memory.versions or plan.versions(number))
        delete += step.delete
        again.append(step.again)
        if step.create is not None:
            assert memory.standing is not None
            create.append(CreateTask(plan, number, step.create, memory.standing, wanted, life(plan, number)))
    delete += (p for p in facts.task_pods if p.task >= len(plan.tasks) and p.leaving is None)
    settled = planned.config.valid is True
    is_over = settled and (planned.pending is None or not planned.pending.planning)  # no plan is being made
    delete += (p for p in facts.job_pods if p.leaving is None and (is_over or p.action != Action.PLAN))
    if is_over:
        memory = replace(memory, job=JobMemory())
    found = summarize(facts, plan, tasks)
    return replace(
        planned,
        memory=replace(memory, tasks=tasks),
        verdict=found.verdict if settled else planned.verdict,
        state=found.state,
        plan=plan,
        tell=wanted if _unaware(facts, facts.task_pods, wanted) else None,
        delete=tuple(dict.fromkeys(delete)),
        create=tuple(create),
        drop=_old_plans(facts, plan),
        again=min((a for a in again if a is not None), default=None),
    )


def _task_facts(
    facts: Observation, plan: Plan, number: int, life: LifeOf, wanted: TaskState, asked: Requests
) -> task_step.TaskFacts:
    memory = facts.memory.task(number)
    own = [p for p in facts.task_pods if p.task == number]
    name = facts.connector.metadata.name
    possible = [pod_name(name, number, memory.incarnation), pod_name(name, number, memory.incarnation + 1)]
    return task_step.TaskFacts(
        connector=name, memory=memory, pods=own, report=facts.reports.get(number), life=life(plan, number),
        acted=_acted(facts, own, wanted), policy=facts.connector.spec.restart, asked=number in asked.tasks,
        waits=asked.later, overtaken=_overtaken(facts),
        refusal=next((facts.refusals[n] for n in possible if n in facts.refusals), None), patience=facts.patience,
        now=facts.now,
    )  # fmt: skip


def _overtaken(facts: Observation) -> str:
    """For whom a task has left, where that is known."""
    if facts.overtaken_by is None:
        return ""
    if facts.is_overtaken_by_itself:
        return f"{_LATE} it out, and it is prepared anew"
    return (
        f"somebody else has started a connector of the name {facts.connector.connect_name} in Kafka (another operator, "
        f"penstock run) and has shut this one out; end that one, then restart this one (annotation penstock.dev/restart), "
        f"or make it anew with another spec.connectName"
    )


def _alive(pods: Sequence[TaskPod]) -> list[TaskPod]:
    return [p for p in pods if p.phase is not Phase.ENDED and p.leaving is None]


def _told(facts: Observation, pod: TaskPod) -> tuple[int, str]:
    """The generation and the state that a pod was told last."""
    if facts.control is not None and facts.control.generation > pod.generation:
        return facts.control.generation, facts.control.state
    return pod.generation, pod.state


def _unaware(facts: Observation, pods: Sequence[TaskPod], wanted: TaskState) -> bool:
    """Whether one of these has not been told what it is to do."""
    return any(_told(facts, p)[1] != wanted for p in _alive(pods))


def _acted(facts: Observation, pods: Sequence[TaskPod], wanted: TaskState) -> int:
    """The generation that a task's report must name to count."""
    if _unaware(facts, pods, wanted):
        return facts.connector.metadata.generation
    return max((_told(facts, p)[0] for p in _alive(pods)), default=0)


def _old_plans(facts: Observation, plan: Plan) -> tuple[str, ...]:
    """All but the present plan and the one before it."""
    others = [p for p in facts.plans if p.hash != plan.hash]
    return tuple(p.hash for p in others[: max(0, len(others) - (_KEPT_PLANS - 1))])
