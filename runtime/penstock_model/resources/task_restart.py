"""Decide when to restart a task that has ended, for the operator and for `penstock run`. Pure.

After a failure, `spec.restart` applies. A loss (the process was killed, the JVM crashed) is a fault of the infrastructure:
the task is restarted immediately after the first loss, and with a back-off of up to five minutes after further consecutive
losses, without a limit on their number.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from penstock_model.backoff import ExponentialBackoff
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.resources.connector import Restart

__all__ = ["RestartDecision", "RestartHistory", "TaskEnd", "next_restart"]

_LOSS_BACKOFF: Final = ExponentialBackoff(first=1.0, longest=300.0)
"""Delays from the second consecutive loss."""
_QUIET: Final = 600.0
"""Seconds of running after which the count of losses is reset."""


class TaskEnd(Enum):
    """End of a task."""

    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "lost"
    SUPERSEDED = "superseded"
    REFUSED = "refused"

    @classmethod
    def of(cls, code: int) -> "TaskEnd":
        """Return the end that an exit code indicates. Negative codes are signals."""
        if code < 0 or code == ExitCode.LOST:
            return cls.LOST
        return {
            ExitCode.OK: cls.STOPPED,
            ExitCode.SUPERSEDED: cls.SUPERSEDED,
            ExitCode.CONFIG_INVALID: cls.REFUSED,
        }.get(ExitCode(code) if code in set(ExitCode) else ExitCode.FAILED, cls.FAILED)


@dataclass(frozen=True)
class RestartHistory:
    """Consecutive failures and losses of a task."""

    failures: int = 0
    losses: int = 0


@dataclass(frozen=True)
class RestartDecision:
    """Decision to restart the task after `delay` seconds, or not to restart it (None), with the `reason`."""

    delay: float | None
    history: RestartHistory
    reason: str


def next_restart(end: TaskEnd, *, lived: float, history: RestartHistory, policy: Restart) -> RestartDecision:
    """Decide whether and when to restart a task that has ended.

    Args:
        end: end of the task.
        lived: seconds from its start to its end.
        history: history before this end.
        policy: `spec.restart`.
    """
    if lived >= policy.reset_after.total_seconds():
        history = replace(history, failures=0)
    if lived >= _QUIET:
        history = replace(history, losses=0)
    match end:
        case TaskEnd.STOPPED | TaskEnd.SUPERSEDED | TaskEnd.REFUSED:
            return RestartDecision(None, history, end.value)
        case TaskEnd.LOST:
            history = replace(history, losses=history.losses + 1)
            delay = 0.0 if history.losses == 1 else _LOSS_BACKOFF.pause(history.losses - 1)
            return RestartDecision(delay, history, f"lost ({history.losses} in a row)")
        case TaskEnd.FAILED:
            if policy.policy == "Never":
                return RestartDecision(None, history, "failed; spec.restart.policy is Never")
            if history.failures >= policy.max_restarts:
                return RestartDecision(
                    None, history, f"failed after {policy.max_restarts} restarts (spec.restart.maxRestarts)"
                )
            history = replace(history, failures=history.failures + 1)
            backoff = ExponentialBackoff(
                policy.backoff.initial.total_seconds(), policy.backoff.max.total_seconds(), policy.backoff.factor
            )
            delay = backoff.pause(history.failures)
            return RestartDecision(delay, history, f"failed; restart {history.failures} of {policy.max_restarts}")
