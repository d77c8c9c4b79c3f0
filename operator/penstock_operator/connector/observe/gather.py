"""Looks up everything that a decision rests on: the Connector, its pods, plans and Secrets, its records in Kafka."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job_answer import read_answer
from penstock_model.contracts.pod_layout import JOB_CONTAINER
from penstock_model.resources.connector import Connector
from penstock_operator import name_ownership, names
from penstock_operator.connector.model import plan_hashes, secrets
from penstock_operator.connector.model.observation import ActiveTopic, Observation
from penstock_operator.connector.model.offsets_list_map import ListMap
from penstock_operator.connector.model.offsets_requests import OFFSETS_ACTIONS, asks_for_list, offsets_requests
from penstock_operator.connector.model.persisted_state import Memory
from penstock_operator.connector.model.plans import Shape, plan_hash
from penstock_operator.connector.model.pod_status import JobPod, Phase, TaskPod, pod_of
from penstock_operator.connector.model.refused_pods import present
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.connector.observe.name_lookup import name_refusal
from penstock_operator.connector.observe.plan_cache import PlanCache
from penstock_operator.connector.observe.stored_plans import plan_maps, plans_of, readable_maps
from penstock_operator.connector.policy import plugin_version, topic_policy
from penstock_operator.context import Context
from penstock_operator.errors import NoSuchKind, OperatorError, Refused
from penstock_operator.kafka import ActiveTopic as KafkaTopic
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONFIG_MAP, PLUGIN_VERSION, POD, POLICY, SECRET
from penstock_operator.kubernetes.times import instant
from penstock_operator.reasons import Reason
from penstock_operator.settings import Settings

__all__ = ["living_job_pods", "observe", "pods_of"]

log = logging.getLogger(__name__)
_LABEL_LENGTH: Final = 63
_ANSWER_BYTES: Final = 4 << 20
_LOG_PATIENCE: Final = 60.0
"""Seconds after the end of a job pod for which its log is asked for; then another pod is asked."""


async def observe(
    connector: Connector,
    document: Mapping[str, Any],
    context: Context,
    cached: CachedConnector,
    trouble: str | None,
    cache: PlanCache,
) -> Observation:
    """Look up everything about one Connector.

    Args:
        connector: the resource, as far as it can be read.
        document: the resource as the API server gives it.
        context: the outside.
        cached: from earlier runs for this Connector.
        trouble: why the operator cannot read the status topic, once that has lasted.
        cache: of plans that were read.

    Raises:
        OperatorError: the API server does not answer as it should.
    """
    own, settings, now = connector.metadata, context.settings, context.clock()
    key = Key(own.namespace or "", own.name)
    memory = Memory.of(document.get("status"))
    manifests = await context.run(pods_of, context, key)
    maps = await context.run(plan_maps, context, key, own.uid or "")
    this_operator = settings.release.label
    own_manifests = [m for m in manifests if names.label(m, names.UID_LABEL) == own.uid]
    run_by = names.operator_of([*own_manifests, *maps]) or this_operator
    cached.run_by = "" if run_by == this_operator else run_by
    pods = [p for p in (pod_of(m, now) for m in manifests) if p is not None]
    # This operator neither counts nor ends pods of another one, whichever of the two runs the Connector.
    theirs = {m["metadata"]["uid"] for m in manifests if names.label(m, names.OPERATOR_LABEL) != this_operator}
    mine = [p for p in pods if p.owner == own.uid and p.uid not in theirs]
    jobs = tuple(p for p in mine if isinstance(p, JobPod))
    cached.refusals = present(cached.refusals, own.generation, now)
    context.job_slots.living(key, frozenset(f"{key.namespace}/{p.name}" for p in jobs if p.takes_slot))
    logs = {p.uid: await _log(context, key, p, cached) for p in jobs if p.phase is Phase.ENDED}
    cached.logs = logs
    written = connector.request_texts(settings.worker)
    answers = {p.name: read_answer(logs[p.uid], written) for p in jobs if p.uid in logs}
    references = secrets.references(connector.spec.config, settings.worker)
    reads_secrets = settings.secrets.watch and not secrets.too_many(connector.spec.config)
    by_name = await _secrets(context, key, references) if reads_secrets else None
    every_secret = secrets.examine(references, by_name, context.hmac_key)
    last_map = await readable_maps(maps, (memory.plan,), own.uid or "", key, context, cached)
    last = next((p for p in await plans_of(context, key, last_map, cache) if p.hash == memory.plan), None)
    plugin = plugin_version.known_resolution(connector, last, memory.restarted)
    if plugin is None:  # not in the loop's thread: there may be many, and each is checked
        plugin = await context.run(plugin_version.resolve, connector, await _plugin_versions(context, key), last)
    inputs_hash = plan_hashes.inputs_hash(
        connector, settings.worker, settings.images.runtime, every_secret, memory.restarted, last, plugin.mounts
    )
    own_secrets = secrets.examine((r for r in references if not r.worker), by_name, context.hmac_key)
    shape = Shape.of(settings, every_secret.names)
    policy = topic_policy.resolve(connector, await _policy(context, key, connector), last)
    due = plan_hash(inputs_hash, shape, policy.effective, plugin.mounts)
    stored_maps = await readable_maps(maps, (memory.plan, due), own.uid or "", key, context, cached)
    name, status = connector.connect_name, context.status
    refusal = await name_refusal(connector, document, key, context, memory, cached)
    unseen = "" if status.caught_up and status.trouble is None else status.trouble or "the status topic is not read yet"
    if refusal is None:
        cached.owned_name = own.uid or "", name
    reports, control, claim = status.reports(name), status.control(name), status.claim(name)
    were_superseded = any(t.reason == Reason.SUPERSEDED for t in memory.tasks.values()) or any(
        p.ended is not None and p.ended.code == ExitCode.SUPERSEDED for p in mine
    )
    observation = Observation(
        connector=connector,
        memory=memory,
        now=now,
        due=due,
        inputs_hash=inputs_hash,
        own=plan_hashes.own_hash(connector, own_secrets, memory.restarted),
        own_toggled=plan_hashes.own_hash(connector, own_secrets, memory.restarted, toggled=True),
        secrets_in_force=plan_hashes.secrets_hash(connector, every_secret, last, memory.restarted),
        shape=shape,
        release=context.release,
        rollout=settings.rollout,
        deleting=instant(document["metadata"].get("deletionTimestamp")),
        finalizer=names.FINALIZER in (document["metadata"].get("finalizers") or ()),
        namespace_ends=cached.namespace_ends,
        plans=await plans_of(context, key, stored_maps, cache),
        task_pods=tuple(p for p in mine if isinstance(p, TaskPod)),
        job_pods=tuple(p for p in jobs if p.action not in OFFSETS_ACTIONS),
        offsets_pods=tuple(p for p in jobs if p.action in OFFSETS_ACTIONS),
        list_map=await _list_map(context, key, connector, memory),
        foreign_pods=tuple(p.name for p in pods if p.owner != own.uid),
        answers=answers,
        reports={n: r for n, r in reports.items() if r.connector_uid == own.uid},
        stale_records=any(r.connector_uid != own.uid for r in reports.values()),
        topics=() if refusal is not None else _topics(status.active_topics(name)),
        control=control if control is not None and control.connector_uid == own.uid else None,
        secrets=every_secret,
        policy=policy,
        plugin=plugin,
        name_refusal=refusal,
        name_unseen="" if memory.has_run else unseen,
        has_claimed=claim is not None and claim.connector_uid == own.uid,
        owner=name_ownership.owner_mark(key, own.uid or "", settings.release),
        recorded=status.standing(name) if were_superseded else None,
        generation=_generation(context, name, memory) if offsets_requests(own.annotations) else 0,
        run_by=cached.run_by,
        kafka_trouble=trouble,
        status_unread=bool(unseen),
        refusals=dict(cached.refusals),
        job_deadline=float(settings.job.deadline_seconds),
        node_timeout=float(settings.task.node_lost_seconds),
    )
    return replace(observation, slot=context.job_slots.room(key, urgent=observation.is_urgent))


def pods_of(context: Context, key: Key) -> list[dict[str, Any]]:
    """The pods of this Connector, and of earlier ones of its name."""
    if len(key.name) > _LABEL_LENGTH:  # an older CRD allowed such names; no pod was ever created for one
        return []
    return context.kube.list(
        POD, key.namespace, labels={names.MANAGED_BY[0]: names.MANAGED_BY[1], names.CONNECTOR_LABEL: key.name}
    )


def living_job_pods(kube: Kube, settings: Settings, now: float) -> dict[str, Key]:
    """The job pods of this release that take a job slot, as `<namespace>/<name>`, with the keys of their Connectors.

    Raises:
        OperatorError: the API server does not answer as it should.
    """
    labels = {
        names.MANAGED_BY[0]: names.MANAGED_BY[1],
        names.ROLE_LABEL: "job",
        names.OPERATOR_LABEL: settings.release.label,
    }
    owners: dict[str, Key] = {}
    for watched in settings.watch_namespaces or (None,):
        try:
            manifests = kube.list(POD, watched, labels=labels)
        except Refused as e:  # where the operator may not list pods it creates none either
            log.warning("%s", e)
            continue
        for manifest in manifests:
            pod, namespace = pod_of(manifest, now), manifest["metadata"]["namespace"]
            if isinstance(pod, JobPod) and pod.takes_slot:
                owners[f"{namespace}/{pod.name}"] = Key(namespace, names.label(manifest, names.CONNECTOR_LABEL) or "")
    return owners


async def _log(context: Context, key: Key, pod: JobPod, cached: CachedConnector) -> str:
    if pod.uid in cached.logs:
        return cached.logs[pod.uid]
    try:
        return await context.run(context.kube.log, key.namespace, pod.name, JOB_CONTAINER, limit_bytes=_ANSWER_BYTES)
    except OperatorError:
        if pod.ended is not None and context.clock() - pod.ended.at > _LOG_PATIENCE:
            return ""  # the node does not give the log: another pod is asked
        raise


async def _secrets(
    context: Context, key: Key, references: tuple[secrets.Reference, ...]
) -> dict[str, Mapping[str, Any] | None]:
    return {
        name: await context.run(context.kube.get, SECRET, key.namespace, name)
        for name in sorted({r.name for r in references})
    }


async def _policy(context: Context, key: Key, connector: Connector) -> dict[str, Any] | None:
    """The TopicCreationPolicy that it names; None: there is none, or their CRD is not installed."""
    named = connector.spec.topic_creation_policy
    if named is None:
        return None
    try:
        return await context.run(context.kube.get, POLICY, key.namespace, named.name)
    except NoSuchKind:
        return None


async def _plugin_versions(context: Context, key: Key) -> list[dict[str, Any]]:
    """The PluginVersions of the namespace; none where their CRD is not installed."""
    try:
        return await context.run(context.kube.list, PLUGIN_VERSION, key.namespace)
    except NoSuchKind:
        return []


async def _list_map(context: Context, key: Key, connector: Connector, memory: Memory) -> ListMap | None:
    """Without what stands in it, which may be large."""
    own = connector.metadata
    if not asks_for_list(own.annotations, memory.offsets):
        return None
    found = await context.run(
        context.kube.list, CONFIG_MAP, key.namespace, fields=f"metadata.name={names.list_name(key.name)}", bodies=False
    )
    return ListMap.of(found[0], key.name, own.uid or "") if found else None


def _generation(context: Context, name: str, memory: Memory) -> int:
    """The greatest plan generation that is known under a Connect name."""
    standings = [memory.standing, context.status.standing(name)]
    standings += (r.standing for r in context.status.reports(name).values())
    return max((s.generation for s in standings if s is not None), default=0)


def _topics(topics: Iterable[KafkaTopic]) -> tuple[ActiveTopic, ...]:
    return tuple(ActiveTopic(t.name, t.task, t.discovered / 1000) for t in topics)
