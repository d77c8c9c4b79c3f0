"""Tokens of requests that are used up, as Kafka keeps them under a Connect name (KIP-875, KIP-558). Pure.

The status has the results and is deleted with its Connector; the effect of a request on the offsets stays in Kafka. A
Connector that is restored from a backup has the annotations of the old one and no status, so its tokens are looked up in
Kafka. They are recorded there before their first effect, so that each takes effect once, even if a process is killed
meanwhile.
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
"""Maximum number of tokens in the record. Backups that old are not expected to be restored."""
_ACTIONS: Final = frozenset((RESET, ALTER, RESET_TOPICS))
"""Actions whose tokens are recorded. A list changes nothing, and may be made again."""


def earlier_actions(observed: Observation) -> tuple[OffsetsAction, ...]:
    """Return the requests of earlier Connectors of this name, as actions."""
    uid = observed.connector.metadata.uid
    others = (used for used in observed.used_tokens if used.connector_uid != uid)
    return tuple(OffsetsAction(u.action, u.token, at=float(u.at), content=u.content) for u in others)


def refused_if_used(observed: Observation, action: OffsetsAction) -> OffsetsAction:
    """Return the action, which is refused if an earlier Connector of this name has used its token."""
    if not action.is_pending or action.began is not None or action.pod_uid:
        return action
    same = (e for e in earlier_actions(observed) if (e.action, e.token) == (action.action, action.token))
    before = next((e for e in same if e.content == action.content), None)
    if before is None:
        return action
    message = (
        f"nothing was done: an earlier Connector of this name has used this token ({timestamp(before.at)}), and it "
        f"works once; use a new token to do it again"
    )
    return final(observed, action, "Refused", message)


def newly_used(observed: Observation, persisted: PersistedState, topics_mark: str) -> tuple[UsedToken, ...]:
    """Return all used tokens, for the record in Kafka; nothing if it has them.

    Args:
        observed: the Connector; it is not being deleted.
        persisted: with the actions that begin now.
        topics_mark: of the reset of active topics that begins now.
    """
    if observed.name_refusal is not None or observed.status_unread:
        return ()
    uid = observed.connector.metadata.uid or ""
    known = {(u.action, u.token, u.content) for u in observed.used_tokens}
    new = tuple(
        UsedToken(action=a.action, token=a.token, content=a.content, connector_uid=uid, at=_used_at(a, observed.now))
        for a in persisted.offsets
        if a.action in _ACTIONS and (a.action, a.token, a.content) not in known and _is_used(a, topics_mark)
    )
    return (*observed.used_tokens, *new)[-_KEPT:] if new else ()


def _used_at(action: OffsetsAction, now: float) -> int:
    """Return when the token was used. A finished action may be recorded later, for example after an upgrade."""
    return int(now if action.is_pending else action.at or now)


def _is_used(action: OffsetsAction, topics_mark: str) -> bool:
    begins = bool(topics_mark) if action.action == RESET_TOPICS else action.began is not None
    return begins or not action.is_pending
