"""Pods that the API server refused (a quota, admission, a missing right), and when each is retried. Pure.

The pause doubles up to five minutes, without a limit of attempts, for pods of tasks as for job pods. Another generation
of
the Connector, another plan, or quota that a removed pod frees, permits an immediate attempt: `present`, `pause` and
`with_room`.
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
"""Seconds after its next attempt was due, within which a pod that is still requested was tried again."""
_FORGOTTEN_AFTER: Final = 600.0
"""Seconds after its next attempt was due: the pod is no longer requested."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refusal of one pod, or of the ConfigMap of a plan.

    Attributes:
        reason: one word.
        message: a sentence.
        tries: in a row.
        again_at: seconds since 1970.
        generation: generation of the Connector when it was tried.
        pod_hash: of a task's pod, the assumed hash of its contents when that was decided (`CreateTask.pod_hash`).
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
    """Return the seconds until the pod is retried; 0: now, also if the contents of a task's pod would differ."""
    if refusal is None or refusal.pod_hash != pod_hash:
        return 0.0
    return max(0.0, refusal.again_at - now)


def of_plan(name: str) -> str:
    """Return the name under which the refusal of a plan's ConfigMap is kept: the plan's name is that of its plan pod."""
    return f"configmaps/{name}"


def of_executor(name: str) -> str:
    """Return the name under which the refusal of an executor's pod is kept: no other pod of the Connector waits for it."""
    return f"executors/{name}"


def of_secret(name: str) -> str:
    """Return the name under which the refusal of a Secret is kept."""
    return f"secrets/{name}"


def present(refusals: Mapping[str, Refusal], generation: int, now: float) -> dict[str, Refusal]:
    """Return the refusals that still count, by pod name. After a change of the Connector no pod waits any longer."""
    return {
        name: r if r.generation == generation else replace(r, again_at=min(r.again_at, now))
        for name, r in refusals.items()
        if now < r.again_at + _FORGOTTEN_AFTER
    }


def without_room(refusals: Mapping[str, Refusal], now: float) -> str | None:
    """Return the pod of a task or job that a quota has refused, and that is still wanted; None: there is none."""
    wanted = (n for n, r in refusals.items() if r.reason == Reason.QUOTA_EXCEEDED and now < r.again_at + _STILL_WANTED)
    return min((n for n in wanted if "/" not in n), default=None)


def with_room(refusals: Mapping[str, Refusal], now: float) -> dict[str, Refusal]:
    """Return the refusals after a pod was removed: a pod refused by a quota may be tried now; the pauses keep growing."""
    return {
        name: replace(r, again_at=min(r.again_at, now)) if r.reason == Reason.QUOTA_EXCEEDED else r
        for name, r in refusals.items()
    }
