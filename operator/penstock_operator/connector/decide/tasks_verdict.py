"""State of a connector, and the verdict for its condition Ready, from the states of its tasks. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock_model.resources.connector import State
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import PersistedTask
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.reasons import Reason

__all__ = ["Summary", "summarize"]


@dataclass(frozen=True, slots=True)
class Summary:
    """State and verdict of a connector."""

    state: str
    verdict: Verdict


def summarize(observed: Observation, plan: Plan, tasks: Mapping[int, PersistedTask]) -> Summary:
    """Return the state and verdict that follow from the tasks of a plan."""
    paused = observed.connector.spec.state is State.PAUSED
    target = "Paused" if paused else "Running"
    if not plan.tasks:
        return Summary(target, Verdict(Kind.READY, target, "the connector's plugin requests no tasks"))
    every = [tasks[n] for n in range(len(plan.tasks)) if n in tasks]
    on_target = [t for t in every if t.state == target]
    has_ended = [t for t in every if t.has_ended]
    failed = [t for t in has_ended if t.state == "Failed"]
    state = _state(every, on_target, failed, target)
    return Summary(state, _verdict(observed, every, on_target, has_ended, target))


def _state(every: list[PersistedTask], on_target: list[PersistedTask], failed: list[PersistedTask], target: str) -> str:
    if failed:
        return "Failed" if len(failed) == len(every) else "Degraded"
    if len(on_target) == len(every):
        return target
    moving = [t for t in every if t.state in ("Running", "Paused")]
    if moving and len(moving) == len(every):
        return moving[0].state  # they change from paused to running, or back
    return "Degraded" if moving else "Pending"


def _verdict(
    observed: Observation,
    every: list[PersistedTask],
    on_target: list[PersistedTask],
    has_ended: list[PersistedTask],
    target: str,
) -> Verdict:
    final = [t for t in has_ended if t.retry_at is None]
    if final:
        return Verdict(Kind.STALLED, Reason.TASKS_FAILED, _messages(final))
    if has_ended:
        reason = Reason.TASKS_FAILED if any(t.state == "Failed" for t in has_ended) else Reason.TASKS_LOST
        only = {t.reason for t in has_ended}
        return Verdict(
            Kind.IN_PROGRESS, Reason.UNAVAILABLE if only == {Reason.UNAVAILABLE} else reason, _messages(has_ended)
        )
    hindered = [t for t in every if t.message and t.state in ("Pending", "Running", "Paused")]
    if hindered:
        return Verdict(Kind.IN_PROGRESS, hindered[0].reason or Reason.STARTING, _messages(hindered))
    if observed.records.trouble is not None:
        text = (
            f"the operator cannot read the reports of the tasks, which may still be running: {observed.records.trouble}"
        )
        return Verdict(Kind.UNKNOWN, Reason.KAFKA_UNAVAILABLE, text)
    if len(on_target) < len(every):
        behind = [t for t in every if t not in on_target]
        doing = Reason.RESTARTING if any(t.state == "Restarting" for t in behind) else Reason.STARTING
        if all(t.state in ("Running", "Paused") for t in behind):
            doing = Reason.PAUSING if target == "Paused" else Reason.RESUMING
        rest = f"{'task' if len(behind) == 1 else 'tasks'} {', '.join(str(t.id) for t in behind)}"
        if any(t.message for t in behind):
            rest = _messages(behind)
        return Verdict(
            Kind.IN_PROGRESS, doing, f"{len(on_target)} of {len(every)} tasks are {target}; waiting for {rest}"
        )
    number = "the task is" if len(every) == 1 else f"all {len(every)} tasks are"
    most = observed.connector.spec.tasks_max
    fewer = f"; its plugin requests {len(every)} of at most {most}" if len(every) < most else ""
    return Verdict(Kind.READY, target, f"{number} {target}{fewer}")


def _messages(tasks: list[PersistedTask]) -> str:
    """Return each message once, with the tasks that have it."""
    by_message: dict[str, list[int]] = {}
    for task in tasks:
        by_message.setdefault(task.message or task.reason, []).append(task.id)
    parts = []
    for message, numbers in by_message.items():
        name = "task" if len(numbers) == 1 else "tasks"
        parts.append(f"{name} {', '.join(map(str, numbers))}: {message}")
    return "; ".join(parts)
