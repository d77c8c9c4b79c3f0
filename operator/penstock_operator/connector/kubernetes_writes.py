"""Writes of `apply` to the API server, except pods: status, Events, finalizer, plans and lists of offsets."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from penstock_model.contracts.texts import joined
from penstock_operator.connector.model.api_failures import cause
from penstock_operator.connector.model.decision import Decision
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.offsets_list_map import ListMap, OffsetsList, Owner, list_map_of
from penstock_operator.connector.model.plan_config_map import config_map_of
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.refused_pods import after, of_plan
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.connector.render.events import events_between
from penstock_operator.connector.render.pod_manifests import PodManifests
from penstock_operator.connector.render.status import connector_status, is_unchanged
from penstock_operator.context import Context, Run
from penstock_operator.errors import Conflict, Refused
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONFIG_MAP, CONNECTOR
from penstock_operator.names import (
    FINALIZER,
    OPERATOR_LABEL,
    PLUGIN_VERSION_LABEL,
    ROLE_LABEL,
    UID_LABEL,
    label,
    plan_name,
    request_name,
)

__all__ = [
    "STATUS_MANAGER",
    "delete_plan",
    "publish_list",
    "put_config_map",
    "save_plan",
    "write_finalizer",
    "write_status",
]

log = logging.getLogger(__name__)
STATUS_MANAGER: Final = "penstock-status"
_QUOTA_RECOUNTED: Final = 2.0
"""Seconds after which a quota no longer counts deleted objects."""


async def write_status(
    document: Mapping[str, Any], observed: Observation, decision: Decision, context: Context
) -> Mapping[str, Any] | None:
    """Write the status and Events for its changes, unless the Connector already has this status.

    Returns:
        The Connector with its metadata after the write; None: it was deleted, or another Connector has its name.
    """
    metadata = observed.connector.metadata
    status = connector_status(observed, decision)
    if is_unchanged(status, document.get("status")):
        return document
    written = await context.run(
        context.kube.apply_status,
        CONNECTOR,
        metadata.namespace or "",
        metadata.name,
        status,
        uid=metadata.uid or "",
        manager=STATUS_MANAGER,
        resource_version=document["metadata"]["resourceVersion"],
    )
    if written is None:
        return None
    for event in () if observed.namespace_ends else events_between(observed.persisted, decision):
        log.info(
            "%s", event.message, extra={"connector": f"{metadata.namespace}/{metadata.name}", "reason": event.reason}
        )
        await context.run(
            context.kube.event,
            document,
            type_=event.type,
            reason=event.reason,
            message=event.message,
            action=event.action,
        )
    return {**document, "metadata": written["metadata"]}


async def write_finalizer(document: Mapping[str, Any], key: Key, wanted: bool, context: Context) -> bool:
    """Add or remove Penstock's finalizer; False: the Connector has changed since it was observed."""
    metadata = document["metadata"]
    others = [f for f in metadata.get("finalizers") or () if f != FINALIZER]
    finalizers = [*others, FINALIZER] if wanted else others
    return bool(
        await context.run(
            context.kube.finalizers,
            CONNECTOR,
            key.namespace,
            key.name,
            finalizers,
            resource_version=metadata["resourceVersion"],
        )
    )


async def save_plan(
    key: Key,
    plan: Plan,
    observed: Observation,
    decision: Decision,
    manifests: PodManifests,
    context: Context,
    cached: CachedConnector,
) -> bool:
    """Save a plan in a ConfigMap; False: it was refused, and tasks keep the last plan until the next attempt.

    Raises:
        OperatorError: a request to the API server failed, or it refused a plan before the next attempt was due.
    """
    manifest, name = config_map_of(plan, manifests.plan_metadata(plan)), of_plan(plan_name(key.name, plan.hash))
    before = observed.pods.refusals.get(name)
    try:
        try:
            await put_config_map(key, manifest, context.kube, context.run)
        except Refused as e:
            jobs = [p for p in decision.delete if p.role == "job"]
            if not (e.over_quota and jobs):
                raise
            for pod in jobs:  # once they have answered, their requests are no longer needed but count in the quota
                await context.run(context.kube.delete, CONFIG_MAP, key.namespace, request_name(pod.name))
            await asyncio.sleep(_QUOTA_RECOUNTED)
            await put_config_map(key, manifest, context.kube, context.run)
    except (Refused, Conflict) as e:
        if before is not None and before.again_at > observed.now:
            raise
        reason, remedy = cause(e)
        text = f"cannot save its plan: {e.answer if isinstance(e, Refused) and e.answer else e}"
        cached.refusals[name] = after(
            before,
            reason,
            joined(text, remedy) if remedy else text,
            now=observed.now,
            generation=observed.connector.metadata.generation,
        )
        return False
    cached.refusals.pop(name, None)
    return True


async def publish_list(made: OffsetsList, manifests: PodManifests, context: Context) -> None:
    """Write the list of offsets, replacing the observed list.

    Do nothing if the observed list has been changed or deleted since then, or if another one has been created.

    Raises:
        OperatorError: a request to the API server failed.
        Refused: the API server refused it, or an admission webhook changed the ConfigMap.
    """
    connector = manifests.connector.metadata
    manifest = list_map_of(made, manifests.list_metadata())
    try:
        written = await context.run(context.kube.merge if made.replaces else context.kube.create, manifest)
    except Conflict:
        return
    if written is None:
        return
    found = ListMap.of(written, connector.name, connector.uid or "")
    if (found.owner, found.pod_uid) != (Owner.OURS, made.pod_uid):
        name = manifest["metadata"]["name"]
        why = f"ConfigMap {name} has other labels or annotations than were written: check for a webhook that changes it"
        raise Refused(f"Writing ConfigMap {name}", answer=why)


async def delete_plan(key: Key, plan_hash: str, context: Context) -> None:
    """Delete the ConfigMap of a plan, if it exists."""
    await context.run(context.kube.delete, CONFIG_MAP, key.namespace, plan_name(key.name, plan_hash))


async def put_config_map(key: Key, manifest: Mapping[str, Any], kube: Kube, run: Run) -> None:
    """Ensure that a ConfigMap of this Connector or PluginVersion exists with exactly these data.

    An existing ConfigMap with these data and owners is kept: this operator has just written it. Any other is replaced: one
    of an earlier Connector of this name (deleted without its dependents, or restored from a backup) would be
    garbage-collected while tasks use it, and one of an operator of another version cannot be read.

    Raises:
        Conflict: another ConfigMap has its name, and cannot be deleted.
    """
    name = manifest["metadata"]["name"]
    for _ in range(2):
        if await run(kube.create, manifest) is not None:
            return
        present = await run(kube.get, CONFIG_MAP, key.namespace, name)
        if present is None:
            continue
        if _has_same_content(present, manifest):
            return
        await run(kube.delete, CONFIG_MAP, key.namespace, name, uid=present["metadata"]["uid"])
    raise Conflict(
        f"Creating ConfigMap {key.namespace}/{name}: another one with this name still exists after its deletion; "
        "remove it, and the finalizers that block its deletion"
    )


def _has_same_content(present: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    labels = (UID_LABEL, OPERATOR_LABEL, PLUGIN_VERSION_LABEL, ROLE_LABEL)
    owners = {o.get("uid") for o in present["metadata"].get("ownerReferences") or ()}
    return (
        "deletionTimestamp" not in present["metadata"]
        and [label(present, name) for name in labels] == [label(manifest, name) for name in labels]
        and owners == {o["uid"] for o in manifest["metadata"]["ownerReferences"]}
        and all((present.get(data) or {}) == manifest.get(data, {}) for data in ("data", "binaryData"))
    )
