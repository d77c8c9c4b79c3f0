"""Recover the state of a Connector from its pods, if its status was lost or replaced by an older one. Pure.

The incarnation of a task is in the status before its pod is created. So a pod of a later incarnation than in the status
shows that the status was removed or restored from a backup. Its tasks continue, and requests of annotations that may have
been handled are not repeated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_operator.connector.model.persisted_state import (
    FailedJob,
    HandledRequest,
    PersistedState,
    PersistedTask,
    last_restart,
)
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.pod_status import Phase, TaskPod
from penstock_operator.connector.model.restart_tokens import RESTART_ACTIONS, restart_token

__all__ = ["living_pods", "pods_ahead", "recovered_state"]

_RESTARTED: Final = "the connector and all of its tasks are restarted"
_MAY_BE_USED: Final = (
    "nothing was restarted: the status of this Connector was lost or replaced by an older one, so this token may already "
    "have been used; use a new token"
)


def living_pods(pods: Sequence[TaskPod]) -> tuple[TaskPod, ...]:
    """Return the pods that have not ended and are not being deleted."""
    return tuple(p for p in pods if p.phase is not Phase.ENDED and p.leaving is None)


def pods_ahead(persisted: PersistedState, living: Sequence[TaskPod]) -> tuple[TaskPod, ...]:
    """Return the living pods of a later incarnation than in the status, or all of them if the status has no plan."""
    # If the status has tasks, but not the task of a pod, that pod is superfluous.
    return tuple(
        p
        for p in living
        if (p.incarnation > persisted.task(p.task).incarnation or not persisted.plan)
        and (p.task in persisted.tasks or not persisted.has_run)
    )


def recovered_state(
    persisted: PersistedState,
    ahead: Sequence[TaskPod],
    plan: Plan,
    epoch: PlanEpoch,
    connect_name: str,
    annotations: Mapping[str, str],
    now: float,
) -> PersistedState:
    """Return the persisted state, completed from the pods.

    Args:
        persisted: the state in the status.
        ahead: result of `pods_ahead`.
        plan: plan that the pods run.
        epoch: epoch of their preparation.
        connect_name: Connect name of the Connector.
        annotations: annotations of the Connector.
        now: seconds since 1970.
    """
    is_same_plan = persisted.plan == plan.hash
    tasks = {n: t for n, t in persisted.tasks.items() if n < len(plan.tasks)}
    for pod in ahead:
        before = persisted.task(pod.task)
        found = PersistedTask(
            pod.task,
            incarnation=pod.incarnation,
            pod=pod.name,
            pod_uid=pod.uid,
            pod_hash=pod.pod_hash,
            started=pod.started,
            restarts=before.restarts,
            last_record=before.last_record,
        )
        tasks[pod.task] = found.to("Pending", now)
    return replace(
        persisted,
        plan=plan.hash,
        epoch=epoch,
        fence=plan.fence(connect_name),
        tasks=tasks,
        job=FailedJob(),
        handled=_handled(persisted.handled, plan.restarted, annotations, now),
        own_hash=persisted.own_hash if is_same_plan else "",
        rollout=persisted.rollout if is_same_plan else None,
        canary=None,
    )


def _handled(
    before: tuple[HandledRequest, ...], restarted: str, annotations: Mapping[str, str], now: float
) -> tuple[HandledRequest, ...]:
    """Return the handled restarts: those in the status, that of the plan, and any others that annotations request.

    The others may have been handled already, so they are recorded as refused.
    """
    handled = list(before)
    last = last_restart(handled)
    if restarted and (last is None or last.token != restarted):
        handled = [h for h in handled if (h.action, h.token) != ("restart", restarted)]
        handled.append(HandledRequest("restart", restarted, "Succeeded", _RESTARTED, now))
    known = {(h.action, h.token) for h in handled}
    for action in RESTART_ACTIONS:
        token, _ = restart_token(annotations, action)
        if token and (action, token) not in known:
            handled.append(HandledRequest(action, token, "Refused", _MAY_BE_USED, now))
    return tuple(handled)
