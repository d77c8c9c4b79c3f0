"""Reset of a Connector's active topics that an annotation requests, in any state (KIP-558). Pure.

It has no pod: the operator writes tombstones for the topics, and then a control record with the mark of the action, which
makes running tasks record the topics that they use again. That record, read back, proves that all of it was done, even if
processes were killed meanwhile.
"""

from dataclasses import dataclass, replace

from penstock_operator.connector.decide.offsets_outcome import final, is_same
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.offsets_requests import RESET_TOPICS
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.names import digest

__all__ = ["TopicsReset", "reset_topics"]

_DONE = "the active topics are reset; topics in use reappear with their next record"
_DOING = "the active topics are reset"


@dataclass(frozen=True, slots=True)
class TopicsReset:
    """Step for a reset of active topics.

    Attributes:
        persisted: for the status.
        mark: of the reset to write to Kafka; empty: none.
        requeue_after: check again after this many seconds; None: when something happens.
    """

    persisted: PersistedState
    mark: str = ""
    requeue_after: float | None = None


def reset_topics(observed: Observation, persisted: PersistedState) -> TopicsReset:
    """Return the step of the oldest reset in progress.

    Args:
        observed: the Connector; it is not being deleted.
        persisted: as the other steps leave it.
    """
    action = next((a for a in persisted.offsets if a.is_pending and a.action == RESET_TOPICS), None)
    if action is None:
        return TopicsReset(persisted)
    mark = digest(observed.connector.metadata.uid, action.action, action.token)
    if observed.records.control is not None and observed.records.control.topics_reset == mark:
        done, waits = final(observed, action, "Succeeded", _DONE), ""
    else:
        waits = _waits(observed)
        done = replace(action, message=f"waits: {waits}" if waits else _DOING)
    offsets = tuple(done if is_same(a, action) else a for a in persisted.offsets)
    if done.is_pending:
        return TopicsReset(replace(persisted, offsets=offsets), "" if waits else mark)
    return TopicsReset(replace(persisted, offsets=offsets), requeue_after=0.0)  # another one may wait for it


def _waits(observed: Observation) -> str:
    """Return why it must wait; empty: it need not. The owner of the topics must be known."""
    if observed.name.refusal is not None:
        return observed.name.refusal.message
    if unseen := observed.name.unknown_cause or observed.records.trouble:
        return f"the records in Kafka under the name of this connector are not known: {unseen}"
    return "the status topic is not read yet" if observed.records.is_unread else ""
