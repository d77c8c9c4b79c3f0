"""What the API server refuses a Connector, or does not answer, in words for its status. Pure.

Whatever failed is tried again for ever; whoever has kubectl and not the operator's log sees here why nothing moves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from penstock_operator.connector.render.conditions import Kind, Verdict, undecided_conditions
from penstock_operator.errors import Conflict, NotYet, OperatorError, Refused, Unavailable, Unforeseen
from penstock_operator.reasons import ConditionType, Reason

__all__ = ["ApiTrouble", "cause", "over", "with_trouble"]

_LASTS: Final = 3.0
_BUSY_LASTS: Final = 30.0
"""Seconds. What passes sooner would be two writes for every Connector, and no news; a refusal is told at once."""
_OTHER: Final = 10.0
_SAME: Final = 300.0
"""Seconds for which a text stands, at least, before another cause, or other words for the same one, take its place."""
_KEPT: Final = frozenset((Reason.NAME_CONFLICT, Reason.NAME_RESERVED, Reason.OFFSETS_KEPT))
"""Reasons that a later decision goes by: they stay."""
_REST: Final = "it is tried again by itself, and running tasks go on"


def cause(error: OperatorError) -> tuple[str, str]:
    """Why something was not done: a word, and what to do about it, which may be nothing to tell."""
    match error:
        case Refused():
            return _refused(error)
        case Conflict():
            return Reason.CONFLICT, "something else changes it again and again"
        case NotYet():
            return Reason.API_SERVER_BUSY, ""
        case Unforeseen():
            return Reason.OPERATOR_FAULT, "report it, with the trace that the operator's log holds"
        case Unavailable() if "webhook" in str(error):
            return (
                Reason.ADMISSION_UNAVAILABLE,
                "the server behind that webhook must answer, or its failurePolicy be Ignore",
            )
        case _:
            return Reason.API_SERVER_UNAVAILABLE, ""


def _refused(refused: Refused) -> tuple[str, str]:
    answer = refused.answer
    if refused.namespace_ends:
        return Reason.NAMESPACE_TERMINATING, ""
    if refused.over_quota:
        return Reason.QUOTA_EXCEEDED, "make room in that ResourceQuota of the namespace, or raise it"
    if "violates PodSecurity" in answer:
        return Reason.POD_SECURITY_VIOLATION, ""
    if "admission webhook" in answer or "ValidatingAdmissionPolicy" in answer:
        return Reason.ADMISSION_DENIED, ""
    if refused.status == HTTPStatus.FORBIDDEN and " cannot " in answer:
        return Reason.FORBIDDEN, "give the operator's account that right: a Role of the chart is missing or was changed"
    return refused.reason or Reason.REFUSED, ""


@dataclass
class ApiTrouble:
    """Of one Connector, from one run to the next.

    Attributes:
        verdict: what its status says in place of what was decided; None: nothing.
    """

    verdict: Verdict | None = None
    _since: float | None = None
    _told: float = 0.0

    def failed(self, error: OperatorError, now: float, *, looking: bool) -> None:
        """A run has failed.

        Args:
            error: why.
            now: seconds since 1970.
            looking: before anything could be decided.
        """
        self._since = now if self._since is None else self._since
        lasts = 0.0 if isinstance(error, Refused) else _BUSY_LASTS if isinstance(error, NotYet) else _LASTS
        if now - self._since < lasts:
            return
        reason, remedy = cause(error)
        message = "; ".join(part for part in (str(error), remedy, _REST) if part)
        verdict = Verdict(Kind.UNKNOWN if looking else Kind.UNDER_WAY, reason, message)
        if self.verdict is not None:
            is_same = (verdict.kind, verdict.reason) == (self.verdict.kind, self.verdict.reason)
            if now - self._told < (_SAME if is_same else _OTHER):
                return
        self.verdict, self._told = verdict, now

    def passed(self) -> bool:
        """A run went well; whether the status still says otherwise."""
        told, self.verdict, self._since = self.verdict is not None, None, None
        return told


def over(verdict: Verdict, trouble: Verdict | None) -> Verdict:
    """What the status says."""
    return verdict if trouble is None or verdict.reason in _KEPT else trouble


def with_trouble(document: Mapping[str, Any], trouble: Verdict, now: float) -> dict[str, Any] | None:
    """The status of a Connector for which nothing was decided: as it was, but for what hinders; None: it stays.

    `observedGeneration` stays: it tells what was decided for.
    """
    status, metadata = document.get("status") or {}, document["metadata"]
    before: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    ready = next((c for c in before if c["type"] == ConditionType.READY), {})
    if ready.get("reason") in _KEPT:
        return None
    found = {
        "state": "Pending",
        **status,
        "conditions": undecided_conditions(before, trouble, metadata["generation"], now),
    }
    return None if found == status else found
