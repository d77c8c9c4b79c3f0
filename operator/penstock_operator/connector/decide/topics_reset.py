"""The reset of a Connector's active topics that an annotation asks for, in any state (KIP-558). Pure.

It has no pod: the operator itself writes tombstones for the topics, and then a control record with the mark of the action,
by which running tasks record anew what they use. That record, read back, says that all of it was done, whoever was killed
meanwhile.
"""

from dataclasses import dataclass, replace

from penstock_operator.connector.decide.offsets_outcome import final, is_same
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.offsets_requests import RESET_TOPICS
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.names import digest

__all__ = ["TopicsReset", "reset_topics"]

_DONE = "the active topics are forgotten; those that are used come back with their next record"
_DOING = "the active topics are forgotten"


@dataclass(frozen=True, slots=True)
class TopicsReset:
    """What is done about a reset of active topics.

    Attributes:
        persisted: for the status.
        mark: of the reset that is to be written to Kafka; empty: none is.
        requeue_after: look again after so many seconds; None: when something happens.
    """

    persisted: PersistedState
    mark: str = ""
    requeue_after: float | None = None


def reset_topics(observed: Observation, persisted: PersistedState) -> TopicsReset:
    """The step of the oldest reset that is under way.

    Args:
        observed: the Connector; it is not being deleted.
        persisted: as the other steps leave it.
    """
    action = next((a for a in persisted.offsets if a.is_pending and a.action == RESET_TOPICS), None)
    if action is None:
        return TopicsReset(persisted)
    mark = digest(observed.connector.metadata.uid, action.action, action.token)
    if observed.control is not None and observed.control.topics_reset == mark:
        done, waits = final(observed, action, "Succeeded", _DONE), ""
    else:
        waits = _waits(observed)
        done = replace(action, message=f"waits: {waits}" if waits else _DOING)
    offsets = tuple(done if is_same(a, action) else a for a in persisted.offsets)
    if done.is_pending:
        return TopicsReset(replace(persisted, offsets=offsets), "" if waits else mark)
    return TopicsReset(replace(persisted, offsets=offsets), requeue_after=0.0)  # another may wait behind it


def _waits(observed: Observation) -> str:
    """What comes before it; empty: nothing. It must be known whose the topics are."""
    if observed.name_refusal is not None:
        return observed.name_refusal.message
    if unseen := observed.name_unseen or observed.kafka_trouble:
        return f"it is not known what stands in Kafka under the name of this connector: {unseen}"
    return "the status topic is not read yet" if observed.status_unread else ""
