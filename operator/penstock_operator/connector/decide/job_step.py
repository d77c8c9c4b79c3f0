"""Decision step that creates, deletes and retries one job pod. Pure.

A job pod has a deadline. If no node has accepted it by then, it is deleted, so that its slot is free for others; if it is
running, its kubelet kills it. A deleted pod that does not end is on a lost node: it is left there, and the next pod gets
another name. After each attempt without an answer there is a pause, which doubles up to a minute, and attempts are
unlimited; after several refused preparations the pause is five minutes. Pods that the API server refuses are not counted
here (see `refused_pods`).
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock_model.backoff import ExponentialBackoff
from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_operator.connector.decide.step_outcome import soonest
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import FailedJob
from penstock_operator.connector.model.pod_end import OUT_OF_MEMORY
from penstock_operator.connector.model.pod_status import JobPod, Phase
from penstock_operator.connector.model.refused_pods import Refusal, pause
from penstock_operator.names import digest, job_name
from penstock_operator.reasons import Reason

__all__ = ["DOING", "FOR_A_SLOT", "SLOT_WAIT", "JobObservation", "JobStep", "name_of", "step"]

_BACKOFF: Final = ExponentialBackoff(first=2.0, longest=60.0)
_PREPARE_ATTEMPTS: Final = 6
"""Number of refused preparations after which the longer pause applies."""
_REFUSED_LONGEST: Final = 300.0
"""Seconds between later refused preparations, which are retried since no event reports that Kafka was fixed."""
SLOT_WAIT: Final = 60.0
"""Seconds until the next check for a slot; normally a waiting connector is woken earlier, when there is one."""
FOR_A_SLOT: Final = "waiting for its turn: the release limits the number of job pods (limits.jobPods)"
_POD_NAMES: Final = {Action.PLAN: "plan", Action.PREPARE: "prepare", Action.RESET_OFFSETS: "reset"}
"""Part of the pod's name by action; for pods of offsets actions see `offsets_step`."""


@dataclass(frozen=True, slots=True)
class JobObservation:
    """Observation of a job pod.

    Attributes:
        name: name of its pod (`name_of`); names of pods after an abandoned one begin with it.
        action: the required action.
        key: identifies its work: equal work has an equal key.
        pods: job pods of this connector.
        answers: answers of ended pods by pod name; None: its log has none that can be read.
        persisted: earlier attempts that ended without an answer.
        slot: whether this connector may have one more job pod.
        refusal: refusal of the pod by the API server; None: it was not refused.
        deadline: seconds until the pod must have been scheduled, and from then on, seconds until it must have ended.
        node_timeout: seconds after which the node of a pod that should have ended counts as lost.
        now: seconds since 1970.
    """

    name: str
    action: Action
    key: str
    pods: Sequence[JobPod]
    answers: Mapping[str, JobAnswer | None]
    persisted: FailedJob
    slot: bool
    refusal: Refusal | None
    deadline: float
    node_timeout: float
    now: float

    @classmethod
    def of(cls, observed: Observation, action: Action, key: str) -> "JobObservation":
        """Return the observation of the Connector's job pod for this action and key."""
        connector = observed.connector
        name = name_of(connector.metadata.name, action, key, connector.spec.template)
        refusals = (
            observed.pods.refusals[n] for n in sorted(observed.pods.refusals) if n == name or n.startswith(f"{name}-")
        )
        return cls(
            name=name,
            action=action,
            key=key,
            pods=observed.pods.jobs,
            answers=observed.pods.answers,
            persisted=observed.persisted.job,
            slot=observed.release.has_job_slot,
            refusal=next(refusals, None),
            deadline=observed.release.job_deadline,
            node_timeout=observed.release.node_timeout,
            now=observed.now,
        )


@dataclass(frozen=True, slots=True)
class JobStep:
    """Actions for a job pod.

    Attributes:
        persisted: failed attempts, for the status.
        answer: valid answer: DONE or INVALID; of a preparation, DONE with an epoch; of a reset, DONE. None: there is none.
        create: name of the pod to create; None: none is created.
        delete: pods to delete.
        reason, message: why the connector waits.
        requeue_after: check again after this many seconds; None: when something happens.
        queued: whether the connector waits for a slot.
    """

    persisted: FailedJob
    answer: JobAnswer | None = None
    create: str | None = None
    delete: tuple[JobPod, ...] = ()
    reason: str = ""
    message: str = ""
    requeue_after: float | None = None
    queued: bool = False


def name_of(connector: str, action: Action, key: str, template: Mapping[str, object]) -> str:
    """Return the name of a job pod.

    The name depends on the template, since a pod that was refused may start with another template.
    """
    return job_name(connector, _POD_NAMES[action], digest(key, template) if template else key)


def step(observed: JobObservation) -> JobStep:
    """Return the step for a job pod that is needed."""
    pods = [p for p in observed.pods if p.name == observed.name or p.name.startswith(f"{observed.name}-")]
    away = [p for p in pods if p.is_on_lost_node(observed.now, observed.node_timeout)]
    pod = next((p for p in sorted(pods, key=lambda p: p.created) if p not in away), None)
    name = pod.name if pod is not None else _free_name(observed.name, {p.name for p in pods})
    others = tuple(p for p in observed.pods if p.name != name and p.leaving is None)
    persisted = observed.persisted if observed.persisted.key == observed.name else FailedJob(observed.name)
    outcome = _next_step(replace(observed, name=name, persisted=persisted), pod, away)
    return replace(outcome, delete=(*outcome.delete, *others))


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, with the lowest number appended that makes it differ from all pod names."""
    names = (f"{name}-{number}" if number else name for number in itertools.count())
    return next(n for n in names if n not in taken)


def _next_step(observed: JobObservation, pod: JobPod | None, away: Sequence[JobPod]) -> JobStep:
    persisted, (reason, message) = observed.persisted, DOING[observed.action]
    if persisted.attempts:
        reason, message = persisted.reason, persisted.message
    elif away:
        node = away[-1].node or "unknown"
        message = f"node {node} does not stop pod {away[-1].name}: the node is unavailable, and another pod replaces it"
    if pod is None:
        if observed.refusal is not None:
            reason, message = observed.refusal.reason, observed.refusal.message
            if (left := pause(observed.refusal, observed.now)) > 0:
                return JobStep(persisted, reason=reason, message=message, requeue_after=left)
        if persisted.retry_at is not None and persisted.retry_at > observed.now:
            return JobStep(persisted, reason=reason, message=message, requeue_after=persisted.retry_at - observed.now)
        if not observed.slot:
            if not persisted.attempts and observed.refusal is None:
                message = FOR_A_SLOT
            return JobStep(persisted, None, None, (), reason, message, requeue_after=SLOT_WAIT, queued=True)
        return JobStep(
            persisted, None, observed.name, tuple(away), reason, message
        )  # these pods are already deleted, but their requests are not
    if pod.phase is Phase.ENDED:
        return _after_pod_end(observed, pod)
    if pod.leaves_by is not None:
        left = pod.leaves_by + observed.node_timeout - observed.now
        if not persisted.attempts:
            message = f"waiting for pod {pod.name} to terminate"
        return JobStep(persisted, None, None, (), reason, message, requeue_after=left)
    left = pod.due(observed.deadline, observed.node_timeout) - observed.now
    if left <= 0:
        return replace(_failed_attempt(observed, *_overdue(observed, pod)), delete=(pod,))
    again = soonest(left, pod.look_after(observed.now))
    return JobStep(persisted, None, None, (), *(pod.hindrance or (reason, message)), requeue_after=again)


def _overdue(observed: JobObservation, pod: JobPod) -> tuple[str, str]:
    if not pod.node:
        reason, message = pod.hindrance or (Reason.UNSCHEDULABLE, "no scheduler has processed the pod")
        return reason, f"{message}; the job pod was not scheduled within {observed.deadline:.0f} s, and it is retried"
    if pod.hindrance is not None:
        return pod.hindrance[0], _late_message(pod)
    message = f"node {pod.node} does not stop pod {pod.name}, which is past its deadline; another job pod replaces it"
    return Reason.NODE_LOST, message


DOING: Final[Mapping[Action, tuple[str, str]]] = {
    Action.PLAN: (Reason.PLANNING, "the connector's plugin validates the configuration and splits the work into tasks"),
    Action.PREPARE: (Reason.PREPARING, "internal topics are being set up, and earlier tasks fenced"),
    Action.RESET_OFFSETS: (Reason.RESETTING_OFFSETS, "the connector's offsets are being reset"),
}


def _late_message(pod: JobPod) -> str:
    if pod.started is not None and pod.has_little_cpu:
        return (
            f"the job pod did not end in time: it is slow because of its CPU limit of {pod.cpu_limit}; raise "
            "job.resources.limits.cpu of the release"
        )
    if pod.started is not None:
        word = pod.ended.word if pod.ended is not None else None
        place = f": it was stopped in {word.trouble}" if word is not None and word.trouble else ""
        return (
            f"the job pod did not end in time{place}; a plugin's validation may wait for a system that is unavailable"
        )
    why = "" if pod.hindrance is None else f": {': '.join(pod.hindrance)}"
    slow = "if pulling the image takes long, raise job.deadlineSeconds of the release"
    return f"the job pod's container did not start in time{why}; {slow}"


def _after_pod_end(observed: JobObservation, pod: JobPod) -> JobStep:
    gone = () if pod.leaving is not None else (pod,)
    answer = observed.answers.get(pod.name)
    if answer is not None and answer.id == observed.key and answer.outcome in (Outcome.DONE, Outcome.INVALID):
        if _is_answered(observed.action, answer):
            return JobStep(FailedJob(), answer, delete=gone)
        # A preparation may fail for a reason that only Kafka detects; a reset is retried, since its cause may be fixed.
        reason, nothing = _REFUSALS[observed.action]
        message = "; ".join(map(str, answer.problems)) or answer.message or nothing
    elif answer is not None and answer.id == observed.key:
        reason = _REASONS.get(answer.outcome, Reason.JOB_FAILED)
        message = answer.message
    else:
        ended = pod.ended
        is_named = ended is not None and (ended.code is None or ended.reason == OUT_OF_MEMORY)
        reason = ended.reason if ended is not None and is_named else Reason.JOB_FAILED
        message = ended.describe().removeprefix(f"{reason}: ") if ended else "the pod ended without an answer"
        if reason == Reason.DEADLINE_EXCEEDED:
            reason, message = pod.hindrance[0] if pod.hindrance is not None else reason, _late_message(pod)
    persisted = observed.persisted
    if pod.leaving is not None and persisted.attempts and persisted.retry_at is not None:  # already counted
        left = (pod.leaves_by or observed.now) + observed.node_timeout - observed.now
        return JobStep(persisted, reason=persisted.reason, message=persisted.message, requeue_after=left)
    return replace(_failed_attempt(observed, reason, message), delete=gone)


def _is_answered(action: Action, answer: JobAnswer) -> bool:
    match action:
        case Action.PLAN:
            return True
        case Action.PREPARE:
            return answer.epoch is not None
        case Action.RESET_OFFSETS | Action.OFFSETS | Action.LIST_OFFSETS:
            return answer.outcome is Outcome.DONE


_REASONS: Final[Mapping[Outcome, str]] = {
    Outcome.UNAVAILABLE: Reason.UNAVAILABLE,
    Outcome.SUPERSEDED: Reason.SUPERSEDED,
    Outcome.REFUSED: Reason.RESET_FAILED,
}
_REFUSALS: Final[Mapping[Action, tuple[str, str]]] = {
    Action.PLAN: (Reason.JOB_FAILED, "the job pod planned nothing"),
    Action.PREPARE: (Reason.PREPARE_FAILED, "the job pod prepared nothing"),
    Action.RESET_OFFSETS: (Reason.RESET_FAILED, "the job pod reset nothing"),
}


def _failed_attempt(observed: JobObservation, reason: str, message: str) -> JobStep:
    """Return the step after an attempt without an answer, which is retried after a pause."""
    attempts = observed.persisted.attempts + 1
    delay = _BACKOFF.pause(attempts)
    if reason == Reason.PREPARE_FAILED and attempts > _PREPARE_ATTEMPTS:
        delay = _REFUSED_LONGEST
    persisted = FailedJob(observed.persisted.key, attempts, observed.now + delay, reason, message)
    return JobStep(persisted, None, None, (), reason, message, requeue_after=delay)
