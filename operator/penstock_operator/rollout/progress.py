"""Progress of one Connector in the rollout of a change of the release. Pure.

The last restart is stored in the Connector's status (`status.operatorState.rollout`), from which the next operator reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from penstock_operator.kubernetes.times import instant
from penstock_operator.reasons import ConditionType
from penstock_operator.settings import Rollout
from penstock_operator.status_fields import in_status, read

__all__ = ["GRANTED", "Permission", "Phase", "Progress", "RolloutRestart", "progress_of", "progress_of_status"]

_NOT_READY_BEFORE: Final = 60.0
"""Maximum seconds for which a restart counts if the Connector was not Ready before, as it may never become Ready."""


class Phase(Enum):
    """Phase of a Connector in the rollout of a release."""

    RESTING = "resting"
    RESTARTING = "restarting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RolloutRestart:
    """Last restart for a change of the release.

    Attributes:
        release: hash of the release (`plan_hashes.release_hash`).
        since: time of the restart, in seconds since 1970.
        counts: whether the Connector was Ready before, with state Running, so that it has failed if it is not Ready again.
    """

    release: str = ""
    since: float = 0.0
    counts: bool = field(default=False, metadata=in_status(name="wasReady"))


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a Connector that should have tasks.

    Attributes:
        phase: phase of the rollout.
        until: latest end of RESTARTING, in seconds since 1970; None: another phase.
        fails: whether it is FAILED after that time.
        waits: whether it waits for the permission to restart.
        planning: whether planning for the change is in progress.
    """

    phase: Phase = Phase.RESTING
    until: float | None = None
    fails: bool = False
    waits: bool = False
    planning: bool = False


@dataclass(frozen=True, slots=True)
class Permission:
    """Permission to restart a Connector for a change of the release; if it is not granted, with reason and message."""

    granted: bool
    reason: str = ""
    message: str = ""


GRANTED: Final = Permission(granted=True)


def progress_of(
    restart: RolloutRestart | None, *, ready_since: float | None, replaced: bool, now: float, limits: Rollout
) -> Progress:
    """Return the progress of a Connector after this restart.

    Args:
        restart: its restart for the current release; None: there was none.
        ready_since: when it became Ready, in seconds since 1970; None: it is not Ready.
        replaced: whether all of its new pods have started.
        now: seconds since 1970.
        limits: limits of the release.
    """
    if restart is None:
        return Progress()
    if restart.counts:
        until = restart.since + limits.progress_deadline_seconds
        if ready_since is not None:
            settles = max(ready_since, restart.since) + limits.min_ready_seconds
            return Progress() if settles <= now else Progress(Phase.RESTARTING, settles)
        return Progress(Phase.RESTARTING, until, fails=True) if now < until else Progress(Phase.FAILED)
    until = restart.since + _NOT_READY_BEFORE
    return Progress() if replaced or until <= now else Progress(Phase.RESTARTING, until)


def progress_of_status(body: Mapping[str, Any], release: str, now: float, limits: Rollout) -> Progress | None:
    """Return the progress of a Connector according to its status; None: it should have no tasks.

    Args:
        body: the Connector, as returned by the API server.
        release: hash of the current release.
        now: seconds since 1970.
        limits: limits of the release.
    """
    spec, status = body.get("spec") or {}, body.get("status") or {}
    state = spec.get("state", "Running")
    if state == "Stopped" or body["metadata"].get("deletionTimestamp"):
        return None
    ready: Mapping[str, Any] = next(
        (c for c in status.get("conditions") or () if c.get("type") == ConditionType.READY), {}
    )
    since = instant(ready.get("lastTransitionTime")) if ready.get("status") == "True" else None
    restart = read(RolloutRestart, (status.get("operatorState") or {}).get("rollout") or {})
    restart = replace(restart, counts=restart.counts and state == "Running")
    return progress_of(
        restart if restart.release == release else None, ready_since=since, replaced=False, now=now, limits=limits
    )
