"""Events: what people see in `kubectl describe`, each from a change between two statuses. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock_operator.connector.decide.decision import Decision
from penstock_operator.connector.persisted_state import Memory, TaskMemory
from penstock_operator.connector.render.conditions import Kind

__all__ = ["Note", "notes"]

_MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Note:
    """One Event of a Connector."""

    warning: bool
    reason: str
    message: str
    action: str


def notes(before: Memory, decision: Decision) -> Iterator[Note]:
    """What has happened between a status and the next."""
    after = decision.memory
    if decision.state != before.state:
        bad = decision.state in ("Failed", "Degraded")
        text = f"{before.state or 'New'} -> {decision.state}: {decision.verdict.message}"
        yield Note(bad, decision.state, text[:_MOST], "Reconcile")
    ready = before.conditions.get("Ready", {})
    verdict = decision.verdict
    told = decision.state != before.state
    if verdict.reason != ready.get("reason") and not told and verdict.kind is not Kind.READY:
        serious = verdict.kind is Kind.STALLED or verdict.reason not in _ROUTINE
        yield Note(serious, verdict.reason, verdict.message[:_MOST], "Reconcile")
    pending = decision.pending
    if pending is not None and pending.reason != before.conditions.get("UpdatePending", {}).get("reason"):
        yield Note(pending.reason not in _ROUTINE, pending.reason, pending.message[:_MOST], "Rollout")
    for number, task in after.tasks.items():
        yield from _of_task(before.tasks.get(number, TaskMemory(number)), task)
    for handled in after.handled:
        if handled not in before.handled:
            refused = handled.result != "Succeeded"
            name = "RestartRefused" if refused else "RestartRequested"
            yield Note(refused, name, f"{handled.action} ({handled.token}): {handled.message}"[:_MOST], "Restart")
    for handled in after.offsets:
        if handled not in before.offsets and handled.result == "Refused":
            text = f"{handled.action} ({handled.token}): {handled.message}"
            yield Note(True, "OffsetsActionRefused", text[:_MOST], "Offsets")
    if decision.finalizer is False and verdict.reason == "OffsetsKept":
        yield Note(True, "OffsetsKept", verdict.message[:_MOST], "Delete")


_ROUTINE = frozenset(("Planning", "Preparing", "Starting", "Restarting", "Stopping", "Pausing", "Resuming", "Deleting",
                      "Waiting", "ResettingOffsets", "RolloutQueued"))  # fmt: skip


def _of_task(before: TaskMemory, after: TaskMemory) -> Iterator[Note]:
    if after.failures > before.failures or (after.over and not before.over and after.reason in _OWN_FAULT):
        yield Note(True, "TaskFailed", f"task {after.id}: {after.message}"[:_MOST], "Restart")
    if after.losses > before.losses:
        yield Note(True, "TaskLost", f"task {after.id}: {after.message}"[:_MOST], "Restart")
    if after.unavailable > before.unavailable:
        yield Note(True, "TaskUnavailable", f"task {after.id}: {after.message}"[:_MOST], "Restart")


_OWN_FAULT = frozenset(("ConfigInvalid",))
