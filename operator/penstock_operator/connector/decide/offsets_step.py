"""Decision step for a Connector's offsets actions: their conditions, pods and results. Pure.

An action has one attempt. Its entry in `status.offsetsActions` is `Pending` before its pod is created, under a name that is
unique to the action; then the pod's answer is final, and if the pod ends without one, the outcome is unknown. An action is
not repeated, since tasks may have run since then: its pod is created again only if it never existed, the Connector should
still be stopped, and the annotation is unchanged. If a pod existed unnoticed, the second one does nothing once tasks have
run: its request names the greatest plan generation that could be recorded in Kafka when the action began.

A list follows the same steps, but does not wait for tasks to end (`offsets_list`). A list that has not begun overtakes
waiting actions. A reset of active topics has an entry here, but no pod (`topics_reset`).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, OffsetsVerb, OffsetsWork
from penstock_model.resources.connector import State
from penstock_operator.connector.decide.job_step import FOR_A_SLOT, SLOT_WAIT
from penstock_operator.connector.decide.offsets_list import (
    is_published,
    list_job,
    list_refusal,
    list_waits,
    listed,
    listed_after,
)
from penstock_operator.connector.decide.offsets_outcome import (
    OffsetsStep,
    answered,
    final,
    finished,
    is_same,
    pending,
    waits_of_any,
)
from penstock_operator.connector.decide.offsets_refusal import refusal
from penstock_operator.connector.decide.step_outcome import pod_names, soonest
from penstock_operator.connector.decide.used_tokens import earlier_actions, refused_if_used
from penstock_operator.connector.model.decision import CreateJob
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.offsets_requests import (
    ALTER,
    LIST,
    RESET,
    RESET_TOPICS,
    OffsetsRequest,
    kept_actions,
    offsets_requests,
)
from penstock_operator.connector.model.persisted_state import OffsetsAction, PersistedState
from penstock_operator.connector.model.pod_status import JobPod, Phase
from penstock_operator.connector.model.refused_pods import pause
from penstock_operator.names import digest, job_name

__all__ = ["OffsetsStep", "offsets_step"]

_LOOK: Final = 10.0
"""Seconds until the next check for changes that cause no event."""
_VERBS: Final = {RESET: OffsetsVerb.RESET, ALTER: OffsetsVerb.ALTER}
_JOBS: Final = {LIST: Action.LIST_OFFSETS, RESET: Action.OFFSETS, ALTER: Action.OFFSETS}
_DOING: Final = {
    LIST: "the connector's offsets are being read",
    RESET: "the connector's offsets are being reset",
    ALTER: "the connector's offsets are being altered",
}


def offsets_step(observed: Observation, persisted: PersistedState) -> OffsetsStep:
    """Return the step for all offsets actions of a Connector.

    Args:
        observed: the Connector, which is not being deleted.
        persisted: its state after the other steps.
    """
    requests = offsets_requests(observed.connector.metadata.annotations)
    known = tuple(_given_up_if_late(observed, _failed_if_unknown(a, observed.now), requests) for a in persisted.offsets)
    pods = {p.name for p in observed.pods.offsets_jobs}
    every = (*known, *_new(observed, persisted, requests))
    actions = tuple(a if _pod_name(observed, a) in pods else refused_if_used(observed, a) for a in every)
    current = _current(observed, actions)
    if current is None:
        step = OffsetsStep(replace(persisted, offsets=actions))
    else:
        step = _of_current(replace(observed, persisted=replace(persisted, offsets=actions)), current, requests)
    step = replace(step, persisted=_told_to_wait(observed, step.persisted, current))
    following = _current(observed, step.persisted.offsets)
    name = "" if following is None else _pod_name(observed, following)
    superfluous = (
        p for p in observed.pods.offsets_jobs if p.name != name and p.leaving is None and p not in step.delete
    )
    is_next = following is not None and current is not None and not is_same(following, current)
    return replace(
        step,
        persisted=replace(step.persisted, offsets=kept_actions(step.persisted.offsets, requests)),
        delete=(*step.delete, *superfluous),
        requeue_after=soonest(step.requeue_after, 0.0 if is_next else None),
    )


def _told_to_wait(observed: Observation, persisted: PersistedState, current: OffsetsAction | None) -> PersistedState:
    """Set the message of each waiting action, with the reason."""

    def told(action: OffsetsAction) -> OffsetsAction:
        if current is None or not action.is_pending or action.action not in _DOING or is_same(action, current):
            return action
        waits = list_waits(observed) if action.action == LIST else ""
        return replace(action, message=waits or f"waiting for {current.action} ({current.token})")

    return replace(persisted, offsets=tuple(map(told, persisted.offsets)))


def _current(observed: Observation, actions: Sequence[OffsetsAction]) -> OffsetsAction | None:
    """Return the action in progress, or the next one: lists that need not wait, then the oldest of the others."""
    waiting = [a for a in actions if a.is_pending and a.action in _DOING]
    pods = {p.name for p in observed.pods.offsets_jobs}
    begun = (a for a in waiting if a.began is not None or a.pod_uid or _pod_name(observed, a) in pods)
    lists = (a for a in waiting if a.action == LIST and not list_waits(observed))
    others = (a for a in waiting if a.action != LIST)
    return next(chain(begun, lists, others, waiting), None)


def _new(observed: Observation, persisted: PersistedState, requests: tuple[OffsetsRequest, ...]) -> list[OffsetsAction]:
    """Return an entry for each request that has none."""
    new = [r for r in requests if not any(r.asks_for(a) for a in persisted.offsets)]
    before = (*persisted.offsets, *(a for a in earlier_actions(observed) if not any(r.asks_for(a) for r in new)))
    problems = [refusal(r, observed.connector, before, of_topics=observed.release.topics_reset_refusal) for r in new]
    at = float(int(observed.now))
    return [
        OffsetsAction(r.action, r.token, "Refused" if problem else "Pending", problem, at, content=r.content)
        for r, problem in zip(new, problems, strict=True)
    ]


def _failed_if_unknown(action: OffsetsAction, now: float) -> OffsetsAction:
    """Return the action, as failed if a later release began it and this release cannot continue it."""
    if not action.is_pending or action.action in (*_DOING, RESET_TOPICS):
        return action
    message = (
        "outcome unknown: a later release began this action, which this release does not support. Use a new token with "
        "that release"
    )
    return OffsetsAction(action.action, action.token, "Failed", message, float(int(now)), content=action.content)


def _given_up_if_late(
    observed: Observation, action: OffsetsAction, requests: tuple[OffsetsRequest, ...]
) -> OffsetsAction:
    """Return the action, as refused if it waits for another one and is no longer requested."""
    if not action.is_pending or action.action not in _DOING or action.began is not None or action.pod_uid:
        return action
    name = _pod_name(observed, action)
    given_up = "" if any(p.name == name for p in observed.pods.offsets_jobs) else _given_up(observed, action, requests)
    return final(observed, action, "Refused", f"nothing was done: {given_up}") if given_up else action


def _of_current(observed: Observation, action: OffsetsAction, requests: tuple[OffsetsRequest, ...]) -> OffsetsStep:
    """Return the step of the action in progress."""
    name = _pod_name(observed, action)
    pod = next((p for p in observed.pods.offsets_jobs if p.name == name), None)
    if pod is not None:
        return _with_pod(observed, replace(action, pod_uid=pod.uid), pod)
    if is_published(observed, action):
        return listed(observed, action)
    if action.pod_uid:
        return _unknown(observed, action, f"its pod {name} no longer exists, and left no answer")
    is_refused = name in observed.pods.refusals
    if action.began is not None and is_refused:  # it was refused, so the pod never existed
        action = replace(action, began=None, generation=0)
    given_up = _given_up(observed, action, requests)
    if given_up and action.began is not None and action.action != LIST:
        return _unknown(observed, action, f"{given_up}, and it is unknown whether its pod existed before")
    if given_up:
        return finished(observed, action, "Refused", f"nothing was done: {given_up}")
    document = next((r.document for r in requests if r.asks_for(action)), "")
    return _begun(observed, action, name, document)


def _given_up(observed: Observation, action: OffsetsAction, requests: tuple[OffsetsRequest, ...]) -> str:
    """Return why an action whose pod does not exist must no longer begin; empty: it may."""
    if action.action != LIST and observed.connector.spec.state is not State.STOPPED:
        return "the connector was started again before the action began"
    if not any(r.asks_for(action) for r in requests):
        return "the annotation was changed before the action began"
    return list_refusal(observed) if action.action == LIST else ""


def _begun(observed: Observation, action: OffsetsAction, name: str, document: str) -> OffsetsStep:
    """Create the pod, unless the action must wait; `document` is the JSON of alter."""
    refused = observed.pods.refusals.get(name)
    if action.began is None:
        if waits := list_waits(observed) if action.action == LIST else _waits(observed):
            return pending(observed, action, waits, requeue_after=_LOOK)
        if refused is not None and (left := pause(refused, observed.now)) > 0:
            return pending(observed, action, refused.message, requeue_after=left)
        if not observed.release.has_job_slot:
            return replace(pending(observed, action, FOR_A_SLOT, requeue_after=SLOT_WAIT), queued=True)
        generation = 0 if action.action == LIST else observed.records.last_generation
        action = replace(action, began=float(int(observed.now)), generation=generation)
    step = pending(observed, action, _DOING[action.action])
    if action.action == LIST:
        return replace(step, create=(list_job(observed, name, _key(observed, action)),))
    work = OffsetsWork(verb=_VERBS[action.action], generation=action.generation, document=document)
    return replace(
        step,
        # It fences the tasks of all plans, so any plan must be prepared again.
        persisted=replace(step.persisted, fence=""),
        # With the release's image: that of the last plan may be of a release without this action.
        create=(CreateJob(name, Action.OFFSETS, _key(observed, action), offsets=work),),
    )


def _waits(observed: Observation) -> str:
    """Return the message of an action that must wait; empty: it need not.

    A task pod counts until its end was observed, even on a lost node: its process may still write offsets.
    """
    living = [p for p in observed.pods.tasks if p.phase is not Phase.ENDED]
    jobs = [p for p in observed.pods.jobs if p.lives(observed.now, observed.release.node_timeout)]
    # Pods of other actions: this action has none.
    others = [p for p in observed.pods.offsets_jobs if p.phase is not Phase.ENDED and p.action != Action.LIST_OFFSETS]
    if pods := [*living, *jobs, *others]:
        return f"waiting for {pod_names(pods)} to terminate"
    if observed.pods.foreign:
        return f"waiting: pods of an earlier Connector of this name still exist: {', '.join(sorted(observed.pods.foreign))}"
    return waits_of_any(observed)


def _with_pod(observed: Observation, action: OffsetsAction, pod: JobPod) -> OffsetsStep:
    """Wait for the existing pod, or process its answer."""
    action = action if action.began is not None else replace(action, began=pod.created)
    if pod.phase is Phase.ENDED:
        step = _after_end(observed, action, pod)
        goes_on = any(a.is_pending and is_same(a, action) for a in step.persisted.offsets)
        return step if goes_on or pod.leaving is not None else replace(step, delete=(pod,))
    if pod.is_on_lost_node(observed.now, observed.release.node_timeout):
        node = pod.node or "unknown"
        return _unknown(observed, action, f"node {node} does not stop pod {pod.name}: the node is unavailable")
    if pod.leaves_by is not None:
        left = pod.leaves_by + observed.release.node_timeout - observed.now
        return pending(observed, action, f"waiting for pod {pod.name} to terminate", requeue_after=left)
    left = pod.due(observed.release.job_deadline, observed.release.node_timeout) - observed.now
    if left <= 0:
        late = replace(pending(observed, action, f"pod {pod.name} has not ended in time"), delete=(pod,))
        return replace(late, requeue_after=_LOOK)
    message = _DOING[action.action] if pod.hindrance is None else ": ".join(pod.hindrance)
    return pending(observed, action, message, requeue_after=left)


def _after_end(observed: Observation, action: OffsetsAction, pod: JobPod) -> OffsetsStep:
    answer = observed.pods.answers.get(pod.name)
    if answer is not None and (answer.id, answer.action) == (_key(observed, action), _JOBS[action.action]):
        is_list = action.action == LIST
        return listed_after(observed, action, pod, answer) if is_list else answered(observed, action, answer)
    word = None if pod.ended is None else pod.ended.word
    if word is not None and word.exit_code == ExitCode.CONFIG_INVALID:  # a job reads its request first
        why = f"the runtime image {pod.image} does not support this action, or cannot read its request"
        return finished(observed, action, "Refused", f"nothing was done: {why}: {word.message or 'it gave no reason'}")
    known = [": ".join(pod.hindrance)] if pod.hindrance is not None else []
    known += [pod.ended.describe()] if pod.ended is not None else []
    return _unknown(
        observed, action, f"pod {pod.name} ended without an answer ({'; '.join(known) or 'no reason is known'})"
    )


def _unknown(observed: Observation, action: OffsetsAction, why: str) -> OffsetsStep:
    text = f"nothing is listed: {why}" if action.action == LIST else f"outcome unknown: {why}. List the offsets"
    return finished(observed, action, "Failed", f"{text}, then use a new token")


def _key(observed: Observation, action: OffsetsAction) -> str:
    content = (action.content,) if action.content else ()
    return digest(observed.connector.metadata.uid, action.action, action.token, *content)


def _pod_name(observed: Observation, action: OffsetsAction) -> str:
    return job_name(observed.connector.metadata.name, "offsets", _key(observed, action))
