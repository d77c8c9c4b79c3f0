"""Failures of the API server, for the status of a Connector. Pure.

Failed requests are retried without limit. The status explains the delay to users who cannot read the operator's log.
"""

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from penstock_model.contracts.texts import joined
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.errors import Conflict, NotYet, OperatorError, Refused, Unavailable, Unforeseen
from penstock_operator.reasons import Reason

__all__ = [
    "KEPT_REASONS",
    "RESOURCES_OF_EXECUTORS",
    "RESOURCES_OF_JOBS",
    "RESOURCES_OF_TASKS",
    "ApiTrouble",
    "cause",
    "reported_verdict",
]

RESOURCES_OF_JOBS: Final = "job.resources of the release, which every job pod has"
RESOURCES_OF_EXECUTORS: Final = "spec.spark.executors.resources"
RESOURCES_OF_TASKS: Final = "spec.template.resources"

_LASTS: Final = 3.0
_BUSY_LASTS: Final = 30.0
"""Seconds for which a failure must last before it is reported: each report costs two writes for every Connector.

A refusal is reported immediately.
"""
_OTHER_CAUSE_AFTER: Final = 10.0
_SAME_CAUSE_AFTER: Final = 300.0
"""Minimum seconds until a message is replaced by one about another cause, or by another one about the same cause."""
KEPT_REASONS: Final = frozenset((Reason.NAME_CONFLICT, Reason.NAME_RESERVED, Reason.OFFSETS_KEPT))
"""Reasons that a later decision reads, so they are not replaced."""
_LIMIT_RANGE: Final = re.compile(r"(minimum|maximum) \S+ usage per \w+ is|max limit to request ratio per \w+ is")
"""Pattern of messages of Kubernetes' LimitRanger."""
_RETRIED: Final = "it is retried automatically; running tasks continue"


def cause(error: OperatorError, resources: str = RESOURCES_OF_JOBS) -> tuple[str, str]:
    """Return the reason and the remedy of an error; the remedy is empty if a user can do nothing.

    Args:
        error: the error.
        resources: the setting for the resources of the refused pod.
    """
    match error:
        case Refused():
            return _refused(error, resources)
        case Conflict():
            return Reason.CONFLICT, "another client changes it repeatedly"
        case NotYet():
            return Reason.API_SERVER_BUSY, ""
        case Unforeseen():
            return Reason.OPERATOR_FAULT, "report it, with the trace from the operator's log"
        case Unavailable() if "webhook" in str(error):
            return (
                Reason.ADMISSION_UNAVAILABLE,
                "make the server of that webhook available, or set its failurePolicy to Ignore",
            )
        case _:
            return Reason.API_SERVER_UNAVAILABLE, ""


def _refused(refused: Refused, resources: str) -> tuple[str, str]:
    answer = refused.answer
    if refused.namespace_ends:
        return Reason.NAMESPACE_TERMINATING, ""
    if refused.over_quota:
        return Reason.QUOTA_EXCEEDED, "make room in that ResourceQuota of the namespace, or raise it"
    if _LIMIT_RANGE.search(answer):
        return Reason.RESOURCES_REFUSED, f"change {resources}, or that LimitRange of the namespace"
    if "failed quota:" in answer:
        return Reason.RESOURCES_REFUSED, f"set them in {resources}, or have a LimitRange set them"
    if "violates PodSecurity" in answer:
        return Reason.POD_SECURITY_VIOLATION, ""
    if "admission webhook" in answer or "ValidatingAdmissionPolicy" in answer:
        return Reason.ADMISSION_DENIED, ""
    if refused.status == HTTPStatus.FORBIDDEN and " cannot " in answer:
        return Reason.FORBIDDEN, "grant it to the operator's account: a Role of the chart is missing or was changed"
    return refused.reason or Reason.REFUSED, ""


@dataclass
class ApiTrouble:
    """Failures of one Connector's runs, kept between runs.

    Attributes:
        verdict: replaces the decided verdict in the status; None: the decided one is reported.
    """

    verdict: Verdict | None = None
    _since: float | None = None
    _reported_at: float = 0.0

    def failed(self, error: OperatorError, now: float, *, looking: bool) -> None:
        """Record a failed run.

        Args:
            error: the cause.
            now: seconds since 1970.
            looking: whether it failed during observation, before a decision.
        """
        self._since = now if self._since is None else self._since
        lasts = 0.0 if isinstance(error, Refused) else _BUSY_LASTS if isinstance(error, NotYet) else _LASTS
        if now - self._since < lasts:
            return
        reason, remedy = cause(error)
        message = joined(*(part for part in (str(error), remedy, _RETRIED) if part))
        verdict = Verdict(Kind.UNKNOWN if looking else Kind.IN_PROGRESS, reason, message)
        if self.verdict is not None:
            is_same = (verdict.kind, verdict.reason) == (self.verdict.kind, self.verdict.reason)
            if now - self._reported_at < (_SAME_CAUSE_AFTER if is_same else _OTHER_CAUSE_AFTER):
                return
        self.verdict, self._reported_at = verdict, now

    def passed(self) -> bool:
        """Record a successful run, and return whether the status still reports a failure."""
        was_reported, self.verdict, self._since = self.verdict is not None, None, None
        return was_reported


def reported_verdict(verdict: Verdict, trouble: Verdict | None) -> Verdict:
    """Return the verdict for the status: that of a failure of the API server if there is one, else the decided one."""
    return verdict if trouble is None or verdict.reason in KEPT_REASONS else trouble
