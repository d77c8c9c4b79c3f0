"""Pods that the API server refused (quota, admission, missing permission), and when each is retried. Pure.

Attempts are unlimited for task pods and job pods, and the pause doubles up to five minutes. A new generation of the
Connector, another plan, or quota freed by a removed pod permits an immediate attempt (`present`, `pause`, `with_room`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from penstock.errors import Problem
from penstock_model.backoff import ExponentialBackoff
from penstock_operator.reasons import Reason

__all__ = ["Refusal", "after", "of_executor", "of_plan", "of_secret", "pause", "present", "with_room", "without_room"]

_BACKOFF: Final = ExponentialBackoff(first=2.0, longest=300.0)
_STILL_WANTED: Final = 30.0
"""Seconds after the due time of the next attempt within which a pod that is still requested has been retried."""
_FORGOTTEN_AFTER: Final = 600.0
"""Seconds after the due time of the next attempt after which the pod is no longer requested."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refusal of a pod or another object.

    Attributes:
        reason: reason, in one word.
        message: message of the refusal.
        tries: number of consecutive refused attempts.
        again_at: when it may be retried, in seconds since 1970.
        generation: generation of the Connector at the last attempt.
        pod_hash: for a task pod, the hash that it should have had (`CreateTask.pod_hash`).
        template: problems of `spec.template` in the answer.
    """

    reason: str
    message: str
    tries: int = 1
    again_at: float = 0.0
    generation: int = 0
    pod_hash: str = ""
    template: tuple[Problem, ...] = ()


def after(
    before: Refusal | None, reason: str, message: str, *, now: float, generation: int, pod_hash: str = ""
) -> Refusal:
    """Return the refusal after one more attempt."""
    tries = 1 if before is None or (before.generation, before.pod_hash) != (generation, pod_hash) else before.tries + 1
    return Refusal(reason, message, tries, now + _BACKOFF.pause(tries), generation, pod_hash)


def pause(refusal: Refusal | None, now: float, pod_hash: str = "") -> float:
    """Return the seconds until the pod is retried; 0: now, also if a task pod would have another hash."""
    if refusal is None or refusal.pod_hash != pod_hash:
        return 0.0
    return max(0.0, refusal.again_at - now)


def of_plan(name: str) -> str:
    """Return the key of the refusal of a plan's ConfigMap, which has the same name as its planning pod."""
    return f"configmaps/{name}"


def of_executor(name: str) -> str:
    """Return the key of the refusal of an executor, for which no other pod of the Connector waits."""
    return f"executors/{name}"


def of_secret(name: str) -> str:
    """Return the key of the refusal of a Secret."""
    return f"secrets/{name}"


def present(refusals: Mapping[str, Refusal], generation: int, now: float) -> dict[str, Refusal]:
    """Return the refusals that are still current, by pod name. After a change of the Connector no pod waits."""
    return {
        name: r if r.generation == generation else replace(r, again_at=min(r.again_at, now))
        for name, r in refusals.items()
        if now < r.again_at + _FORGOTTEN_AFTER
    }


def without_room(refusals: Mapping[str, Refusal], now: float) -> str | None:
    """Return the name of a task or job pod that a quota refused and that is still requested; None: there is none."""
    wanted = (n for n, r in refusals.items() if r.reason == Reason.QUOTA_EXCEEDED and now < r.again_at + _STILL_WANTED)
    return min((n for n in wanted if "/" not in n), default=None)


def with_room(refusals: Mapping[str, Refusal], now: float) -> dict[str, Refusal]:
    """Return the refusals after a pod was removed: pods refused by a quota may be retried now; their pauses keep growing."""
    return {
        name: replace(r, again_at=min(r.again_at, now)) if r.reason == Reason.QUOTA_EXCEEDED else r
        for name, r in refusals.items()
    }
