"""What a decision found, in words for people and for GitOps: the conditions of status. Pure.

As kstatus reads them: `Reconciling=True` is under way, `Stalled=True` needs a person, else `Ready` counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from penstock_operator.connector.render.status_size import cut
from penstock_operator.kubernetes.times import timestamp
from penstock_operator.reasons import ConditionType

__all__ = ["Config", "Kind", "Pending", "Verdict", "conditions", "unsettled"]

_MOST: Final = 8_000
"""Bytes of a condition's message."""


class Kind(Enum):
    """How far things are from what is asked."""

    READY = "ready"
    UNDER_WAY = "under way"
    STALLED = "stalled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The one thing to know.

    Attributes:
        kind: how far from what is asked.
        reason: one word, for machines.
        message: a sentence that names the cause and, where there is one, the remedy.
    """

    kind: Kind
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Config:
    """Whether the configuration is valid: None is not known (yet)."""

    valid: bool | None
    reason: str
    messages: Sequence[str]


@dataclass(frozen=True, slots=True)
class Pending:
    """What keeps a change of the release from this Connector, which goes on as it was.

    Attributes:
        reason: one word, for machines.
        message: a sentence.
        planning: the new plan is still being made.
    """

    reason: str
    message: str
    planning: bool = False


def conditions(
    verdict: Verdict, config: Config, previous: Mapping[str, Mapping[str, Any]], generation: int, now: float,
    pending: Pending | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """The conditions. Reconciling, Stalled and UpdatePending stand there only while they are true, as kstatus recommends.

    Args:
        verdict: the one thing to know.
        config: of the configuration.
        previous: the conditions as they stand, by type: `lastTransitionTime` changes with `status` only.
        generation: that all of this was decided for.
        now: seconds since 1970.
        pending: what keeps a change of the release from it.
    """

    def condition(kind: str, status: str, reason: str, message: str) -> dict[str, Any]:
        return _condition(previous, kind, status, reason, message, generation, now)

    valid = "Unknown" if config.valid is None else str(config.valid)
    found = [condition(ConditionType.CONFIG_VALID, valid, config.reason, "; ".join(config.messages))]
    found += _of(verdict, previous, generation, now)
    if pending is not None:
        found.append(condition(ConditionType.UPDATE_PENDING, "True", pending.reason, pending.message))
    return sorted(found, key=lambda c: str(c["type"]))


def unsettled(
    previous: Sequence[Mapping[str, Any]], verdict: Verdict, generation: int, now: float
) -> list[dict[str, Any]]:
    """The conditions where nothing could be decided: the rest stays as it was said.

    Args:
        previous: the conditions as they stand.
        verdict: the one thing to know.
        generation: of the Connector.
        now: seconds since 1970.
    """
    rest = [dict(c) for c in previous if c["type"] not in _OF_VERDICT]
    by_type = {str(c["type"]): c for c in previous}
    return sorted([*rest, *_of(verdict, by_type, generation, now)], key=lambda c: str(c["type"]))


_OF_VERDICT: Final = frozenset((ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED))


def _of(
    verdict: Verdict, previous: Mapping[str, Mapping[str, Any]], generation: int, now: float
) -> list[dict[str, Any]]:
    kinds = {ConditionType.READY: {Kind.READY: "True", Kind.UNKNOWN: "Unknown"}.get(verdict.kind, "False")}
    if verdict.kind is Kind.UNDER_WAY:
        kinds[ConditionType.RECONCILING] = "True"
    if verdict.kind is Kind.STALLED:
        kinds[ConditionType.STALLED] = "True"
    return [
        _condition(previous, kind, status, verdict.reason, verdict.message, generation, now)
        for kind, status in kinds.items()
    ]


def _condition(
    previous: Mapping[str, Mapping[str, Any]], kind: str, status: str, reason: str, message: str, generation: int,
    now: float,
) -> dict[str, Any]:  # fmt: skip
    before = previous.get(kind, {})
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    return {
        "type": str(kind),
        "status": status,
        "reason": str(reason),
        "message": cut(message, _MOST),
        "observedGeneration": generation,
        "lastTransitionTime": since or timestamp(now),
    }
