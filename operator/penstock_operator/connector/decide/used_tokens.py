"""Used tokens of requests, stored in Kafka under a Connect name (KIP-875, KIP-558). Pure.

The status has the results of requests, but their effects on the offsets are in Kafka. A Connector that is restored from a
backup has the annotations of the old one and no status, and a status can be removed or replaced by an older one. So tokens
are also looked up in Kafka. They are recorded there before their requests take effect, so that each takes effect once, even
if a process is killed.
"""

from typing import Final

from penstock_model.contracts.task_reports import UsedToken
from penstock_operator.connector.decide.offsets_outcome import final
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.offsets_requests import ALTER, RESET, RESET_TOPICS
from penstock_operator.connector.model.persisted_state import OffsetsAction, PersistedState
from penstock_operator.kubernetes.times import timestamp

__all__ = ["earlier_actions", "newly_used", "refused_if_used"]

_KEPT: Final = 50
"""Maximum number of tokens in the record. Backups with older tokens are not expected to be restored."""
_ACTIONS: Final = frozenset((RESET, ALTER, RESET_TOPICS))
"""Actions whose tokens are recorded. Listing changes nothing, and may be repeated."""


def earlier_actions(observed: Observation) -> tuple[OffsetsAction, ...]:
    """Return an action for each token that was used under this name."""
    return tuple(
        OffsetsAction(u.action, u.token, at=float(u.at), content=u.content) for u in observed.records.used_tokens
    )


def refused_if_used(observed: Observation, action: OffsetsAction) -> OffsetsAction:
    """Return the action, as refused if its token was used before.

    The entry of an action precedes the record of its token. An entry of this Connector that is newer than the record shows
    that the status has lost the first entry.
    """
    if not action.is_pending or action.began is not None or action.pod_uid:
        return action
    uid = observed.connector.metadata.uid
    same = (
        u
        for u in observed.records.used_tokens
        if (u.action, u.token, u.content) == (action.action, action.token, action.content)
    )
    before = next((u for u in same if u.connector_uid != uid or u.at < action.at), None)
    if before is None:
        return action
    who = "an earlier Connector of this name" if before.connector_uid != uid else "this Connector"
    when = timestamp(before.at)
    message = f"nothing was done: {who} has already used this token ({when}); use a new token to repeat the action"
    return final(observed, action, "Refused", message)


def newly_used(observed: Observation, persisted: PersistedState, topics_mark: str) -> tuple[UsedToken, ...]:
    """Return all used tokens for the record in Kafka; empty if the record already has them.

    Args:
        observed: the Connector, which is not being deleted.
        persisted: its state, with the actions that begin now.
        topics_mark: mark of the reset of active topics that begins now; empty: none.
    """
    if observed.name.refusal is not None or observed.records.is_unread:
        return ()
    uid = observed.connector.metadata.uid or ""
    known = {(u.action, u.token, u.content) for u in observed.records.used_tokens}
    new = tuple(
        UsedToken(action=a.action, token=a.token, content=a.content, connector_uid=uid, at=_used_at(a, observed.now))
        for a in persisted.offsets
        if a.action in _ACTIONS and (a.action, a.token, a.content) not in known and _is_used(a, topics_mark)
    )
    return (*observed.records.used_tokens, *new)[-_KEPT:] if new else ()


def _used_at(action: OffsetsAction, now: float) -> int:
    """Return when the token was used, in seconds since 1970.

    A finished action may be recorded later, for example after an upgrade. The time is not before that of the entry, even if
    the clock of the operator that made the entry was ahead.
    """
    return int(max(now, action.at) if action.is_pending else action.at or now)


def _is_used(action: OffsetsAction, topics_mark: str) -> bool:
    begins = bool(topics_mark) if action.action == RESET_TOPICS else action.began is not None
    return begins or not action.is_pending
