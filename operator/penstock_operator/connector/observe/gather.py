"""Gather an observation in four steps: pods, Secrets, plans, and records in Kafka."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.resources.connector import Connector
from penstock_operator import names
from penstock_operator.connector.model.observation import Observation, ReleaseTerms
from penstock_operator.connector.model.offsets_list_map import ListMap
from penstock_operator.connector.model.offsets_requests import asks_for_list
from penstock_operator.connector.model.refused_pods import present
from penstock_operator.connector.observe.autoscaled import with_autoscaled_tasks
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.connector.observe.lost_status import with_recovered_state
from penstock_operator.connector.observe.plan_cache import PlanCache
from penstock_operator.connector.observe.plans import look_up_plans
from penstock_operator.connector.observe.pods import look_up_pods, pods_of
from penstock_operator.connector.observe.records import look_up_records
from penstock_operator.connector.observe.secret_values import look_up_secrets
from penstock_operator.connector.observe.stored_plans import plan_maps
from penstock_operator.connector.observe.subject import Subject
from penstock_operator.context import Context
from penstock_operator.kubernetes.kinds import CONFIG_MAP
from penstock_operator.kubernetes.times import instant

__all__ = ["observe"]


async def observe(
    connector: Connector,
    document: Mapping[str, Any],
    context: Context,
    cached: CachedConnector,
    trouble: str | None,
    cache: PlanCache,
) -> Observation:
    """Observe one Connector.

    Args:
        connector: the resource, as far as it can be read.
        document: the resource as returned by the API server.
        context: the API server, Kafka and the release.
        cached: cache of this Connector.
        trouble: why the operator cannot read the status topic, if that has lasted; None: it can.
        cache: cache of plans.

    Raises:
        OperatorError: a request to the API server failed.
    """
    subject = Subject.of(connector, document, context, cached)
    key, settings = subject.key, context.settings
    cached.refusals = present(cached.refusals, connector.metadata.generation, subject.now)
    manifests = await context.run(pods_of, context, key)
    maps = await context.run(plan_maps, context, key, subject.uid)
    pods = await look_up_pods(subject, manifests, maps)
    subject = with_autoscaled_tasks(await with_recovered_state(subject, pods.tasks, manifests, maps))
    secrets = await look_up_secrets(subject)
    requested, plans = await look_up_plans(subject, maps, secrets, cache)
    records, name = await look_up_records(subject, (*pods.tasks, *pods.jobs, *pods.offsets_jobs), trouble)
    observation = Observation(
        connector=subject.connector,
        persisted=subject.persisted,
        now=subject.now,
        requested=requested,
        plans=plans,
        pods=pods,
        records=records,
        name=name,
        release=ReleaseTerms(
            hash=context.release,
            rollout=settings.rollout,
            job_deadline=float(settings.job.deadline_seconds),
            node_timeout=float(settings.task.node_lost_seconds),
            creates_topics=settings.worker_config.topic_creation_enable,
            topics_reset_refusal=_topics_reset_refusal(settings.worker_config),
        ),
        deleting=instant(document["metadata"].get("deletionTimestamp")),
        has_finalizer=names.FINALIZER in (document["metadata"].get("finalizers") or ()),
        namespace_ends=cached.namespace_ends,
        list_map=await _list_map(subject),
    )
    has_job_slot = context.job_slots.room(key, urgent=observation.is_urgent)
    return replace(observation, release=replace(observation.release, has_job_slot=has_job_slot))


def _topics_reset_refusal(worker: WorkerConfig) -> str:
    """Return the message with which Kafka Connect answers 403 to a reset of active topics; empty: it is allowed."""
    if not worker.topic_tracking_enable:
        return "Topic tracking is disabled."
    return "" if worker.topic_tracking_allow_reset else "Topic tracking reset is disabled."


async def _list_map(subject: Subject) -> ListMap | None:
    """Look up the ConfigMap of the offsets list without its data, which may be large."""
    context, key = subject.context, subject.key
    if not asks_for_list(subject.connector.metadata.annotations, subject.persisted.offsets):
        return None
    found = await context.run(
        context.kube.list, CONFIG_MAP, key.namespace, fields=f"metadata.name={names.list_name(key.name)}", bodies=False
    )
    return ListMap.of(found[0], key.name, subject.uid) if found else None
