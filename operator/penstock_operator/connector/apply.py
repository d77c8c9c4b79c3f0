"""Carries a decision out: in a fixed order, so that being killed between any two writes is harmless."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from penstock_model.contracts.job import Action, JobRequest
from penstock_model.contracts.pod_layout import SECRETS_DIR
from penstock_operator.connector import plans
from penstock_operator.connector.decide.api_failures import cause
from penstock_operator.connector.decide.decision import CreateJob, CreateTask, Decision
from penstock_operator.connector.decide.refused_pods import Refusal, after, of_plan
from penstock_operator.connector.observe.connector_cache import Remembered
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.observe.pod_status import Pod
from penstock_operator.connector.plans import Plan
from penstock_operator.connector.render.events import events_between
from penstock_operator.connector.render.names import (
    FINALIZER,
    OPERATOR_LABEL,
    ROLE_LABEL,
    UID_LABEL,
    label,
    plan_name,
    pod_name,
    request_name,
)
from penstock_operator.connector.render.pod_manifests import Maker
from penstock_operator.connector.render.status import connector_status, is_unchanged
from penstock_operator.context import Context
from penstock_operator.errors import Conflict, NotYet, OperatorError, Refused
from penstock_operator.kubernetes.kinds import CONFIG_MAP, CONNECTOR, POD
from penstock_operator.queue.key import Key
from penstock_operator.reasons import Reason

__all__ = ["STATUS_MANAGER", "Applied", "apply", "delete_pod", "write_finalizer"]

log = logging.getLogger(__name__)
T = TypeVar("T")
_MANAGER: Final = "penstock"
STATUS_MANAGER: Final = "penstock-status"
_COUNTED: Final = 2.0
"""Seconds after which a quota has counted again what is there."""
_MOST_FAILURES: Final = 3
"""Of one run: each may take as long as a webhook, or the server itself, needs to give no answer."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of it.

    Attributes:
        again: look again after so many seconds; 0: at once, None: when something happens.
        created: how many pods.
        queued: a job pod waits for a slot.
        is_gone: the Connector is no more, or another one has its name.
        failed: what the API server did not do with one pod or more, while all the rest was done; None: nothing.
    """

    again: float | None = None
    created: int = 0
    queued: bool = False
    is_gone: bool = False
    failed: OperatorError | None = None


async def apply(
    document: Mapping[str, Any], observed: Observation, decision: Decision, maker: Maker, context: Context,
    remembered: Remembered,
) -> Applied:  # fmt: skip
    """Carry it out. What fails with one pod keeps no other one from being deleted or created.

    Raises:
        OperatorError: the API server did not do as asked; what is left is decided again.
    """
    own = observed.connector.metadata
    key = Key(own.namespace or "", own.name)
    kube = context.kube
    for plan in decision.save:
        if not await _save(key, plan, observed, decision, maker, context, remembered):
            return Applied(0.0)  # decided once more, without that plan
    current = await _status(document, observed, decision, context)
    if current is None:
        return Applied(0.0, is_gone=True)
    if decision.finalizer is not None and not await write_finalizer(current, key, decision.finalizer, context):
        return Applied(0.0)  # the Connector was changed meanwhile
    failures = _Failures(remembered.failing)
    for pod in failures.last(decision.delete, lambda p: p.name):
        with failures.of(pod.name):
            await delete_pod(key, pod, context)
    again: float | None = None
    created, queued = 0, False
    for wish in failures.last(decision.create, lambda w: _name(own.name, w)):
        name = _name(own.name, wish)
        with failures.of(name):
            try:
                if await _create(key, wish, observed, maker, context):
                    created += 1
                    remembered.refusals.pop(name, None)
                else:
                    queued = True
            except Refused as e:
                remembered.refusals[name] = _refusal(observed, wish, name, e)
                remembered.namespace_ends = remembered.namespace_ends or e.namespace_ends
                again = 0.0  # it is told, and the decision says when it is tried again
                if isinstance(wish, CreateJob):  # the next try may go by another name
                    await context.run(kube.delete, CONFIG_MAP, key.namespace, request_name(wish.name))
    for dropped in failures.last(decision.drop, str):
        with failures.of(dropped):
            await context.run(kube.delete, CONFIG_MAP, key.namespace, plan_name(own.name, dropped))
    remembered.failing = failures.names
    if decision.save:
        again = 0.0  # what was decided with the new plan in mind is looked at once more with the plan in place
    return Applied(again, created, queued, failed=failures.first)


class _Failures:
    """What the API server did not do with single objects. It is told once the rest is done; so many, and no more is tried.

    Args:
        before: the names of those for which the last run failed: they come last, so that they are in nobody's way.
    """

    def __init__(self, before: Collection[str]) -> None:
        self._before = before
        self.first: OperatorError | None = None
        self.names: frozenset[str] = frozenset()

    def last(self, wanted: Iterable[T], name: Callable[[T], str]) -> Iterator[T]:
        """In their order, but for those that failed before; none once that is the server's state and not theirs."""
        for one in sorted(wanted, key=lambda w: name(w) in self._before):
            if len(self.names) >= _MOST_FAILURES or isinstance(self.first, NotYet):
                return
            yield one

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """What fails in here is this one's failure."""
        try:
            yield
        except OperatorError as e:
            self.first = self.first or e
            self.names |= {name}


async def delete_pod(key: Key, pod: Pod, context: Context) -> None:
    """Have a pod end; what was made for it goes with it."""
    if pod.role == "job":  # its request first: of a pod that is gone nobody would know it
        await context.run(context.kube.delete, CONFIG_MAP, key.namespace, request_name(pod.name))
    await context.run(context.kube.delete, POD, key.namespace, pod.name, uid=pod.uid)
    if pod.role == "job":
        context.job_slots.give_back(f"{key.namespace}/{pod.name}")


async def _save(
    key: Key,
    plan: Plan,
    observed: Observation,
    decision: Decision,
    maker: Maker,
    context: Context,
    remembered: Remembered,
) -> bool:
    """Keep a plan; False: it is refused, and what runs goes on with the last one until the next try.

    Raises:
        OperatorError: as `apply`; and what is refused though it is not the time for a try.
    """
    manifest, name = plans.manifest(plan, maker.plan_metadata(plan)), of_plan(plan_name(key.name, plan.hash))
    known = observed.refusals.get(name)
    try:
        try:
            await _put(key, manifest, context)
        except Refused as e:
            asked = [p for p in decision.delete if p.role == "job"]
            if not (e.over_quota and asked):
                raise
            for pod in asked:  # what a job was asked is of no more use once it has answered, and takes room
                await context.run(context.kube.delete, CONFIG_MAP, key.namespace, request_name(pod.name))
            await asyncio.sleep(_COUNTED)
            await _put(key, manifest, context)
    except (Refused, Conflict) as e:
        if known is not None and known.again_at > observed.now:
            raise
        reason, remedy = cause(e)
        text = f"its plan cannot be kept: {e.answer if isinstance(e, Refused) and e.answer else e}"
        remembered.refusals[name] = after(
            known, reason, f"{text}; {remedy}" if remedy else text, now=observed.now,
            generation=observed.connector.metadata.generation,
        )  # fmt: skip
        return False
    remembered.refusals.pop(name, None)
    return True


async def _put(key: Key, manifest: Mapping[str, Any], context: Context) -> None:
    """Have a ConfigMap of this Connector with just that in it.

    One of an earlier Connector of this name (deleted without its dependents, or restored from a backup) would be run by
    nobody's decision, and be collected under running tasks; one that an operator of another version wrote cannot be read.
    Neither is kept. What is there as it should be is from a moment ago.
    """
    kube, name = context.kube, manifest["metadata"]["name"]
    for _ in range(2):
        if await context.run(kube.create, manifest) is not None:
            return
        there = await context.run(kube.get, CONFIG_MAP, key.namespace, name)
        if there is None:
            continue
        if _is_as(there, manifest):
            return
        await context.run(kube.delete, CONFIG_MAP, key.namespace, name, uid=there["metadata"]["uid"])
    raise Conflict(
        f"Creating ConfigMap {key.namespace}/{name}: another one has its name and does not go; remove it, and what holds it "
        "(its finalizers)"
    )


def _is_as(there: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    marks = (UID_LABEL, OPERATOR_LABEL, ROLE_LABEL)
    owners = {o.get("uid") for o in there["metadata"].get("ownerReferences") or ()}
    return (
        "deletionTimestamp" not in there["metadata"]
        and [label(there, m) for m in marks] == [label(manifest, m) for m in marks]
        and owners == {o["uid"] for o in manifest["metadata"]["ownerReferences"]}
        and (there.get("data") or {}) == manifest["data"]
    )


async def _status(
    document: Mapping[str, Any], observed: Observation, decision: Decision, context: Context
) -> Mapping[str, Any] | None:
    """Write it where it differs; the Connector as it stands then, None: it is gone, or another has its name."""
    own = observed.connector.metadata
    found = connector_status(observed, decision)
    if is_unchanged(found, document.get("status")):
        return document
    written = await context.run(
        context.kube.apply_status, CONNECTOR, own.namespace or "", own.name, found, uid=own.uid or "",
        manager=STATUS_MANAGER, resource_version=document["metadata"]["resourceVersion"],
    )  # fmt: skip
    if written is None:
        return None
    for event in () if observed.namespace_ends else events_between(observed.memory, decision):
        log.info("%s", event.message, extra={"connector": f"{own.namespace}/{own.name}", "reason": event.reason})
        await context.run(
            context.kube.event, document, type_=event.type, reason=event.reason,
            message=event.message, action=event.action,
        )  # fmt: skip
    return {**document, "metadata": written["metadata"]}


async def _create(
    key: Key, wish: CreateJob | CreateTask, observed: Observation, maker: Maker, context: Context
) -> bool:
    """Create a pod; False: it is a job pod, and there is no slot for it."""
    if isinstance(wish, CreateTask):
        status = context.status.snapshot(maker.connector.connect_name, wish.task)
        pod = maker.task(wish.plan, wish.task, wish.incarnation, wish.standing, wish.state, status)
        await _create_pod(key, pod, maker, context)
        return True
    with context.job_slots.making(f"{key.namespace}/{wish.name}", key, urgent=observed.is_urgent) as room:
        if room:
            await _put(key, maker.request(wish.name, _request(wish, observed.owner, maker, context)), context)
            pod = maker.job(wish.name, wish.action, wish.key, wish.plan, plain=wish.plain)
            await _create_pod(key, pod, maker, context)
        return room


async def _create_pod(key: Key, pod: Mapping[str, Any], maker: Maker, context: Context) -> None:
    made = await context.run(context.kube.create, pod)
    if made is None:  # it is there: ours from a moment ago, or somebody else's
        there = await context.run(context.kube.get, POD, key.namespace, pod["metadata"]["name"])
        own = maker.connector.metadata.uid, maker.operator
        if there is not None and (label(there, UID_LABEL), label(there, OPERATOR_LABEL)) != own:
            raise Refused(
                f"Creating pod {pod['metadata']['name']}",
                answer=f"a pod of the name {pod['metadata']['name']} is there that is not this Connector's; remove it",
                reason=Reason.POD_NAME_TAKEN,
            )


def _request(wish: CreateJob, owner: str, maker: Maker, context: Context) -> JobRequest:
    task = None
    if wish.action is Action.PREPARE and wish.plan is not None:
        task = wish.plan.tasks[0]
    return JobRequest(
        action=wish.action, id=wish.key, connector=maker.document(), worker=dict(context.settings.worker),
        secrets_dir=SECRETS_DIR if maker.shape.secrets or maker.shape_of(wish.plan).secrets else None,
        prepare=wish.prepare, task=task, status=context.status.snapshot(maker.connector.connect_name), owner=owner,
    )  # fmt: skip


async def write_finalizer(document: Mapping[str, Any], key: Key, wanted: bool, context: Context) -> bool:
    """Put ours on the Connector, or take it off; False: the Connector was changed meanwhile."""
    metadata = document["metadata"]
    others = [f for f in metadata.get("finalizers") or () if f != FINALIZER]
    finalizers = [*others, FINALIZER] if wanted else others
    return bool(
        await context.run(
            context.kube.finalizers, CONNECTOR, key.namespace, key.name, finalizers,
            resource_version=metadata["resourceVersion"],
        )
    )  # fmt: skip


def _name(connector: str, wish: CreateJob | CreateTask) -> str:
    return wish.name if isinstance(wish, CreateJob) else pod_name(connector, wish.task, wish.incarnation)


def _refusal(observed: Observation, wish: CreateJob | CreateTask, name: str, refused: Refused) -> Refusal:
    reason, remedy = cause(refused)
    text = refused.answer or str(refused)
    return after(
        observed.refusals.get(name), reason, f"{text}; {remedy}" if remedy else text, now=observed.now,
        generation=observed.connector.metadata.generation,
        life="" if isinstance(wish, CreateJob) else wish.life,
    )  # fmt: skip
