"""Events: what people see in `kubectl describe`, each from a change between two statuses. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock_operator.connector.decide.decision import Decision
from penstock_operator.connector.persisted_state import Memory, TaskMemory
from penstock_operator.connector.render.conditions import Kind
from penstock_operator.reasons import ConditionType, EventType, Reason, event_type

__all__ = ["Note", "notes"]

_MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Note:
    """One Event of a Connector."""

    type: EventType
    reason: str
    message: str
    action: str


def notes(before: Memory, decision: Decision) -> Iterator[Note]:
    """What has happened between a status and the next."""
    after = decision.memory
    if decision.state != before.state:
        text = f"{before.state or 'New'} -> {decision.state}: {decision.verdict.message}"
        yield Note(event_type(decision.state), decision.state, text[:_MOST], "Reconcile")
    ready = before.conditions.get(ConditionType.READY, {})
    verdict = decision.verdict
    told = decision.state != before.state
    if verdict.reason != ready.get("reason") and not told and verdict.kind is not Kind.READY:
        kind = EventType.WARNING if verdict.kind is Kind.STALLED else event_type(verdict.reason)
        yield Note(kind, verdict.reason, verdict.message[:_MOST], "Reconcile")
    pending = decision.pending
    if pending is not None and pending.reason != before.conditions.get(ConditionType.UPDATE_PENDING, {}).get("reason"):
        yield Note(event_type(pending.reason), pending.reason, pending.message[:_MOST], "Rollout")
    for number, task in after.tasks.items():
        yield from _of_task(before.tasks.get(number, TaskMemory(number)), task)
    for handled in after.handled:
        if handled not in before.handled:
            reason = Reason.RESTART_REQUESTED if handled.result == "Succeeded" else Reason.RESTART_REFUSED
            yield Note(
                reason.event, reason, f"{handled.action} ({handled.token}): {handled.message}"[:_MOST], "Restart"
            )
    for handled in after.offsets:
        if handled not in before.offsets and handled.result == "Refused":
            text = f"{handled.action} ({handled.token}): {handled.message}"
            yield Note(EventType.WARNING, Reason.OFFSETS_ACTION_REFUSED, text[:_MOST], "Offsets")
    if decision.finalizer is False and verdict.reason == Reason.OFFSETS_KEPT:
        yield Note(EventType.WARNING, Reason.OFFSETS_KEPT, verdict.message[:_MOST], "Delete")


def _of_task(before: TaskMemory, after: TaskMemory) -> Iterator[Note]:
    if after.failures > before.failures or (after.over and not before.over and after.reason == Reason.CONFIG_INVALID):
        yield Note(EventType.WARNING, Reason.TASK_FAILED, f"task {after.id}: {after.message}"[:_MOST], "Restart")
    if after.losses > before.losses:
        yield Note(EventType.WARNING, Reason.TASK_LOST, f"task {after.id}: {after.message}"[:_MOST], "Restart")
    if after.unavailable > before.unavailable:
        yield Note(EventType.WARNING, Reason.TASK_UNAVAILABLE, f"task {after.id}: {after.message}"[:_MOST], "Restart")
