"""Everything that a decision rests on, looked up live."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job_answer import Written, answer_in
from penstock_model.contracts.pod_layout import JOB_CONTAINER
from penstock_model.contracts.task_reports import Claim, claim_key
from penstock_model.resources.connector import Connector
from penstock_operator.connector import plans
from penstock_operator.connector.decide.api_failures import ApiTrouble
from penstock_operator.connector.decide.refused_pods import Refusal, present
from penstock_operator.connector.observe import connect_names, secrets
from penstock_operator.connector.observe.connect_names import NameRefusal
from penstock_operator.connector.observe.observation import ActiveTopic, Facts
from penstock_operator.connector.observe.pod_status import JobPod, Phase, TaskPod, instant, pod_of
from penstock_operator.connector.persisted_state import Memory
from penstock_operator.connector.plan_cache import CachedPlan, PlanCache
from penstock_operator.connector.plans import Plan
from penstock_operator.connector.render import names
from penstock_operator.connector.render.conditions import Verdict
from penstock_operator.context import Context
from penstock_operator.errors import OperatorError, Refused, Unavailable
from penstock_operator.kafka import ActiveTopic as KafkaTopic
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONFIG_MAP, CONNECTOR, POD, SECRET
from penstock_operator.queue.key import Key
from penstock_operator.reasons import ConditionType, Reason
from penstock_operator.settings import Settings

__all__ = ["Remembered", "facts", "left_behind", "living_job_pods", "pods_of"]

log = logging.getLogger(__name__)
_LABEL_LENGTH: Final = 63
_ANSWER_BYTES: Final = 4 << 20
_LOG_PATIENCE: Final = 60.0
_MOST_LISTED: Final = 32
"""ConfigMaps with the labels of a Connector's plans that are looked at; the operator keeps two, three for a moment."""
_MOST_READ: Final = 8
"""Of them, how many are read."""
_GONE_FOR: Final = 60.0
_ASK_AGAIN: Final = 600.0
"""Seconds after which another cluster of this one's name is asked again whether it lives."""
"""Seconds for which the owner of a name must be gone before its claim, of another release, counts for nothing."""


@dataclass
class Remembered:
    """Of one Connector, from one run to the next; nothing that could not be found out again.

    Attributes:
        uid: its own: another Connector of the same name inherits nothing.
        trouble: what the API server refuses it, or does not answer.
        looking: the last run came to no decision.
        reported: the trouble that the status tells of, and the generation that it was told of.
        run_by: another operator, whose pods and plans are there; empty: none, or nobody has looked.
        refusals: pods that the API server refused, by name.
        failing: names of what the API server did not delete or create in the last run, without refusing it.
        living: how many of its pods there are.
        namespace_ends: it said so.
        logs: of short pods that ended, by uid: what an answer in it comes to depends on the configuration now.
        restless: how many runs in a row have ended with the wish for the next one at once.
        queued: it waits for a slot for a job pod.
        crowded: too many ConfigMaps carry the labels of its plans.
        own: its uid, and the name in Kafka that it owned last; empty: it has owned none.
        owner_gone: the uid of a Connector that claims its name and is gone, and when that was seen first.
        asked: who claims its name in a cluster that is called as this one, and when it was asked whether it lives.
    """

    uid: str = ""
    trouble: ApiTrouble = field(default_factory=ApiTrouble)
    looking: bool = False
    reported: tuple[Verdict, int] | None = None
    run_by: str = ""
    refusals: dict[str, Refusal] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()
    living: int = 0
    namespace_ends: bool = False
    logs: dict[str, str] = field(default_factory=dict)
    restless: int = 0
    queued: bool = False
    crowded: bool = False
    own: tuple[str, str] = ("", "")
    owner_gone: tuple[str, float] = ("", 0.0)
    asked: tuple[Claim, float] | None = None


async def facts(
    connector: Connector, document: Mapping[str, Any], context: Context, remembered: Remembered, trouble: str | None,
    cache: PlanCache,
) -> Facts:  # fmt: skip
    """Gather.

    Args:
        connector: as far as it can be read.
        document: the same, as the API server gives it.
        context: the outside.
        remembered: from earlier runs for this Connector.
        trouble: why the operator cannot read the status topic, once that has lasted.
        cache: plans that were read.

    Raises:
        OperatorError: the API server does not answer as it should.
    """
    own, settings, now = connector.metadata, context.settings, context.clock()
    key = Key(own.namespace or "", own.name)
    memory = Memory.of(document.get("status"))
    manifests = await context.run(pods_of, context, key)
    maps = await context.run(_plan_maps, context, key, own.uid or "")
    ours = settings.release.label
    run_by = names.run_by([*(m for m in manifests if names.label(m, names.UID_LABEL) == own.uid), *maps]) or ours
    remembered.run_by = "" if run_by == ours else run_by
    pods = [p for p in (pod_of(m, now) for m in manifests) if p is not None]
    # Whoever runs it, another operator's pods are not this one's to count or to end.
    theirs = {m["metadata"]["uid"] for m in manifests if names.label(m, names.OPERATOR_LABEL) != ours}
    mine = [p for p in pods if p.owner == own.uid and p.uid not in theirs]
    jobs = tuple(p for p in mine if isinstance(p, JobPod))
    remembered.refusals = present(remembered.refusals, own.generation, now)
    context.job_slots.living(key, frozenset(f"{key.namespace}/{p.name}" for p in jobs if p.takes_slot))
    logs = {p.uid: await _log(context, key, p, remembered) for p in jobs if p.phase is Phase.ENDED}
    remembered.logs = logs
    written = Written.of(connector, settings.worker)
    answers = {p.name: answer_in(logs[p.uid], written) for p in jobs if p.uid in logs}
    wanted = secrets.references(connector.spec.config, settings.worker)
    looks = settings.secrets.watch and not secrets.too_many(connector.spec.config)
    found = await _secrets(context, key, wanted) if looks else None
    about = secrets.look(wanted, found, context.hmac_key)
    before = await _plans_in(maps, (memory.plan,), own.uid or "", key, context, remembered)
    last = next((p for p in await _plans(context, key, before, cache) if p.hash == memory.plan), None)
    asked = plans.asked(connector, settings.worker, settings.images.runtime, about, memory.restarted, last)
    own_secrets = secrets.look((r for r in wanted if not r.worker), found, context.hmac_key)
    shape = plans.Shape.of(settings, about.names)
    due = plans.due(asked, shape)
    stored = await _plans_in(maps, (memory.plan, due), own.uid or "", key, context, remembered)
    name, status = connector.connect_name, context.status
    refusal = await _refusal(connector, document, key, context, memory, remembered)
    unseen = "" if status.caught_up and status.trouble is None else status.trouble or "the status topic is not read yet"
    if refusal is None:
        remembered.own = own.uid or "", name
    reports, control, claim = status.reports(name), status.control(name), status.claim(name)
    have_left = any(t.reason == Reason.SUPERSEDED for t in memory.tasks.values()) or any(
        p.ended is not None and p.ended.code == ExitCode.SUPERSEDED for p in mine
    )
    gathered = Facts(
        connector=connector,
        memory=memory,
        now=now,
        due=due,
        asked=asked,
        own=plans.own(connector, own_secrets, memory.restarted),
        own_toggled=plans.own(connector, own_secrets, memory.restarted, toggled=True),
        secrets_in_force=plans.in_force(connector, about, last, memory.restarted),
        shape=shape,
        release=context.release,
        rollout=settings.rollout,
        deleting=instant(document["metadata"].get("deletionTimestamp")),
        finalizer=names.FINALIZER in (document["metadata"].get("finalizers") or ()),
        namespace_ends=remembered.namespace_ends,
        plans=await _plans(context, key, stored, cache),
        task_pods=tuple(p for p in mine if isinstance(p, TaskPod)),
        job_pods=jobs,
        foreign_pods=tuple(p.name for p in pods if p.owner != own.uid),
        answers=answers,
        reports={n: r for n, r in reports.items() if r.connector_uid == own.uid},
        stale_records=any(r.connector_uid != own.uid for r in reports.values()),
        topics=() if refusal is not None else _topics(status.active_topics(name)),
        control=control if control is not None and control.connector_uid == own.uid else None,
        secrets=about,
        name_refusal=refusal,
        name_unseen="" if memory.has_run else unseen,
        has_claimed=claim is not None and claim.connector_uid == own.uid,
        owner=connect_names.mark(key, own.uid or "", settings.release),
        recorded=status.standing(name) if have_left else None,
        run_by=remembered.run_by,
        kafka_trouble=trouble,
        refusals=dict(remembered.refusals),
        job_deadline=float(settings.job.deadline_seconds),
        patience=float(settings.task.node_lost_seconds),
    )
    return replace(gathered, slot=context.job_slots.room(key, urgent=gathered.is_urgent))


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


def left_behind(context: Context, key: Key, remembered: Remembered) -> tuple[str, ...]:
    """The Connect names of a Connector that is gone, under which it wrote records, and nobody does any more.

    Its own are those that it has claimed, and reports with its uid where nobody has: never what stands under a name that
    it asked for in vain. Who waits for the name removes what is left of it by itself.
    """
    status, release = context.status, context.settings.release
    uid, own = remembered.own
    found = set()
    for name in {own, *status.claimed(*key, uid)}:
        claim = status.claim(name)
        if claim is None:
            is_its = name == own and any(r.connector_uid == uid for r in status.reports(name).values())
        else:
            its_key = connect_names.is_of(claim, release) and (claim.namespace, claim.name) == key
            is_its = its_key or (uid != "" and claim.connector_uid == uid)
        if is_its and not set(context.connectors.named(name)) - {key}:
            found.add(name)
    return tuple(sorted(found))


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


def _plan_maps(context: Context, key: Key, uid: str, name: str | None = None) -> list[dict[str, Any]]:
    """Those that keep plans of a Connector, whoever made them, without what is in them; of one name, or not too many."""
    labels = {names.UID_LABEL: uid, names.ROLE_LABEL: "plan"}
    fields = "" if name is None else f"metadata.name={name}"
    return context.kube.list(
        CONFIG_MAP, key.namespace, labels=labels, fields=fields, bodies=False, most=_MOST_LISTED
    )  # fmt: skip


async def _plans_in(
    maps: Sequence[Mapping[str, Any]], hashes: Collection[str], uid: str, key: Key, context: Context,
    remembered: Remembered,
) -> list[Mapping[str, Any]]:  # fmt: skip
    """Those of this operator that are to be read: of the plans that are asked for, and the newest.

    Args:
        maps: that carry the labels of the Connector's plans.
        hashes: of the plans that are asked for: found by name where so many others are in the way.
        uid: the Connector's.
        key: likewise.
        context: the outside.
        remembered: of the Connector.
    """
    wanted = {names.plan_name(key.name, one) for one in hashes if one}
    crowded = len(maps) >= _MOST_LISTED
    if crowded and not remembered.crowded:
        log.warning(
            "%s: %d or more ConfigMaps carry the labels of its plans, of which the operator makes two; most are not read: "
            "remove what others have labelled %s=%s", key, len(maps), names.UID_LABEL, uid,
        )  # fmt: skip
    remembered.crowded = crowded
    found = {m["metadata"]["name"]: m for m in maps}
    for name in sorted(wanted - found.keys()) if crowded else ():
        found |= {m["metadata"]["name"]: m for m in await context.run(_plan_maps, context, key, uid, name)}

    def rank(one: Mapping[str, Any]) -> tuple[bool, str]:
        return one["metadata"]["name"] in wanted, str(one["metadata"].get("creationTimestamp") or "")

    ours = [m for m in found.values() if names.label(m, names.OPERATOR_LABEL) == context.settings.release.label]
    return sorted(ours, key=rank, reverse=True)[:_MOST_READ]


async def _plans(context: Context, key: Key, maps: Sequence[Mapping[str, Any]], cache: PlanCache) -> tuple[Plan, ...]:
    """The plans that are stored. Each is read once: they may be large, and are immutable."""
    known, kept = cache.of(key), dict[str, CachedPlan]()

    for found in maps:
        own = found["metadata"]["uid"]
        if own in known:
            kept[own] = known[own]
        else:
            whole = await context.run(context.kube.get, CONFIG_MAP, key.namespace, found["metadata"]["name"])
            # Else it is gone, and perhaps another has its name.
            if whole is not None and whole["metadata"]["uid"] == own:
                size = sum(len(str(text)) for text in (whole.get("data") or {}).values())
                kept[own] = CachedPlan(plans.stored(whole), size)
    cache.keep(key, kept)
    return tuple(sorted((c.plan for c in kept.values() if c.plan is not None), key=lambda p: p.created))


def _topics(found: Iterable[KafkaTopic]) -> tuple[ActiveTopic, ...]:
    return tuple(ActiveTopic(t.name, t.task, t.discovered / 1000) for t in found)


async def _refusal(
    connector: Connector, document: Mapping[str, Any], key: Key, context: Context, memory: Memory,
    remembered: Remembered,
) -> NameRefusal | None:  # fmt: skip
    """Why the Connector does not own its Connect name: it is reserved, or an older one has it, here or in Kafka."""
    name, status = connector.connect_name, context.status
    release, allowed = context.settings.release, context.settings.allowed_connect_names
    if (taken := connect_names.reserved(key, name, connector.spec.config, allowed)) is not None:
        return taken
    if not status.caught_up and memory.reason == Reason.NAME_CONFLICT:  # who claims it cannot be seen
        return NameRefusal(Reason.NAME_CONFLICT, str(memory.conditions[ConditionType.READY].get("message", "")))
    own, everybody = connect_names.age_of(document["metadata"]), context.connectors
    others = {
        k: a for k, a in everybody.claimants(name).items() if k != key and connect_names.is_allowed(k, name, allowed)
    }
    claim = status.claim(name)
    if claim is not None and everybody.has(claim.connector_uid):
        claim = None
    if (other := await _twin(own, name, claim, memory, context, remembered)) is not None:
        return other
    found = connect_names.older(own, others, claim)
    if isinstance(found, Claim):
        lives: bool | None = True
        if connect_names.may_be_of(found, release) or found.cluster == release.cluster:
            lives = await _lives(found, context)
        if lives is not False:
            return connect_names.conflict(name, *connect_names.claimant(found, release, is_seen=lives is not None))
        # Its own release forgets the claim once the pods are gone too; one that was uninstalled never does.
        if not connect_names.may_be_of(found, release):
            uid, since = remembered.owner_gone
            seen = context.status.caught_up and context.status.trouble is None  # else the name may have been passed on
            if uid != found.connector_uid or not seen:
                since = context.clock()
                remembered.owner_gone = found.connector_uid, since
            if context.clock() - since < _GONE_FOR:
                return connect_names.conflict(name, *connect_names.leaving(found, _GONE_FOR))
        found = connect_names.older(own, others, None)
    return None if found is None else connect_names.conflict(name, f"Connector {found}")


async def _twin(
    own: connect_names.Age, name: str, claim: Claim | None, memory: Memory, context: Context, remembered: Remembered
) -> NameRefusal | None:
    """Whether the name belongs to another cluster that is called as this one.

    It is asked by taking its claim away: an operator that lives, of this release or an earlier one, writes it again at
    once. A cluster that this one has taken the place of does not.
    """
    now, asked = context.clock(), remembered.asked
    if claim is not None and connect_names.is_of_twin(claim, context.settings.release):
        if memory.standing is not None and own < connect_names.Age(claim.created, claim.connector_uid):
            return None  # it stands back when it reads this one's claim
        if asked is None or asked[0] != claim or now - asked[1] > _ASK_AGAIN:
            try:
                await context.run(context.status.write, [(claim_key(name), None)])
                remembered.asked = claim, now
            except Unavailable as e:
                log.debug("The claim of %s is not questioned: %s", name, e)
        return connect_names.conflict(name, *connect_names.twin(claim, _GONE_FOR))
    if asked is not None and claim is None:
        heard = context.status.caught_up and context.status.trouble is None
        since = asked[1] if heard else now
        remembered.asked = asked[0], since
        if now - since < _GONE_FOR:
            return connect_names.conflict(name, *connect_names.twin(asked[0], _GONE_FOR))
    remembered.asked = None
    return None


async def _lives(claim: Claim, context: Context) -> bool | None:
    """Whether the Connector that a claim of this cluster names is there; None: this operator may not look."""
    try:
        there = await context.run(context.kube.get, CONNECTOR, claim.namespace, claim.name)
    except Refused:  # in a namespace that is not this release's any more
        return None
    return there is not None and there["metadata"]["uid"] == claim.connector_uid
