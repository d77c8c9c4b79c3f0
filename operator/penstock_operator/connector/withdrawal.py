"""Stop working on a Connector that another operator runs, or whose namespace is deleted along with the permissions."""

import logging
from collections.abc import Mapping
from enum import Enum
from http import HTTPStatus
from typing import Any, Final

from penstock_operator.connector.decide.stopped_or_deleted import RELEASED_AFTER
from penstock_operator.connector.kubernetes_writes import delete_plan, write_finalizer
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.pod_writes import delete_pod
from penstock_operator.context import Context
from penstock_operator.errors import OperatorError, Refused
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import NAMESPACE
from penstock_operator.kubernetes.times import instant
from penstock_operator.names import FINALIZER, OPERATOR_LABEL
from penstock_operator.reasons import Reason

__all__ = ["NamespaceEnd", "end_of", "leave", "release_finalizer"]

log = logging.getLogger(__name__)
_LOOK: Final = 60.0


class NamespaceEnd(Enum):
    """Progress of the deletion of a namespace."""

    IN_PROGRESS = "in progress"
    REACHED = "reached"


async def leave(document: Mapping[str, Any], observed: Observation, context: Context) -> float:
    """Leave a Connector to the operator that runs it: delete the objects of this one, and report that in an Event.

    The status belongs to the other operator and is not written. So this is not a `Decision`, which always writes a status
    and Kafka Connect's states.

    Returns:
        Seconds until the next check.
    """
    metadata = observed.connector.metadata
    key = Key(metadata.namespace or "", metadata.name)
    for pod in (*observed.pods.tasks, *observed.pods.jobs, *observed.pods.offsets_jobs):
        if pod.leaving is None:
            await delete_pod(key, pod, context)
    for plan in observed.plans:
        await delete_plan(key, plan.hash, context)
    context.metrics.forget(key)
    message = (
        f"operator {observed.pods.other_operator} runs this Connector, so {context.settings.release.label} does not: no two "
        f"releases may watch one namespace. Remove {key.namespace} from watchNamespaces of one of them; to hand it over, "
        f"then remove the pods and ConfigMaps with label {OPERATOR_LABEL}={observed.pods.other_operator}"
    )
    log.warning("%s: %s", key, message)
    reason = Reason.OTHER_OPERATOR
    await context.run(
        context.kube.event, document, type_=reason.event, reason=reason, message=message, action="Reconcile"
    )
    return _LOOK


async def release_finalizer(document: Mapping[str, Any], context: Context, refused: Refused) -> bool:
    """Remove Penstock's finalizer from a Connector that is being deleted, if nothing else is permitted any longer.

    When a namespace is deleted, RoleBindings and Connectors are deleted in any order, so that a Connector may wait for the
    operator when the operator has lost its permissions for pods.

    Returns:
        Whether the finalizer was removed; also False if the refusal has another cause, and is an error.
    """
    metadata = document["metadata"]
    since = instant(metadata.get("deletionTimestamp"))
    if refused.status != HTTPStatus.FORBIDDEN or since is None or FINALIZER not in (metadata.get("finalizers") or ()):
        return False
    key = Key(metadata["namespace"], metadata["name"])
    if context.clock() - since < RELEASED_AFTER and await end_of(key.namespace, context) is None:
        return False
    log.warning("%s: its offsets were not reset: the operator may no longer create pods: %s", key, refused)
    return await write_finalizer(document, key, False, context)


async def end_of(namespace: str, context: Context) -> NamespaceEnd | None:
    """Return the progress of the deletion of a namespace; None: it is not being deleted, or that is unknown."""
    try:
        document = await context.run(context.kube.get, NAMESPACE, None, namespace)
    except OperatorError:
        return None
    if document is None:
        return NamespaceEnd.REACHED
    return NamespaceEnd.IN_PROGRESS if "deletionTimestamp" in document["metadata"] else None
