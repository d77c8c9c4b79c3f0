"""Pods that the API server refused (a quota, admission, a right that is missing), and when each is tried again. Pure.

The pause doubles to five minutes, for ever, for pods of tasks as for job pods. Another generation of the Connector, another
plan, or room that a pod has left in a quota, is another chance at once: `present`, `pause` and `with_room`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from penstock.errors import Problem
from penstock_model.backoff import ExponentialBackoff
from penstock_operator.reasons import Reason

__all__ = ["Refusal", "after", "of_plan", "pause", "present", "with_room"]

_BACKOFF: Final = ExponentialBackoff(first=2.0, longest=300.0)
_FORGOTTEN_AFTER: Final = 600.0
"""Seconds after its next try was due: the pod is not asked for any more."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of one pod, or of the ConfigMap of a plan.

    Attributes:
        reason: one word.
        message: a sentence.
        tries: in a row.
        again_at: seconds since 1970.
        generation: of the Connector when it was tried.
        pod_hash: of a task's pod, what it was taken to be made from when that was decided (`CreateTask.pod_hash`).
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
    """The refusal after one more try."""
    tries = 1 if before is None or (before.generation, before.pod_hash) != (generation, pod_hash) else before.tries + 1
    return Refusal(reason, message, tries, now + _BACKOFF.pause(tries), generation, pod_hash)


def pause(refusal: Refusal | None, now: float, pod_hash: str = "") -> float:
    """Seconds until the pod is tried again; 0: now, also where a task's pod would be made from something else."""
    if refusal is None or refusal.pod_hash != pod_hash:
        return 0.0
    return max(0.0, refusal.again_at - now)


def of_plan(name: str) -> str:
    """The name under which the refusal of a plan's ConfigMap is kept among those of pods: a plan pod has the plan's name."""
    return f"configmaps/{name}"


def present(refusals: Mapping[str, Refusal], generation: int, now: float) -> dict[str, Refusal]:
    """The refusals that still count, by the pod's name; after a change of the Connector each pod may be tried at once."""
    return {
        name: r if r.generation == generation else replace(r, again_at=min(r.again_at, now))
        for name, r in refusals.items()
        if now < r.again_at + _FORGOTTEN_AFTER
    }


def with_room(refusals: Mapping[str, Refusal], now: float) -> dict[str, Refusal]:
    """The refusals after a pod has gone: a pod that a quota refused may be tried once at once; the pauses go on growing."""
    return {
        name: replace(r, again_at=min(r.again_at, now)) if r.reason == Reason.QUOTA_EXCEEDED else r
        for name, r in refusals.items()
    }
