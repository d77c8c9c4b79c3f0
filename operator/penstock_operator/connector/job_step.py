"""One short pod: from what is seen of it, what becomes of it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock.job import Action, JobAnswer, Outcome
from penstock_operator.connector.memory import JobMemory
from penstock_operator.connector.names import job_name
from penstock_operator.connector.pod_facts import JobPod, Phase

__all__ = ["JobFacts", "JobStep", "name_of", "step"]

_FIRST: Final = 2.0
_LONGEST: Final = 60.0
_DOUBLINGS: Final = 5
_SLOT_WAIT: Final = 60.0
"""Should nobody wake it: a connector that waits for a slot is told when there is one."""
_WORDS: Final = {Action.PLAN: "plan", Action.PREPARE: "prepare", Action.RESET_OFFSETS: "reset"}


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What is known.

    Attributes:
        name: of its pod (`name_of`).
        action: what is wanted.
        key: what for: equal wishes have equal keys.
        pods: short pods of this connector.
        answers: by pod name, of those that ended; None: none could be read from its log.
        memory: of pods before it that brought no answer.
        slot: whether one more short pod may live.
        refusal: why the API server refused the pod a moment ago: reason, sentence.
        now: seconds since 1970.
    """

    name: str
    action: Action
    key: str
    pods: Sequence[JobPod]
    answers: Mapping[str, JobAnswer | None]
    memory: JobMemory
    slot: bool
    refusal: tuple[str, str] | None
    now: float


@dataclass(frozen=True, slots=True)
class JobStep:
    """What follows.

    Attributes:
        memory: for status.
        answer: there is one: DONE or INVALID.
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


def name_of(connector: str, action: Action, key: str) -> str:
    """The name of a short pod and of its request."""
    return job_name(connector, _WORDS[action], key)


def step(facts: JobFacts) -> JobStep:
    """What becomes of a short pod that is wanted."""
    pod = next((p for p in facts.pods if p.name == facts.name), None)
    others = tuple(p for p in facts.pods if p.name != facts.name and p.leaving is None)
    memory = facts.memory if facts.memory.key == facts.key else JobMemory(facts.key)
    found = _follow(replace(facts, memory=memory), pod)
    return replace(found, delete=(*found.delete, *others))


def _follow(facts: JobFacts, pod: JobPod | None) -> JobStep:
    memory, doing, name = facts.memory, _DOING[facts.action], facts.name
    if pod is None:
        if facts.refusal is not None:
            return JobStep(memory, None, name, (), *facts.refusal)
        if memory.retry_at is not None and memory.retry_at > facts.now:
            return JobStep(memory, reason=memory.reason, message=memory.message, again=memory.retry_at - facts.now)
        told = (memory.reason, memory.message) if memory.attempts else (doing[0], doing[1])
        if not facts.slot:
            told = told if memory.attempts else (doing[0], "waits for its turn: only so many short pods live at once")
            return JobStep(memory, None, None, (), *told, again=_SLOT_WAIT, queued=True)
        return JobStep(memory, None, name, (), *told)
    if pod.phase is Phase.ENDED:
        return _ended(facts, pod)
    if pod.leaving is not None:
        return JobStep(memory, reason=doing[0], message=doing[1])
    if pod.hindrance is not None:
        return JobStep(memory, None, None, (), *pod.hindrance)
    told = (memory.reason, memory.message) if memory.attempts else (doing[0], doing[1])
    return JobStep(memory, None, None, (), *told)


_DOING: Final = {
    Action.PLAN: ("Planning", "the connector's plugin checks the configuration and splits it into tasks"),
    Action.PREPARE: ("Preparing", "internal topics are made ready, and earlier tasks shut out"),
    Action.RESET_OFFSETS: ("ResettingOffsets", "the connector's offsets are forgotten"),
}


def _late(pod: JobPod) -> str:
    if pod.started is not None:
        return "the short pod did not end in time; a plugin's validation may wait for a system that is away"
    why = "" if pod.hindrance is None else f": {': '.join(pod.hindrance)}"
    slow = "where an image takes long to be pulled, raise job.deadlineSeconds of the release"
    return f"the short pod's container had not started in time{why}; {slow}"


def _ended(facts: JobFacts, pod: JobPod) -> JobStep:
    gone = () if pod.leaving is not None else (pod,)
    answer = facts.answers.get(pod.name)
    if answer is not None and answer.id == facts.key and answer.outcome in (Outcome.DONE, Outcome.INVALID):
        return JobStep(JobMemory(), answer, delete=gone)
    if answer is not None and answer.id == facts.key:
        reason = {Outcome.UNAVAILABLE: "Unavailable", Outcome.SUPERSEDED: "Superseded"}.get(answer.outcome, "JobFailed")
        message = answer.message
    else:
        ended = pod.ended
        reason = ended.reason if ended is not None and ended.code is None else "JobFailed"
        message = ended.told() if ended is not None else "the pod ended without an answer"
        if reason == "DeadlineExceeded":
            message = _late(pod)
    memory = facts.memory
    if pod.leaving is not None and memory.attempts and memory.retry_at is not None:  # counted already
        return JobStep(
            memory, reason=memory.reason, message=memory.message, again=max(0.0, memory.retry_at - facts.now)
        )
    attempts = memory.attempts + 1
    delay = min(_LONGEST, _FIRST * 2.0 ** min(attempts - 1, _DOUBLINGS))
    again = JobMemory(facts.key, attempts, facts.now + delay, reason, message)
    return JobStep(again, None, None, gone, reason, message, again=delay)
