"""Reset of a Connector's active topics, which an annotation requests in any state of the Connector (KIP-558). Pure.

It needs no pod: the operator writes tombstones for the topics, and then a control record with the mark of the action, which
makes running tasks record the topics that they use again. Reading that record back proves that the reset is complete, even
if processes were killed in the meantime.
"""

from dataclasses import dataclass, replace

from penstock_operator.connector.decide.offsets_outcome import final, is_same
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.offsets_requests import RESET_TOPICS
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.names import digest

__all__ = ["TopicsReset", "reset_topics"]

_DONE = "the active topics have been reset; topics in use reappear with their next record"
_DOING = "the active topics are being reset"


@dataclass(frozen=True, slots=True)
class TopicsReset:
    """Step for a reset of active topics.

    Attributes:
        persisted: state for the status.
        mark: mark of the reset to write to Kafka; empty: none.
        requeue_after: check again after this many seconds; None: when something happens.
    """

    persisted: PersistedState
    mark: str = ""
    requeue_after: float | None = None


def reset_topics(observed: Observation, persisted: PersistedState) -> TopicsReset:
    """Return the step for the oldest pending reset.

    Args:
        observed: the Connector, which is not being deleted.
        persisted: its state after the other steps.
    """
    action = next((a for a in persisted.offsets if a.is_pending and a.action == RESET_TOPICS), None)
    if action is None:
        return TopicsReset(persisted)
    mark = digest(observed.connector.metadata.uid, action.action, action.token)
    if observed.records.control is not None and observed.records.control.topics_reset == mark:
        done, waits = final(observed, action, "Succeeded", _DONE), ""
    else:
        waits = _waits(observed)
        done = replace(action, message=f"waiting: {waits}" if waits else _DOING)
    offsets = tuple(done if is_same(a, action) else a for a in persisted.offsets)
    if done.is_pending:
        return TopicsReset(replace(persisted, offsets=offsets), "" if waits else mark)
    return TopicsReset(replace(persisted, offsets=offsets), requeue_after=0.0)  # another action may wait for it


def _waits(observed: Observation) -> str:
    """Return why the reset must wait, for example until the owner of the topics is known; empty: it need not."""
    if observed.name.refusal is not None:
        return observed.name.refusal.message
    if unseen := observed.name.unknown_cause or observed.records.trouble:
        return f"the operator cannot read the records in Kafka under the name of this connector: {unseen}"
    return "the status topic has not been read yet" if observed.records.is_unread else ""
