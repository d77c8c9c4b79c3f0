"""Everything that a decision rests on, looked up live."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.answer_line import Written, answer_in
from penstock.pod_layout import JOB_CONTAINER
from penstock.resources import Connector
from penstock_operator.connector import names, plans, secrets
from penstock_operator.connector.connect_names import Names, older
from penstock_operator.connector.facts import ActiveTopic, Facts, Rival
from penstock_operator.connector.memory import Memory
from penstock_operator.connector.plans import Plan
from penstock_operator.connector.pod_facts import JobPod, Phase, TaskPod, instant, pod_of
from penstock_operator.context import Context
from penstock_operator.errors import OperatorError, Refused
from penstock_operator.key import Key
from penstock_operator.kinds import CONFIG_MAP, CONNECTOR, POD, SECRET
from penstock_operator.kube import Kube
from penstock_operator.settings import Settings

__all__ = ["Names", "Remembered", "facts", "left_behind", "living_job_pods", "operator", "pods_of"]

log = logging.getLogger(__name__)
_LABEL_LENGTH: Final = 63
_ANSWER_BYTES: Final = 4 << 20
_LOG_PATIENCE: Final = 60.0


@dataclass
class Remembered:
    """Of one Connector, from one run to the next; nothing that could not be found out again.

    Attributes:
        refusals: why the API server refused a pod, by name: reason, sentence.
        namespace_ends: it said so.
        logs: of short pods that ended, by uid: what an answer in it comes to depends on the configuration now.
        plans: that were read, by the ConfigMap's uid; None: it holds none that can be read.
        restless: how many runs in a row have ended with the wish for the next one at once.
        queued: it waits for a slot for a job pod.
    """

    refusals: dict[str, tuple[str, str]] = field(default_factory=dict)
    namespace_ends: bool = False
    logs: dict[str, str] = field(default_factory=dict)
    plans: dict[str, Plan | None] = field(default_factory=dict)
    restless: int = 0
    queued: bool = False


async def facts(
    connector: Connector, document: Mapping[str, Any], context: Context, remembered: Remembered, known: Names,
    trouble: str | None,
) -> Facts:  # fmt: skip
    """Gather.

    Args:
        connector: as far as it can be read.
        document: the same, as the API server gives it.
        context: the outside.
        remembered: from earlier runs for this Connector.
        known: who uses which Connect name.
        trouble: why the operator cannot read the status topic, once that has lasted.

    Raises:
        OperatorError: the API server does not answer as it should.
    """
    own, settings, now = connector.metadata, context.settings, context.clock()
    key = Key(own.namespace or "", own.name)
    memory = Memory.of(document.get("status"))
    manifests = await context.run(pods_of, context, key)
    pods = [p for p in (pod_of(m, now) for m in manifests) if p is not None]
    mine = [p for p in pods if p.owner == own.uid]
    jobs = tuple(p for p in mine if isinstance(p, JobPod))
    context.job_slots.living(key, frozenset(f"{key.namespace}/{p.name}" for p in jobs if p.takes_slot))
    logs = {p.uid: await _log(context, key, p, remembered) for p in jobs if p.phase is Phase.ENDED}
    remembered.logs = logs
    written = Written.of(connector, settings.worker)
    answers = {p.name: answer_in(logs[p.uid], written) for p in jobs if p.uid in logs}
    wanted = secrets.references(connector.spec.config, settings.worker)
    found = await _secrets(context, key, wanted) if settings.secrets.watch else None
    about = secrets.look(wanted, found, context.hmac_key)
    due = plans.due(connector, settings.worker, settings.images.runtime, about, memory.restarted)
    name, status = connector.connect_name, context.status
    reports, control = status.reports(name), status.control(name)
    return Facts(
        connector=connector,
        memory=memory,
        now=now,
        due=due,
        deleting=instant(document["metadata"].get("deletionTimestamp")),
        finalizer=names.FINALIZER in (document["metadata"].get("finalizers") or ()),
        namespace_ends=remembered.namespace_ends,
        plans=await _plans(context, key, own.uid or "", remembered),
        task_pods=tuple(p for p in mine if isinstance(p, TaskPod)),
        job_pods=jobs,
        foreign_pods=tuple(p.name for p in pods if p.owner != own.uid),
        answers=answers,
        reports={n: r for n, r in reports.items() if r.connector_uid == own.uid},
        stale_records=any(r.connector_uid != own.uid for r in reports.values()),
        topics=tuple(ActiveTopic(t.name, t.task, t.discovered / 1000) for t in status.active_topics(name)),
        control=control if control is not None and control.connector_uid == own.uid else None,
        secrets=about,
        rival=await _rival(connector, document, key, context, known),
        kafka_trouble=trouble,
        refusals=dict(remembered.refusals),
        slot=context.job_slots.room(key),
        job_deadline=float(settings.job.deadline_seconds),
        patience=float(settings.task.node_lost_seconds),
    )


def pods_of(context: Context, key: Key) -> list[dict[str, Any]]:
    """The pods of all Connectors that ever had this name."""
    if len(key.name) > _LABEL_LENGTH:  # what an older definition let in: no pod was ever made for it
        return []
    return context.kube.list(
        POD, key.namespace, labels={names.MANAGED_BY[0]: names.MANAGED_BY[1], names.CONNECTOR_LABEL: key.name}
    )


def living_job_pods(kube: Kube, settings: Settings, now: float) -> dict[str, Key]:
    """The job pods of this release that take a slot, `<namespace>/<name>`, and whose they are.

    Raises:
        OperatorError: the API server does not answer as it should.
    """
    ours = {
        names.MANAGED_BY[0]: names.MANAGED_BY[1], names.ROLE_LABEL: "job", names.OPERATOR_LABEL: settings.release.label
    }  # fmt: skip
    found: dict[str, Key] = {}
    for watched in settings.watch_namespaces or (None,):
        try:
            manifests = kube.list(POD, watched, labels=ours)
        except Refused as e:  # where it may not look it makes no pods either
            log.warning("%s", e)
            continue
        for manifest in manifests:
            pod, namespace = pod_of(manifest, now), manifest["metadata"]["namespace"]
            if isinstance(pod, JobPod) and pod.takes_slot:
                found[f"{namespace}/{pod.name}"] = Key(namespace, names.label(manifest, names.CONNECTOR_LABEL) or "")
    return found


def operator(settings: Settings) -> str:
    """The release, as claims name it."""
    return f"{settings.release.namespace}/{settings.release.name}"


def left_behind(context: Context, key: Key, known: Names) -> tuple[str, ...]:
    """The Connect names of a Connector that is gone, under which one of ours wrote records, and nobody does any more."""
    status, own = context.status, known.connect_name(key)
    owner = status.claim(own)  # of another release: this Connector never had the name
    found = {own} if status.reports(own) and (owner is None or owner.operator == operator(context.settings)) else set()
    for name in status.names():
        claim = status.claim(name)
        if claim is not None and (claim.namespace, claim.name, claim.operator) == (*key, operator(context.settings)):
            found.add(name)
    return tuple(sorted(n for n in found if known.only(key, n)))


async def _log(context: Context, key: Key, pod: JobPod, remembered: Remembered) -> str:
    if pod.uid in remembered.logs:
        return remembered.logs[pod.uid]
    try:
        return await context.run(context.kube.log, key.namespace, pod.name, JOB_CONTAINER, limit_bytes=_ANSWER_BYTES)
    except OperatorError:
        if pod.ended is not None and context.clock() - pod.ended.at > _LOG_PATIENCE:
            return ""  # its node does not give the log: another pod is asked
        raise


async def _secrets(
    context: Context, key: Key, wanted: tuple[secrets.Reference, ...]
) -> dict[str, Mapping[str, Any] | None]:
    return {
        name: await context.run(context.kube.get, SECRET, key.namespace, name)
        for name in sorted({r.name for r in wanted})
    }


async def _plans(context: Context, key: Key, uid: str, remembered: Remembered) -> tuple[Plan, ...]:
    """The plans that are stored. Each is read once: they may be large, and are immutable."""
    labels = {names.UID_LABEL: uid, names.ROLE_LABEL: "plan"}
    kept: dict[str, Plan | None] = {}
    for found in await context.run(context.kube.list, CONFIG_MAP, key.namespace, labels=labels, bodies=False):
        own = found["metadata"]["uid"]
        if own in remembered.plans:
            kept[own] = remembered.plans[own]
        else:
            whole = await context.run(context.kube.get, CONFIG_MAP, key.namespace, found["metadata"]["name"])
            if (
                whole is not None and whole["metadata"]["uid"] == own
            ):  # else it is gone, and perhaps another has its name
                kept[own] = plans.stored(whole)
    remembered.plans = kept
    return tuple(sorted((p for p in kept.values() if p is not None), key=lambda p: p.created))


async def _rival(
    connector: Connector, document: Mapping[str, Any], key: Key, context: Context, known: Names
) -> Rival | None:
    """Who has the older right to the Connect name: the oldest of those that we see, and of who claims it in Kafka."""
    other = known.older(key, connector.connect_name)
    seen = None if other is None else Rival(f"Connector {other}")
    oldest = known.age(key if other is None else other)
    claim = context.status.claim(connector.connect_name)
    if claim is None or known.sees(claim.connector_uid) or not older((claim.created, claim.connector_uid), oldest):
        return seen
    if claim.operator not in ("", operator(context.settings)):
        return Rival(f"Connector {claim.namespace}/{claim.name} of operator {claim.operator}")
    # Of ours: gone, or not looked at yet since our start.
    there = await context.run(context.kube.get, CONNECTOR, claim.namespace, claim.name)
    is_there = there is not None and there["metadata"]["uid"] == claim.connector_uid
    return Rival(f"Connector {claim.namespace}/{claim.name}") if is_there else seen
