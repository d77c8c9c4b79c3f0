"""Step of one job pod: when it is created, deleted and retried. Pure.

A job pod has a deadline. One that no node takes by then is deleted, so that its slot is free for others; one that runs is
ended by its kubelet. One that was deleted and does not end is on a lost node: it is left there, and the next one
gets another name. Each attempt without an answer is followed by a pause, which doubles up to a minute, without a limit of
attempts; after a preparation that was refused repeatedly it is five minutes. Pods that the API server refuses are not
counted here: `refused_pods`.
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
"""Number of refused preparations after which the next ones are further apart."""
_REFUSED_LONGEST: Final = 300.0
"""Seconds. No event reports that Kafka was fixed, so refused preparations are also retried, but rarely."""
SLOT_WAIT: Final = 60.0
"""Seconds, should no event come: a connector that waits for a slot is woken when there is one."""
FOR_A_SLOT: Final = "waits for its turn: the release limits the number of job pods (limits.jobPods)"
_POD_NAMES: Final = {Action.PLAN: "plan", Action.PREPARE: "prepare", Action.RESET_OFFSETS: "reset"}
"""Names of pods by action; for pods of actions on offsets see `offsets_step`."""


@dataclass(frozen=True, slots=True)
class JobObservation:
    """Observation of a job pod.

    Attributes:
        name: name of its pod (`name_of`); pods after an abandoned one have names that begin with it.
        action: the required action.
        key: its purpose: equal work has an equal key.
        pods: job pods of this connector.
        answers: by pod name, of those that ended; None: none could be read from its log.
        persisted: of pods before it that brought no answer.
        slot: whether one more job pod of this connector may live.
        refusal: the API server refused the pod.
        deadline: seconds that a node has to take the pod, and the pod to end from then on.
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
        persisted: for status.
        answer: there is one: DONE or INVALID; of a preparation, DONE with an epoch; of a reset, DONE.
        create: the name of a pod to create.
        delete: pods to delete.
        reason, message: why the connector waits.
        requeue_after: check again after this many seconds; None: when something happens.
        queued: it waits for a slot.
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
    """Return the name of a job pod; it depends on the template, since a pod with another template may start."""
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
    """Return the name, with the first number after it under which there is no pod."""
    names = (f"{name}-{number}" if number else name for number in itertools.count())
    return next(n for n in names if n not in taken)


def _next_step(observed: JobObservation, pod: JobPod | None, away: Sequence[JobPod]) -> JobStep:
    persisted, (reason, message) = observed.persisted, DOING[observed.action]
    if persisted.attempts:
        reason, message = persisted.reason, persisted.message
    elif away:
        node = away[-1].node or "unknown"
        message = f"node {node} does not end pod {away[-1].name}: the node is unavailable, and another pod works"
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
        )  # these pods are deleted already, but not their requests
    if pod.phase is Phase.ENDED:
        return _after_pod_end(observed, pod)
    if pod.leaves_by is not None:
        left = pod.leaves_by + observed.node_timeout - observed.now
        if not persisted.attempts:
            message = f"waits for the end of {pod.name}"
        return JobStep(persisted, None, None, (), reason, message, requeue_after=left)
    left = pod.due(observed.deadline, observed.node_timeout) - observed.now
    if left <= 0:
        return replace(_failed_attempt(observed, *_overdue(observed, pod)), delete=(pod,))
    again = soonest(left, pod.look_after(observed.now))
    return JobStep(persisted, None, None, (), *(pod.hindrance or (reason, message)), requeue_after=again)


def _overdue(observed: JobObservation, pod: JobPod) -> tuple[str, str]:
    if not pod.node:
        reason, message = pod.hindrance or (Reason.UNSCHEDULABLE, "no scheduler has processed the pod")
        return reason, f"{message}; no node took the job pod within {observed.deadline:.0f} s, and it is retried"
    if pod.hindrance is not None:
        return pod.hindrance[0], _late_message(pod)
    return Reason.NODE_LOST, f"node {pod.node} does not end pod {pod.name}, which is past its deadline; it is retried"


DOING: Final[Mapping[Action, tuple[str, str]]] = {
    Action.PLAN: (Reason.PLANNING, "the connector's plugin checks the configuration and splits it into tasks"),
    Action.PREPARE: (Reason.PREPARING, "internal topics are prepared, and earlier tasks are fenced"),
    Action.RESET_OFFSETS: (Reason.RESETTING_OFFSETS, "the connector's offsets are reset"),
}


def _late_message(pod: JobPod) -> str:
    if pod.started is not None and pod.has_little_cpu:
        return (
            f"the job pod did not end in time: its CPU limit of {pod.cpu_limit} makes it slow; raise "
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
    return f"the job pod's container had not started in time{why}; {slow}"


def _after_pod_end(observed: JobObservation, pod: JobPod) -> JobStep:
    gone = () if pod.leaving is not None else (pod,)
    answer = observed.answers.get(pod.name)
    if answer is not None and answer.id == observed.key and answer.outcome in (Outcome.DONE, Outcome.INVALID):
        if _is_answered(observed.action, answer):
            return JobStep(FailedJob(), answer, delete=gone)
        # A preparation may be wrong in a way that only Kafka detects; a reset is retried while the cause may be fixed.
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
    if pod.leaving is not None and persisted.attempts and persisted.retry_at is not None:  # counted already
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
    """Return the step after an attempt without an answer: the next one follows after a pause."""
    attempts = observed.persisted.attempts + 1
    delay = _BACKOFF.pause(attempts)
    if reason == Reason.PREPARE_FAILED and attempts > _PREPARE_ATTEMPTS:
        delay = _REFUSED_LONGEST
    persisted = FailedJob(observed.persisted.key, attempts, observed.now + delay, reason, message)
    return JobStep(persisted, None, None, (), reason, message, requeue_after=delay)
