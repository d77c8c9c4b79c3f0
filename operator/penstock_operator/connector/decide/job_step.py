"""One job pod: from what is seen of it, what becomes of it. Pure.

A job pod has a deadline. One that no node takes by then is deleted, so that its slot is free for others; one that runs is
ended by its kubelet. One that was told to go and does not is on a node that is away: it is left alone there, and the next
one gets another name. Whatever the reason, the next try comes after a pause that doubles to a minute, for ever; after a
preparation that was refused again and again, every five minutes. A pod that the API server refuses is none: `refusals`.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_operator.connector.decide.refused_pods import Refusal, pause
from penstock_operator.connector.observe.pod_status import JobPod, Phase
from penstock_operator.connector.persisted_state import JobMemory
from penstock_operator.connector.render.names import digest, job_name
from penstock_operator.reasons import Reason

__all__ = ["DOING", "JobFacts", "JobStep", "name_of", "step"]

_FIRST: Final = 2.0
_LONGEST: Final = 60.0
_DOUBLINGS: Final = 5
_REFUSED_LONGEST: Final = 300.0
"""Nothing of ours tells that Kafka was mended, so that refused preparations are tried again, too; but seldom."""
_SLOT_WAIT: Final = 60.0
"""Should nobody wake it: a connector that waits for a slot is told when there is one."""
_WORDS: Final = {Action.PLAN: "plan", Action.PREPARE: "prepare", Action.RESET_OFFSETS: "reset"}


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What is known.

    Attributes:
        name: of its pod (`name_of`); of pods after one that is given up, its beginning.
        action: what is wanted.
        key: what for: equal wishes have equal keys.
        pods: job pods of this connector.
        answers: by pod name, of those that ended; None: none could be read from its log.
        memory: of pods before it that brought no answer.
        slot: whether one more job pod of this connector may live.
        refusal: the API server refused the pod.
        deadline: seconds that a node has to take the pod, and the pod to end from then on.
        patience: seconds after which a pod that should have ended is taken to be on a node that is away.
        now: seconds since 1970.
    """

    name: str
    action: Action
    key: str
    pods: Sequence[JobPod]
    answers: Mapping[str, JobAnswer | None]
    memory: JobMemory
    slot: bool
    refusal: Refusal | None
    deadline: float
    patience: float
    now: float


@dataclass(frozen=True, slots=True)
class JobStep:
    """What follows.

    Attributes:
        memory: for status.
        answer: there is one: DONE or INVALID; of a preparation, DONE with a standing; of a reset, DONE.
        create: the name of a pod to create.
        delete: pods to delete.
        reason, message: what is waited for.
        again: look again after so many seconds; None: when something happens.
        queued: it waits for a slot.
    """

    memory: JobMemory
    answer: JobAnswer | None = None
    create: str | None = None
    delete: tuple[JobPod, ...] = ()
    reason: str = ""
    message: str = ""
    again: float | None = None
    queued: bool = False


def name_of(connector: str, action: Action, key: str, template: Mapping[str, object]) -> str:
    """The name of a job pod: another one where another template may let it start."""
    return job_name(connector, _WORDS[action], digest(key, template) if template else key)


def step(facts: JobFacts) -> JobStep:
    """What becomes of a job pod that is wanted."""
    wanted = [p for p in facts.pods if p.name == facts.name or p.name.startswith(f"{facts.name}-")]
    away = [p for p in wanted if p.given_up(facts.now, facts.patience)]
    pod = next((p for p in sorted(wanted, key=lambda p: p.created) if p not in away), None)
    name = pod.name if pod is not None else _free(facts.name, {p.name for p in wanted})
    others = tuple(p for p in facts.pods if p.name != name and p.leaving is None)
    memory = facts.memory if facts.memory.key == facts.name else JobMemory(facts.name)
    found = _follow(replace(facts, name=name, memory=memory), pod, away)
    return replace(found, delete=(*found.delete, *others))


def _free(name: str, taken: Collection[str]) -> str:
    """The name, or with the first number under which there is no pod."""
    names = (f"{name}-{number}" if number else name for number in itertools.count())
    return next(n for n in names if n not in taken)


def _follow(facts: JobFacts, pod: JobPod | None, away: Sequence[JobPod]) -> JobStep:
    memory, (reason, message) = facts.memory, DOING[facts.action]
    if memory.attempts:
        reason, message = memory.reason, memory.message
    elif away:
        message = (
            f"node {away[-1].node or 'unknown'} does not end pod {away[-1].name}: it is away, and another pod works"
        )
    if pod is None:
        if facts.refusal is not None:
            reason, message = facts.refusal.reason, facts.refusal.message
            if (left := pause(facts.refusal, facts.now)) > 0:
                return JobStep(memory, reason=reason, message=message, again=left)
        if memory.retry_at is not None and memory.retry_at > facts.now:
            return JobStep(memory, reason=reason, message=message, again=memory.retry_at - facts.now)
        if not facts.slot:
            if not memory.attempts and facts.refusal is None:
                message = "waits for its turn: only so many job pods live at once (limits.jobPods of the release)"
            return JobStep(memory, None, None, (), reason, message, again=_SLOT_WAIT, queued=True)
        return JobStep(memory, None, facts.name, tuple(away), reason, message)  # gone already, but for their requests
    if pod.phase is Phase.ENDED:
        return _ended(facts, pod)
    if pod.leaves_by is not None:
        left = pod.leaves_by + facts.patience - facts.now
        if not memory.attempts:
            message = f"waits for the end of {pod.name}"
        return JobStep(memory, None, None, (), reason, message, again=left)
    left = _ends_by(facts, pod) - facts.now
    if left <= 0:
        return replace(_failed(facts, *_overdue(facts, pod)), delete=(pod,))
    return JobStep(memory, None, None, (), *(pod.hindrance or (reason, message)), again=left)


def _ends_by(facts: JobFacts, pod: JobPod) -> float:
    """When we end it: the deadline in the pod itself begins on a node, and is kept by a kubelet that is there."""
    if not pod.node:
        return pod.created + facts.deadline
    return (pod.accepted or pod.created) + facts.deadline + facts.patience


def _overdue(facts: JobFacts, pod: JobPod) -> tuple[str, str]:
    if not pod.node:
        reason, message = pod.hindrance or (Reason.UNSCHEDULABLE, "no scheduler has looked at the pod")
        return reason, f"{message}; no node took the job pod within {facts.deadline:.0f} s, and it is tried again"
    if pod.hindrance is not None:
        return pod.hindrance[0], _late(pod)
    return Reason.NODE_LOST, f"node {pod.node} does not end pod {pod.name}, whose time is over; it is tried again"


DOING: Final[Mapping[Action, tuple[str, str]]] = {
    Action.PLAN: (Reason.PLANNING, "the connector's plugin checks the configuration and splits it into tasks"),
    Action.PREPARE: (Reason.PREPARING, "internal topics are made ready, and earlier tasks shut out"),
    Action.RESET_OFFSETS: (Reason.RESETTING_OFFSETS, "the connector's offsets are forgotten"),
}


def _late(pod: JobPod) -> str:
    if pod.started is not None:
        return "the job pod did not end in time; a plugin's validation may wait for a system that is away"
    why = "" if pod.hindrance is None else f": {': '.join(pod.hindrance)}"
    slow = "where an image takes long to be pulled, raise job.deadlineSeconds of the release"
    return f"the job pod's container had not started in time{why}; {slow}"


def _ended(facts: JobFacts, pod: JobPod) -> JobStep:
    gone = () if pod.leaving is not None else (pod,)
    answer = facts.answers.get(pod.name)
    if answer is not None and answer.id == facts.key and answer.outcome in (Outcome.DONE, Outcome.INVALID):
        if _is_answered(facts.action, answer):
            return JobStep(JobMemory(), answer, delete=gone)
        # A preparation may be wrong in a way that only shows at Kafka; a reset is tried for as long as it may be mended.
        reason, nothing = _NOT_DONE[facts.action]
        message = "; ".join(map(str, answer.problems)) or answer.message or nothing
    elif answer is not None and answer.id == facts.key:
        reason = _UNDONE.get(answer.outcome, Reason.JOB_FAILED)
        message = answer.message
    else:
        ended = pod.ended
        reason = ended.reason if ended is not None and ended.code is None else Reason.JOB_FAILED
        message = ended.describe() if ended is not None else "the pod ended without an answer"
        if reason == Reason.DEADLINE_EXCEEDED:
            reason, message = pod.hindrance[0] if pod.hindrance is not None else reason, _late(pod)
    memory = facts.memory
    if pod.leaving is not None and memory.attempts and memory.retry_at is not None:  # counted already
        left = (pod.leaves_by or facts.now) + facts.patience - facts.now
        return JobStep(memory, reason=memory.reason, message=memory.message, again=left)
    return replace(_failed(facts, reason, message), delete=gone)


def _is_answered(action: Action, answer: JobAnswer) -> bool:
    match action:
        case Action.PLAN:
            return True
        case Action.PREPARE:
            return answer.standing is not None
        case Action.RESET_OFFSETS:
            return answer.outcome is Outcome.DONE


_UNDONE: Final[Mapping[Outcome, str]] = {Outcome.UNAVAILABLE: Reason.UNAVAILABLE, Outcome.SUPERSEDED: Reason.SUPERSEDED}
_NOT_DONE: Final[Mapping[Action, tuple[str, str]]] = {
    Action.PLAN: (Reason.JOB_FAILED, "the job pod planned nothing"),
    Action.PREPARE: (Reason.PREPARE_FAILED, "the job pod prepared nothing"),
    Action.RESET_OFFSETS: (Reason.RESET_FAILED, "the job pod reset nothing"),
}


def _failed(facts: JobFacts, reason: str, message: str) -> JobStep:
    """This try brought no answer: when the next one comes."""
    attempts = facts.memory.attempts + 1
    delay = min(_LONGEST, _FIRST * 2.0 ** min(attempts - 1, _DOUBLINGS))
    if reason == Reason.PREPARE_FAILED and attempts > _DOUBLINGS + 1:
        delay = _REFUSED_LONGEST
    memory = JobMemory(facts.memory.key, attempts, facts.now + delay, reason, message)
    return JobStep(memory, None, None, (), reason, message, again=delay)
