"""Writes of `apply` for pods, and for the requests of job pods."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock_model.contracts.job import Action, JobRequest
from penstock_model.contracts.pod_layout import SECRETS_DIR
from penstock_model.contracts.texts import joined
from penstock_operator.connector.kubernetes_writes import put_config_map
from penstock_operator.connector.model.api_failures import RESOURCES_OF_JOBS, RESOURCES_OF_TASKS, cause
from penstock_operator.connector.model.decision import CreateJob, CreateTask
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.pod_status import Pod
from penstock_operator.connector.model.refused_pods import Refusal, after
from penstock_operator.connector.policy.refused_template import fields_of_template
from penstock_operator.connector.render.pod_manifests import FIELDS_OF_TASKS, PodManifests
from penstock_operator.context import Context
from penstock_operator.errors import Refused
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONFIG_MAP, POD
from penstock_operator.names import OPERATOR_LABEL, UID_LABEL, label, pod_name, request_name
from penstock_operator.reasons import Reason

__all__ = [
    "create_pod",
    "create_unless_present",
    "delete_pod",
    "delete_request",
    "name_of_pod",
    "refusal_of",
    "refusal_of_pod",
]


async def create_pod(
    key: Key, creation: CreateJob | CreateTask, observed: Observation, manifests: PodManifests, context: Context
) -> bool:
    """Create a pod, and a job pod's request before it; False: there is no slot for the job pod.

    Raises:
        OperatorError: a request to the API server failed.
        Refused: the API server refused it, or a pod that does not belong to this Connector has its name.
    """
    if isinstance(creation, CreateTask):
        snapshot = context.status.snapshot(manifests.connector.connect_name, creation.task)
        manifest = manifests.task(
            creation.plan, creation.task, creation.incarnation, creation.epoch, creation.state, snapshot
        )
        await create_unless_present(key, manifest, manifests, context)
        return True
    with context.job_slots.making(f"{key.namespace}/{creation.name}", key, urgent=observed.is_urgent) as has_slot:
        if has_slot:
            request = manifests.request(creation.name, _request(creation, observed.name.owner_mark, manifests, context))
            await put_config_map(key, request, context.kube, context.run)
            manifest = manifests.job(creation.name, creation.action, creation.key, creation.plan, plain=creation.plain)
            await create_unless_present(key, manifest, manifests, context)
        return has_slot


async def delete_pod(key: Key, pod: Pod, context: Context) -> None:
    """Delete a pod, and a job pod's request before it, since no run looks for the request after the pod is deleted."""
    if pod.role == "job":
        await delete_request(key, pod.name, context)
    await context.run(context.kube.delete, POD, key.namespace, pod.name, uid=pod.uid)
    if pod.role == "job":
        context.job_slots.give_back(f"{key.namespace}/{pod.name}")


async def delete_request(key: Key, job_pod: str, context: Context) -> None:
    """Delete the ConfigMap with the request of a job pod, if it exists."""
    await context.run(context.kube.delete, CONFIG_MAP, key.namespace, request_name(job_pod))


def name_of_pod(connector: str, creation: CreateJob | CreateTask) -> str:
    """Return the name of a pod to create."""
    return (
        creation.name if isinstance(creation, CreateJob) else pod_name(connector, creation.task, creation.incarnation)
    )


def refusal_of_pod(observed: Observation, creation: CreateJob | CreateTask, name: str, refused: Refused) -> Refusal:
    """Return the refusal of a pod, with the time of the next attempt."""
    template = observed.connector.spec.template
    if isinstance(creation, CreateJob):
        refusal = refusal_of(observed, name, refused)
        template = {} if creation.plain else {k: v for k, v in template.items() if k not in FIELDS_OF_TASKS}
    else:
        refusal = refusal_of(observed, name, refused, creation.pod_hash, RESOURCES_OF_TASKS)
    return replace(refusal, template=fields_of_template(refused, template))


def refusal_of(
    observed: Observation, name: str, refused: Refused, pod_hash: str = "", resources: str = RESOURCES_OF_JOBS
) -> Refusal:
    """Return the refusal of an object, which is stored under this name, with the time of the next attempt."""
    reason, remedy = cause(refused, resources)
    text = refused.answer or str(refused)
    return after(
        observed.pods.refusals.get(name),
        reason,
        joined(text, remedy) if remedy else text,
        now=observed.now,
        generation=observed.connector.metadata.generation,
        pod_hash=pod_hash,
    )


async def create_unless_present(
    key: Key, manifest: Mapping[str, Any], manifests: PodManifests, context: Context
) -> None:
    """Create a pod, unless this Connector already has it.

    Raises:
        OperatorError: a request to the API server failed.
        Refused: the API server refused it, or a pod that does not belong to this Connector has its name.
    """
    if await context.run(context.kube.create, manifest) is not None:
        return
    name = manifest["metadata"]["name"]
    present = await context.run(context.kube.get, POD, key.namespace, name)
    if present is None:
        return
    owner = label(present, UID_LABEL), label(present, OPERATOR_LABEL)
    if owner != (manifests.connector.metadata.uid, manifests.operator):  # else it has just been created
        raise Refused(
            f"Creating pod {name}",
            answer=f"another pod with the name {name} does not belong to this Connector; remove it",
            reason=Reason.POD_NAME_TAKEN,
        )


def _request(creation: CreateJob, owner: str, manifests: PodManifests, context: Context) -> JobRequest:
    task = None
    if creation.action is Action.PREPARE and creation.plan is not None:
        task = creation.plan.tasks[0]
    return JobRequest(
        action=creation.action,
        id=creation.key,
        connector=manifests.document(),
        worker=dict(context.settings.worker),
        secrets_dir=SECRETS_DIR
        if manifests.pod_settings.secrets or manifests.pod_settings_of(creation.plan).secrets
        else None,
        prepare=creation.prepare,
        task=task,
        status=context.status.snapshot(manifests.connector.connect_name),
        owner=owner,
        offsets=creation.offsets,
        kind=creation.kind,
        selected=creation.policy_selects,
        registered=creation.registered,
    ).with_mounts(manifests.mounts_of(creation.action, creation.plan))
