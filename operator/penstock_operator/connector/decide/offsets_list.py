"""List offsets: an action that changes no offsets and writes its result to a ConfigMap. Pure.

The job pod refuses a list that is too long for a ConfigMap (`penstock_runtime/job/listing`).
"""

import json
from dataclasses import replace
from typing import Any, Final

from penstock_model.contracts.job import LIST_BYTES, Action, JobAnswer, Outcome
from penstock_operator.connector.decide.offsets_outcome import OffsetsStep, answered, finished, pending, waits_of_any
from penstock_operator.connector.model.decision import CreateJob
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.offsets_list_map import OFFSETS_KEY, OffsetsList, Owner
from penstock_operator.connector.model.offsets_requests import LIST
from penstock_operator.connector.model.persisted_state import OffsetsAction
from penstock_operator.connector.model.pod_status import JobPod
from penstock_operator.names import list_name

__all__ = ["is_published", "list_job", "list_refusal", "list_waits", "listed", "listed_after", "of_list"]

_GONE: Final = 2.0
"""Seconds until the next check whether the previous ConfigMap was deleted."""


def list_job(observed: Observation, name: str, key: str) -> CreateJob:
    """Return the job pod that reads the offsets."""
    plan = observed.plan(observed.persisted.plan)
    kind: Any = None if plan is None else plan.kind
    return CreateJob(name, Action.LIST_OFFSETS, key, kind=kind)


def list_refusal(observed: Observation) -> str:
    """Return why a list is refused; empty: it is not."""
    found = observed.list_map
    if found is None or found.owner is not Owner.FOREIGN:
        return ""
    return (
        f"ConfigMap {_name(observed)} exists, but does not belong to this Connector. Rename or remove it, then use a new "
        "token"
    )


def list_waits(observed: Observation) -> str:
    """Return the message of a list that must wait; empty: it need not.

    It waits neither for tasks nor for pods of earlier Connectors.
    """
    return waits_of_any(observed) or (_for_end_of_map(observed) if _is_going(observed) else "")


def of_list(pod_uid: str) -> str:
    """Return the key of the refusal of a pod's list, among the refusals of pods."""
    return f"configmaps/{pod_uid}"


def is_published(observed: Observation, action: OffsetsAction) -> bool:
    """Return whether the ConfigMap contains the list of this action's pod.

    If the list has the token of an action that has not begun, the action was done before the status was lost.
    """
    found = observed.list_map
    if found is None or found.owner is not Owner.OURS:
        return False
    if action.pod_uid:
        return found.pod_uid == action.pod_uid
    return action.action == LIST and action.began is None and found.token == action.token


def listed(observed: Observation, action: OffsetsAction, count: str = "the offsets") -> OffsetsStep:
    """Return the step that finishes the action: the list exists."""
    return finished(observed, action, "Succeeded", f"{count}: ConfigMap {_name(observed)}, key {OFFSETS_KEY}")


def listed_after(observed: Observation, action: OffsetsAction, pod: JobPod, answer: JobAnswer) -> OffsetsStep:
    """Write the list from the pod's answer. The action is finished once the ConfigMap was observed."""
    if answer.outcome is not Outcome.DONE:
        return answered(observed, action, answer)
    text = answer.offsets or ""
    count = _count(text)
    if count is None or len(text.encode()) > LIST_BYTES:
        why = "is not a list of offsets" if count is None else f"has more than {LIST_BYTES // 1024} KiB"
        return finished(observed, action, "Failed", f"nothing is listed: the answer of pod {pod.name} {why}")
    if is_published(observed, action):
        return listed(observed, action, f"{count} position{'' if count == 1 else 's'}")
    if refusal := list_refusal(observed):
        return finished(observed, action, "Refused", f"nothing is listed: {refusal}")
    if refused := observed.pods.refusals.get(of_list(pod.uid)):
        return finished(observed, action, "Failed", f"nothing is listed: {refused.message}. Then use a new token")
    if _is_going(observed):
        if observed.now > (action.began or 0.0) + observed.release.job_deadline:
            still = f"ConfigMap {_name(observed)} is being deleted but still exists"
            why = f"{still}: remove the finalizers that block its deletion"
            return finished(observed, action, "Failed", f"nothing is listed: {why}, then use a new token")
        return pending(observed, action, _for_end_of_map(observed), requeue_after=_GONE)
    before = observed.list_map
    made = OffsetsList(text, action.token, pod.uid, "" if before is None else before.version)
    step = pending(observed, action, f"the list is being written to ConfigMap {_name(observed)}", requeue_after=0.0)
    return replace(step, publish=made)


def _count(text: str) -> int | None:
    """Return the number of positions in the list; None: it is not a list."""
    try:
        document = json.loads(text)
        entries = document["offsets"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return len(entries) if isinstance(entries, list) else None


def _is_going(observed: Observation) -> bool:
    return observed.list_map is not None and observed.list_map.owner is Owner.GOING


def _for_end_of_map(observed: Observation) -> str:
    return f"waiting until ConfigMap {_name(observed)}, which is being deleted, no longer exists"


def _name(observed: Observation) -> str:
    return list_name(observed.connector.metadata.name)
