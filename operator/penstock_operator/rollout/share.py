"""What one Connector's restart for a change of the release takes of the release's limit. Pure.

The record stands in the Connector's status (`status.rollout`), so that an operator that starts finds it there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from penstock_operator.connector.status_fields import in_status, read
from penstock_operator.kubernetes.times import instant
from penstock_operator.reasons import ConditionType
from penstock_operator.settings import Rollout

__all__ = ["OPEN", "Phase", "Place", "Record", "Share", "of_status", "share"]

_SICK: Final = 60.0
"""So many seconds at most a Connector holds a place that was not Ready before: it may never be."""


class Phase(Enum):
    """Where a Connector stands in the rollout of a release."""

    RESTING = "resting"
    RESTARTING = "restarting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Record:
    """The last restart for a change of the release.

    Attributes:
        release: which (`plans.release`).
        since: when, seconds since 1970.
        counts: it was Ready before, and meant to run: whether it gets so again says something of the release.
    """

    release: str = ""
    since: float = 0.0
    counts: bool = field(default=False, metadata=in_status(name="wasReady"))


@dataclass(frozen=True, slots=True)
class Share:
    """What a Connector that is meant to have tasks takes.

    Attributes:
        phase: where it stands.
        until: RESTARTING: when that is over, whatever comes; seconds since 1970.
        fails: whether it has FAILED then.
        waits: for a place.
        planning: the new plan is still being made.
    """

    phase: Phase = Phase.RESTING
    until: float | None = None
    fails: bool = False
    waits: bool = False
    planning: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Whether a Connector may be restarted for a change of the release; if not: why, in a word and a sentence."""

    free: bool
    reason: str = ""
    message: str = ""


OPEN: Final = Place(free=True)


def share(record: Record | None, *, ready_since: float | None, replaced: bool, now: float, limits: Rollout) -> Share:
    """What a Connector with this record takes.

    Args:
        record: of the release that is asked for now; None: there is none.
        ready_since: since when it is Ready, seconds since 1970; None: it is not.
        replaced: all of its new pods have started.
        now: seconds since 1970.
        limits: of the release.
    """
    if record is None:
        return Share()
    if record.counts:
        until = record.since + limits.progress_deadline_seconds
        if ready_since is not None:
            settles = max(ready_since, record.since) + limits.min_ready_seconds
            return Share() if settles <= now else Share(Phase.RESTARTING, settles)
        return Share(Phase.RESTARTING, until, fails=True) if now < until else Share(Phase.FAILED)
    until = record.since + _SICK
    return Share() if replaced or until <= now else Share(Phase.RESTARTING, until)


def of_status(body: Mapping[str, Any], release: str, now: float, limits: Rollout) -> Share | None:
    """The same from a Connector as the API server gives it; None: it is not meant to have tasks.

    Args:
        body: the Connector.
        release: that is asked for now.
        now: seconds since 1970.
        limits: of the release.
    """
    spec, status = body.get("spec") or {}, body.get("status") or {}
    state = spec.get("state", "Running")
    if state == "Stopped" or body["metadata"].get("deletionTimestamp"):
        return None
    ready: Mapping[str, Any] = next(
        (c for c in status.get("conditions") or () if c.get("type") == ConditionType.READY), {}
    )
    since = instant(ready.get("lastTransitionTime")) if ready.get("status") == "True" else None
    record = read(Record, status.get("rollout") or {})
    record = replace(record, counts=record.counts and state == "Running")
    return share(
        record if record.release == release else None, ready_since=since, replaced=False, now=now, limits=limits
    )
