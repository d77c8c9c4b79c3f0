"""Render the conditions of a Connector from a decision. Pure.

They follow kstatus: `Reconciling=True` means in progress, `Stalled=True` that a user must act; otherwise `Ready` applies.
Conditions of other types belong to other controllers. Which of several problems `Ready` names is decided in
`decide/tasks_verdict.py`, and by the order of the steps in `decide/decide.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock_model.contracts.texts import joined
from penstock_operator.connector.model.autoscaling import AutoscalingCondition
from penstock_operator.connector.model.executors import ExecutorsState
from penstock_operator.connector.model.verdict import Config, Kind, Pending, Verdict
from penstock_operator.connector.render.status_size import CONDITION_BYTES, cut
from penstock_operator.kubernetes.times import timestamp
from penstock_operator.reasons import ConditionType, Reason

__all__ = ["all_conditions", "undecided_conditions"]

_TRUE_FOR: Final = (
    (ConditionType.RECONCILING, Kind.IN_PROGRESS, Reason.NOT_RECONCILING),
    (ConditionType.STALLED, Kind.STALLED, Reason.NOT_STALLED),
)
"""Conditions, with the kind of verdict for which they are True, and their reason while they are False."""
_KEPT: Final = frozenset(ConditionType) - {ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED}


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writer of conditions; `lastTransitionTime` changes only with `status`."""

    previous: Mapping[str, Mapping[str, Any]]
    generation: int
    now: float

    def condition(self, type_: ConditionType, status: str, reason: str, message: str) -> dict[str, Any]:
        before = self.previous.get(type_, {})
        since = before.get("lastTransitionTime") if before.get("status") == status else None
        return {
            "type": str(type_),
            "status": status,
            "reason": str(reason),
            "message": cut(message, CONDITION_BYTES),
            "observedGeneration": self.generation,
            "lastTransitionTime": since or timestamp(self.now),
        }

    def of_verdict(self, verdict: Verdict) -> list[dict[str, Any]]:
        ready = {Kind.READY: "True", Kind.UNKNOWN: "Unknown"}.get(verdict.kind, "False")
        conditions = [self.condition(ConditionType.READY, ready, verdict.reason, verdict.message)]
        for type_, kind, otherwise in _TRUE_FOR:
            if verdict.kind in (kind, Kind.UNKNOWN):
                status = "True" if verdict.kind is kind else "Unknown"
                conditions.append(self.condition(type_, status, verdict.reason, verdict.message))
            else:
                conditions.append(self.condition(type_, "False", otherwise, ""))
        return conditions


def all_conditions(
    verdict: Verdict,
    config: Config,
    previous: Mapping[str, Mapping[str, Any]],
    generation: int,
    now: float,
    pending: Pending | None = None,
    lagging: str = "",
    executors: ExecutorsState | None = None,
    autoscaling: AutoscalingCondition | None = None,
) -> list[dict[str, Any]]:
    """Return the conditions, sorted by type. UpdatePending and Lagging are present only while true.

    Args:
        verdict: contents of Ready, Reconciling and Stalled.
        config: contents of ConfigValid.
        previous: the current conditions, by type.
        generation: `metadata.generation` of the decision.
        now: seconds since 1970.
        pending: contents of UpdatePending; None: no change is pending.
        lagging: message of Lagging; empty: the lag does not grow.
        executors: contents of ExecutorsReady; None: no executor is wanted.
        autoscaling: contents of Autoscaling; None: there is no autoscaling.
    """
    writer = _Writer(previous, generation, now)
    valid = "Unknown" if config.valid is None else str(config.valid)
    conditions = writer.of_verdict(verdict)
    conditions.append(writer.condition(ConditionType.CONFIG_VALID, valid, config.reason, joined(*config.messages)))
    if pending is not None:
        conditions.append(writer.condition(ConditionType.UPDATE_PENDING, "True", pending.reason, pending.message))
    if lagging:
        conditions.append(writer.condition(ConditionType.LAGGING, "True", Reason.LAG_GROWS, lagging))
    if executors is not None:
        status = str(executors.ready)
        conditions.append(writer.condition(ConditionType.EXECUTORS_READY, status, executors.reason, executors.message))
    if autoscaling is not None:
        status = str(autoscaling.works)
        conditions.append(writer.condition(ConditionType.AUTOSCALING, status, autoscaling.reason, autoscaling.message))
    return sorted(conditions, key=lambda c: str(c["type"]))


def undecided_conditions(
    previous: Sequence[Mapping[str, Any]], verdict: Verdict, generation: int, now: float
) -> list[dict[str, Any]]:
    """Return the conditions, sorted by type, of a Connector without a decision: only those of the verdict change.

    Args:
        previous: the current conditions.
        verdict: contents of Ready, Reconciling and Stalled.
        generation: the `metadata.generation` of the Connector.
        now: seconds since 1970.
    """
    kept = [dict(c) for c in previous if c["type"] in _KEPT]
    writer = _Writer({str(c["type"]): c for c in previous}, generation, now)
    return sorted([*kept, *writer.of_verdict(verdict)], key=lambda c: str(c["type"]))
