"""A connector's state and verdict from the states of its tasks. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock_model.resources.connector import State
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.persisted_state import TaskMemory
from penstock_operator.connector.plans import Plan
from penstock_operator.connector.render.conditions import Kind, Verdict
from penstock_operator.reasons import Reason

__all__ = ["Summary", "summary"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Of all tasks."""

    state: str
    verdict: Verdict


def summary(facts: Observation, plan: Plan, tasks: Mapping[int, TaskMemory]) -> Summary:
    """The connector as its tasks make it out."""
    paused = facts.connector.spec.state is State.PAUSED
    wanted = "Paused" if paused else "Running"
    if not plan.tasks:
        return Summary(wanted, Verdict(Kind.READY, wanted, "the connector's plugin asks for no task"))
    every = [tasks[n] for n in range(len(plan.tasks)) if n in tasks]
    there = [t for t in every if t.state == wanted]
    over = [t for t in every if t.over]
    failed = [t for t in over if t.state == "Failed"]
    state = _state(every, there, failed, wanted)
    return Summary(state, _verdict(facts, every, there, over, wanted))


def _state(every: list[TaskMemory], there: list[TaskMemory], failed: list[TaskMemory], wanted: str) -> str:
    if failed:
        return "Failed" if len(failed) == len(every) else "Degraded"
    if len(there) == len(every):
        return wanted
    moving = [t for t in every if t.state in ("Running", "Paused")]
    if moving and len(moving) == len(every):
        return moving[0].state  # on its way from paused to running, or back
    return "Degraded" if moving else "Pending"


def _verdict(
    facts: Observation, every: list[TaskMemory], there: list[TaskMemory], over: list[TaskMemory], wanted: str
) -> Verdict:
    final = [t for t in over if t.retry_at is None]
    if final:
        return Verdict(Kind.STALLED, Reason.TASKS_FAILED, _told(final))
    if over:
        reason = Reason.TASKS_FAILED if any(t.state == "Failed" for t in over) else Reason.TASKS_LOST
        only = {t.reason for t in over}
        return Verdict(Kind.UNDER_WAY, Reason.UNAVAILABLE if only == {Reason.UNAVAILABLE} else reason, _told(over))
    hindered = [t for t in every if t.message and t.state in ("Pending", "Running", "Paused")]
    if hindered:
        return Verdict(Kind.UNDER_WAY, hindered[0].reason or Reason.STARTING, _told(hindered))
    if facts.kafka_trouble is not None:
        text = f"the operator cannot read the tasks' reports, which may go on: {facts.kafka_trouble}"
        return Verdict(Kind.UNKNOWN, Reason.KAFKA_UNAVAILABLE, text)
    if len(there) < len(every):
        behind = [t for t in every if t not in there]
        doing = Reason.RESTARTING if any(t.state == "Restarting" for t in behind) else Reason.STARTING
        if all(t.state in ("Running", "Paused") for t in behind):
            doing = Reason.PAUSING if wanted == "Paused" else Reason.RESUMING
        rest = ", ".join(str(t.id) for t in behind)
        return Verdict(Kind.UNDER_WAY, doing, f"{len(there)} of {len(every)} tasks are {wanted}; waits for task {rest}")
    number = "the task is" if len(every) == 1 else f"all {len(every)} tasks are"
    most = facts.connector.spec.tasks_max
    fewer = f"; its plugin asks for {len(every)} of at most {most}" if len(every) < most else ""
    return Verdict(Kind.READY, wanted, f"{number} {wanted}{fewer}")


def _told(tasks: list[TaskMemory]) -> str:
    """Each task's message once; tasks that say the same together."""
    by_message: dict[str, list[int]] = {}
    for task in tasks:
        by_message.setdefault(task.message or task.reason, []).append(task.id)
    parts = []
    for message, numbers in by_message.items():
        name = "task" if len(numbers) == 1 else "tasks"
        parts.append(f"{name} {', '.join(map(str, numbers))}: {message}")
    return "; ".join(parts)
