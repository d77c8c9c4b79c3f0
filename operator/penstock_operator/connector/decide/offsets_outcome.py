"""Common parts of all offsets actions: obstacles, their entry in the status, and their step. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from penstock_model.contracts.job import JobAnswer, Outcome
from penstock_operator.connector.decide.held_template import is_template_refused
from penstock_operator.connector.model.decision import CreateJob
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.offsets_list_map import OffsetsList
from penstock_operator.connector.model.persisted_state import OffsetsAction, PersistedState
from penstock_operator.connector.model.pod_status import JobPod

__all__ = ["OffsetsStep", "answered", "final", "finished", "is_same", "pending", "waits_of_any"]

_RESULTS: Final[Mapping[Outcome, str]] = {
    Outcome.DONE: "Succeeded",
    Outcome.INVALID: "Refused",
    Outcome.REFUSED: "Refused",
    Outcome.SUPERSEDED: "Refused",
    Outcome.UNAVAILABLE: "Failed",
    Outcome.FAILED: "Failed",
}


@dataclass(frozen=True, slots=True)
class OffsetsStep:
    """Step for offsets actions.

    Attributes:
        persisted: state for the status.
        create: pod of an action.
        publish: list to write; None: none.
        delete: pods of actions to delete.
        requeue_after: check again after this many seconds; None: when something happens.
        queued: whether the pod waits for a job slot.
    """

    persisted: PersistedState
    create: tuple[CreateJob, ...] = ()
    publish: OffsetsList | None = None
    delete: tuple[JobPod, ...] = ()
    requeue_after: float | None = None
    queued: bool = False


def waits_of_any(observed: Observation) -> str:
    """Return the message of an action if every action must wait, for example until the owner of the offsets is known.

    The message is empty if there is no such obstacle.
    """
    why = _why_all_wait(observed)
    return f"waiting: {why}" if why else ""


def _why_all_wait(observed: Observation) -> str:
    if observed.name.refusal is not None:
        return observed.name.refusal.message
    if unseen := observed.name.unknown_cause or observed.records.trouble:
        return f"the operator cannot read the records in Kafka under the name of this connector: {unseen}"
    if observed.records.is_unread:
        return "the status topic has not been read yet"
    if is_template_refused(observed):
        return "spec.template is refused (condition ConfigValid), so that no pod can be created"
    return "its namespace is being deleted" if observed.namespace_ends else ""


def pending(
    observed: Observation, action: OffsetsAction, message: str, *, requeue_after: float | None = None
) -> OffsetsStep:
    """Return the step of an action that continues; the message describes its current activity."""
    return OffsetsStep(_with(observed.persisted, replace(action, message=message)), requeue_after=requeue_after)


def finished(observed: Observation, action: OffsetsAction, result: str, message: str) -> OffsetsStep:
    """Return the step of an action that has its result."""
    return OffsetsStep(_with(observed.persisted, final(observed, action, result, message)))


def answered(observed: Observation, action: OffsetsAction, answer: JobAnswer) -> OffsetsStep:
    """Return the step of an action whose result is in its pod's answer."""
    texts = [answer.message, *map(str, answer.problems), *(f"warning: {w}" for w in answer.warnings)]
    reason = "; ".join(filter(None, texts)) or ("" if answer.outcome is Outcome.DONE else "the pod gave no reason")
    return finished(observed, action, _RESULTS[answer.outcome], reason)


def final(observed: Observation, action: OffsetsAction, result: str, message: str) -> OffsetsAction:
    """Return the entry of an action that has its result."""
    at = float(int(observed.now))
    return OffsetsAction(action.action, action.token, result, message, at, content=action.content)


def is_same(action: OffsetsAction, other: OffsetsAction) -> bool:
    """Return whether two actions belong to the same request."""
    return (action.action, action.token, action.content) == (other.action, other.token, other.content)


def _with(persisted: PersistedState, action: OffsetsAction) -> PersistedState:
    """Return the persisted state in which the action replaces its earlier entry."""
    return replace(persisted, offsets=tuple(action if is_same(a, action) else a for a in persisted.offsets))
