"""Recover the state of a Connector from its pods, if its status was lost or replaced by an older one."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.errors import ConfigError
from penstock_model.contracts.pod_identity import PlanEpoch, PodIdentity
from penstock_model.contracts.pod_layout import POD_IDENTITY_VARIABLE, TASK_CONTAINER
from penstock_operator import names
from penstock_operator.connector.model.autoscaling import AutoscaledTasks
from penstock_operator.connector.model.plan_config_map import plan_of
from penstock_operator.connector.model.pod_status import TaskPod
from penstock_operator.connector.model.recovered_state import living_pods, pods_ahead, recovered_state
from penstock_operator.connector.observe.subject import Subject
from penstock_operator.kubernetes.kinds import CONFIG_MAP

__all__ = ["with_recovered_state"]

log = logging.getLogger(__name__)


async def with_recovered_state(
    subject: Subject, pods: Sequence[TaskPod], manifests: Sequence[Mapping[str, Any]], maps: Sequence[Mapping[str, Any]]
) -> Subject:
    """Return the Connector with the state that its pods show, if they are newer than its status.

    Args:
        subject: the Connector.
        pods: pods of its tasks.
        manifests: manifests of its pods.
        maps: result of `plan_maps`.

    Raises:
        OperatorError: a request to the API server failed.
    """
    living = living_pods(pods)
    if not (ahead := pods_ahead(subject.persisted, living)):
        return subject
    by_uid = {m["metadata"]["uid"]: m for m in manifests}
    known = [(epoch, p.task, by_uid[p.uid]) for p in living if (epoch := _epoch(by_uid[p.uid])) is not None]
    if not known:
        return subject
    # The first tasks may be a canary.
    epoch, _, manifest = max(known, key=lambda found: found[:2])
    context, key = subject.context, subject.key
    ours = {
        m["metadata"]["name"] for m in maps if names.label(m, names.OPERATOR_LABEL) == context.settings.release.label
    }
    name = _plan_name(manifest)
    found = await context.run(context.kube.get, CONFIG_MAP, key.namespace, name) if name in ours else None
    plan = None if found is None else plan_of(found)
    if plan is None:
        return subject
    log.warning("%s: recovering the status from the pods, which are newer", key)
    connector, now = subject.connector, subject.now
    annotations = connector.metadata.annotations
    state = recovered_state(subject.persisted, ahead, plan, epoch, connector.connect_name, annotations, now)
    if connector.spec.autoscaling is not None and plan.tasks:
        state = replace(state, autoscaling=AutoscaledTasks(len(plan.tasks), tasks_max=connector.spec.tasks_max))
    return replace(subject, persisted=state)


def _epoch(manifest: Mapping[str, Any]) -> PlanEpoch | None:
    """Return the epoch in a pod's identity; None: it cannot be read."""
    containers = (c for c in manifest["spec"]["containers"] if c["name"] == TASK_CONTAINER)
    values = (v.get("value", "") for c in containers for v in c.get("env") or () if v["name"] == POD_IDENTITY_VARIABLE)
    try:
        return PodIdentity.from_json(next(values, "")).epoch
    except (ConfigError, ValueError):
        return None


def _plan_name(manifest: Mapping[str, Any]) -> str:
    volumes = manifest["spec"].get("volumes") or ()
    return next((str(v["configMap"]["name"]) for v in volumes if v["name"] == "plan" and "configMap" in v), "")
