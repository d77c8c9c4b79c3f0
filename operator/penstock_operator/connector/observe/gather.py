"""Gathers an observation in four steps: pods, Secrets, plans, records in Kafka."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.resources.connector import Connector
from penstock_operator import names
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.offsets_list_map import ListMap
from penstock_operator.connector.model.offsets_requests import asks_for_list
from penstock_operator.connector.model.refused_pods import present
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
        document: the resource as the API server gives it.
        context: the API server, Kafka and the release.
        cached: from earlier runs for this Connector.
        trouble: why the operator cannot read the status topic, once that has lasted.
        cache: of plans that were read.

    Raises:
        OperatorError: a request to the API server failed.
    """
    subject = Subject.of(connector, document, context, cached)
    key, settings = subject.key, context.settings
    cached.refusals = present(cached.refusals, connector.metadata.generation, subject.now)
    manifests = await context.run(pods_of, context, key)
    maps = await context.run(plan_maps, context, key, subject.uid)
    pods = await look_up_pods(subject, manifests, maps)
    subject = await with_recovered_state(subject, pods.tasks, manifests, maps)
    secrets = await look_up_secrets(subject)
    plans = await look_up_plans(subject, maps, secrets, cache)
    records = await look_up_records(subject, pods.own)
    observation = Observation(
        connector=connector,
        persisted=subject.persisted,
        now=subject.now,
        due=plans.due,
        inputs_hash=plans.inputs_hash,
        own=plans.own,
        own_toggled=plans.own_toggled,
        secrets_in_force=plans.secrets_in_force,
        asked=subject.asked,
        shape=plans.shape,
        policy=plans.policy,
        plugin=plans.plugin,
        plans=plans.stored,
        secrets=secrets.every,
        task_pods=pods.tasks,
        job_pods=pods.jobs,
        offsets_pods=pods.at_offsets,
        foreign_pods=pods.foreign,
        answers=pods.answers,
        unready=pods.unready,
        run_by=pods.run_by,
        refusals=dict(cached.refusals),
        list_map=await _list_map(subject),
        reports=records.reports,
        stale_records=records.stale_records,
        topics=records.topics,
        topic_count=records.topic_count,
        topics_refusal=_topics_refusal(settings.worker_config),
        creates_topics=settings.worker_config.topic_creation_enable,
        control=records.control,
        name_refusal=records.name_refusal,
        name_unseen=records.name_unseen,
        has_claimed=records.has_claimed,
        owner=records.owner,
        recorded=records.recorded,
        generation=records.generation,
        used_tokens=records.used_tokens,
        status_unread=records.status_unread,
        kafka_trouble=trouble,
        topic_fault=context.status.policy_fault or "",
        release=context.release,
        rollout=settings.rollout,
        deleting=instant(document["metadata"].get("deletionTimestamp")),
        finalizer=names.FINALIZER in (document["metadata"].get("finalizers") or ()),
        namespace_ends=cached.namespace_ends,
        job_deadline=float(settings.job.deadline_seconds),
        node_timeout=float(settings.task.node_lost_seconds),
    )
    return replace(observation, slot=context.job_slots.room(key, urgent=observation.is_urgent))


def _topics_refusal(worker: WorkerConfig) -> str:
    """Return Kafka Connect's answer 403 to a reset of active topics; empty: the reset is allowed."""
    if not worker.topic_tracking_enable:
        return "Topic tracking is disabled."
    return "" if worker.topic_tracking_allow_reset else "Topic tracking reset is disabled."


async def _list_map(subject: Subject) -> ListMap | None:
    """Look up the list's ConfigMap without its data, which may be large."""
    context, key = subject.context, subject.key
    if not asks_for_list(subject.connector.metadata.annotations, subject.persisted.offsets):
        return None
    found = await context.run(
        context.kube.list, CONFIG_MAP, key.namespace, fields=f"metadata.name={names.list_name(key.name)}", bodies=False
    )
    return ListMap.of(found[0], key.name, subject.uid) if found else None
