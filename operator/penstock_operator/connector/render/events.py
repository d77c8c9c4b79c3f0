"""Render the Events of a Connector from a change of its status. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock_operator.connector.model.decision import Decision
from penstock_operator.connector.model.persisted_state import PersistedState, PersistedTask
from penstock_operator.connector.model.verdict import Kind
from penstock_operator.reasons import ConditionType, EventType, Reason, event_type, is_same_cause

__all__ = ["ConnectorEvent", "events_between"]

_MESSAGE_LENGTH: Final = 1_000
_OFFSETS_REASONS: Final = {
    "Succeeded": Reason.OFFSETS_ACTION_SUCCEEDED,
    "Refused": Reason.OFFSETS_ACTION_REFUSED,
    "Failed": Reason.OFFSETS_ACTION_FAILED,
}


@dataclass(frozen=True, slots=True)
class ConnectorEvent:
    """Event of a Connector; `action` is what the operator was doing."""

    type: EventType
    reason: str
    message: str
    action: str


def events_between(before: PersistedState, decision: Decision) -> Iterator[ConnectorEvent]:
    """Yield the Events for the change from a status to the one that a decision writes."""
    after, verdict, pending = decision.persisted, decision.verdict, decision.pending
    ready_reason = before.conditions.get(ConditionType.READY, {}).get("reason")
    if decision.state != before.state:
        text = f"{before.state or 'New'} -> {decision.state}: {verdict.message}"
        yield _event(event_type(decision.state), decision.state, text, "Reconcile")
    elif verdict.kind is not Kind.READY and not is_same_cause(verdict.reason, ready_reason):
        type_ = EventType.WARNING if verdict.kind is Kind.STALLED else event_type(verdict.reason)
        yield _event(type_, verdict.reason, verdict.message, "Reconcile")
    pending_reason = before.conditions.get(ConditionType.UPDATE_PENDING, {}).get("reason")
    if pending is not None and not is_same_cause(pending.reason, pending_reason):
        yield _event(event_type(pending.reason), pending.reason, pending.message, "Rollout")
    yield from _executors_event(before, decision)
    yield from _autoscaling_event(before, after)
    if after.reconfiguration != before.reconfiguration:
        reason = Reason.RECONFIGURATION_REQUESTED
        yield _event(reason.event, reason, "the plugin requests a task reconfiguration", "Reconcile")
    for number, task in after.tasks.items():
        yield from _task_events(before.tasks.get(number, PersistedTask(number)), task)
    for request in after.handled:
        if request not in before.handled:
            reason = Reason.RESTART_REQUESTED if request.result == "Succeeded" else Reason.RESTART_REFUSED
            yield _event(reason.event, reason, f"{request.action} ({request.token}): {request.message}", "Restart")
    for action in after.offsets:
        if action not in before.offsets and not action.is_pending:
            reason = _OFFSETS_REASONS[action.result]
            yield _event(reason.event, reason, f"{action.action} ({action.token}): {action.message}", "Offsets")
    if decision.finalizer is False and verdict.reason == Reason.OFFSETS_KEPT:
        yield _event(Reason.OFFSETS_KEPT.event, Reason.OFFSETS_KEPT, verdict.message, "Delete")


def _executors_event(before: PersistedState, decision: Decision) -> Iterator[ConnectorEvent]:
    """Yield an Event if executors are missing for a new reason, unless they are only starting."""
    state, known = decision.executors.state, before.conditions.get(ConditionType.EXECUTORS_READY, {})
    if state is None or state.ready or state.reason == Reason.STARTING:
        return
    if is_same_cause(state.reason, known.get("reason")):
        return
    yield _event(EventType.WARNING, state.reason, state.message, "Executors")


def _autoscaling_event(before: PersistedState, after: PersistedState) -> Iterator[ConnectorEvent]:
    """Yield an Event if autoscaling has changed the number of tasks."""
    known, chosen = before.autoscaling, after.autoscaling
    if chosen is None or chosen.last_scale_time is None:
        return
    if known is None or known.last_scale_time != chosen.last_scale_time:
        yield _event(Reason.AUTOSCALED.event, Reason.AUTOSCALED, chosen.message, "Autoscale")


def _task_events(before: PersistedTask, after: PersistedTask) -> Iterator[ConnectorEvent]:
    is_refused = after.has_ended and not before.has_ended and after.reason == Reason.CONFIG_INVALID
    changes = {
        Reason.TASK_FAILED: after.failures > before.failures or is_refused,
        Reason.TASK_LOST: after.losses > before.losses,
        Reason.TASK_UNAVAILABLE: after.unavailable > before.unavailable,
    }
    for reason, has_changed in changes.items():
        if has_changed:
            yield _event(reason.event, reason, f"task {after.id}: {after.message}", "Restart")


def _event(type_: EventType, reason: str, message: str, action: str) -> ConnectorEvent:
    return ConnectorEvent(type_, reason, message[:_MESSAGE_LENGTH], action)
