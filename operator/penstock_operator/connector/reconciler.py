"""Brings one Connector and what belongs to it to what is asked: gather what is live, decide, apply."""

import asyncio
import logging
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from penstock.errors import ConfigError
from penstock_model.contracts.job import Action
from penstock_model.contracts.task_reports import Claim, Control, claim_key, control_key
from penstock_model.resources.connector import Connector
from penstock_operator.connector.apply import Applied, apply
from penstock_operator.connector.decide.api_failures import over
from penstock_operator.connector.decide.decide import decide
from penstock_operator.connector.decide.decision import CreateJob, Decision
from penstock_operator.connector.decide.kafka_connectivity import KafkaTrouble
from penstock_operator.connector.decide.refused_pods import with_room
from penstock_operator.connector.decide.template_policy import judged
from penstock_operator.connector.failed_run import report
from penstock_operator.connector.observe import gather
from penstock_operator.connector.observe.connector_cache import Remembered
from penstock_operator.connector.observe.name_ownership import left_behind
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.observe.pod_status import Phase
from penstock_operator.connector.plan_cache import PlanCache
from penstock_operator.connector.render.connect_states import state_records
from penstock_operator.connector.render.metrics import figures, undecided
from penstock_operator.connector.render.pod_manifests import Maker
from penstock_operator.connector.withdrawal import End, end_of, leave, let_go
from penstock_operator.context import Context
from penstock_operator.errors import OperatorError, Refused, Unavailable, Unforeseen
from penstock_operator.kubernetes.kinds import CONNECTOR
from penstock_operator.queue.backoff import RECONCILE_BACKOFF
from penstock_operator.queue.key import Key
from penstock_operator.reasons import Reason

__all__ = ["Reconciler"]

log = logging.getLogger(__name__)
_ROUNDS: Final = 4
"""A decision that was carried out may allow the next at once; more than so many in a row are left to the queue."""
_PODS_LEAVE: Final = 2.0
_TELL_AGAIN: Final = 2.0


class Reconciler:
    """One for the whole operator.

    It keeps nothing that matters: what it remembers between two runs saves requests, or is found out again.
    """

    def __init__(self) -> None:
        self._remembered: dict[Key, Remembered] = {}
        self._plans = PlanCache()
        self._trouble = KafkaTrouble()

    async def __call__(self, key: Key, context: Context) -> float | None:
        """Reconcile.

        Returns:
            Seconds until it is to run again, should nothing happen; None: it need not.

        Raises:
            OperatorError: the API server did not do as asked; to be run again with back-off.
        """
        try:
            return await self._rounds(key, context)
        except BaseException:
            context.rollout.revert(key)
            raise
        finally:
            known = self._remembered.get(key)
            if known is None or not known.queued:
                context.job_slots.withdraw(key)

    async def _rounds(self, key: Key, context: Context) -> float | None:
        for _ in range(_ROUNDS):
            document = await self._document(key, context)
            if document is None:
                return await self._gone(key, context)
            remembered = self._of(key, document["metadata"]["uid"])
            remembered.queued = False
            try:
                again = await self._once(key, context, document, remembered)
            except OperatorError as e:
                if not (isinstance(e, Refused) and await let_go(document, context, e)):
                    await report(key, document, remembered, e, context)
                    raise
                again = 0.0
            except Exception:
                await report(key, document, remembered, Unforeseen(), context)
                raise
            except asyncio.CancelledError:  # it took too long
                context.metrics.connector(key, undecided(document))
                raise
            else:
                if remembered.trouble.passed():  # and the status still tells of it
                    remembered.reported, again = None, 0.0
            if again is None or again > 0:
                remembered.restless = 0
                return again
        remembered.restless += 1  # whatever the cause: what comes to no end is tried more and more seldom
        return 0.0 if remembered.restless == 1 else RECONCILE_BACKOFF.pause(remembered.restless - 1)

    async def _document(self, key: Key, context: Context) -> dict[str, Any] | None:
        try:
            return await context.run(context.kube.get, CONNECTOR, key.namespace, key.name)
        except OperatorError as e:
            if (known := self._remembered.get(key)) is not None:
                known.trouble.failed(e, context.clock(), looking=True)
                if known.trouble.verdict is not None:
                    context.metrics.not_ready(key)
            raise

    def _of(self, key: Key, uid: str) -> Remembered:
        known = self._remembered.get(key)
        if known is None or known.uid != uid:
            known = self._remembered[key] = Remembered(uid)
        return known

    async def _once(self, key: Key, context: Context, document: dict[str, Any], remembered: Remembered) -> float | None:
        try:
            connector = Connector.draft(document)
        except ConfigError as e:  # the schema of the resource refuses such a thing; an older one may have let it in
            log.warning("%s cannot be read: %s", key, e)
            context.metrics.connector(key, undecided(document))
            return None
        if connector.metadata.name != key.name:  # no name for a Connector, which is told under the name that it has
            metadata = connector.metadata.model_copy(update={"name": key.name})
            connector = connector.model_copy(update={"metadata": metadata})
        connector = judged(connector, context.settings)
        trouble, look = self._trouble.lasting(context.status.trouble, context.clock())
        remembered.looking = True
        observed = await gather.observe(connector, document, context, remembered, trouble, self._plans)
        remembered.looking = False
        if observed.run_by:
            context.rollout.update(key, None)
            context.metrics.forget(key)
            return await leave(document, observed, context)
        maker = Maker(connector, context.settings, observed.shape)
        # Nothing is awaited between the two, so that each permission is granted once.
        decision = decide(replace(observed, permission=context.rollout.permission(key)), maker.life)
        context.rollout.update(key, decision.rollout)
        unseen = not context.status.exists and context.status.trouble is None
        # Another release may have made the topic this moment, and claimed the name in it.
        if unseen and _shuts_out(decision) and await context.run(context.status.look):
            return 0.0
        told = await self._states(observed, decision, context)
        shown = replace(decision, verdict=over(decision.verdict, remembered.trouble.verdict))
        applied: Applied = await apply(document, observed, shown, maker, context, remembered)
        if applied.is_gone:
            return 0.0
        context.metrics.connector(key, figures(observed, shown))
        living = sum(p.phase is not Phase.ENDED for p in (*observed.task_pods, *observed.job_pods)) + applied.created
        before, remembered.living = remembered.living, living
        if living < before:
            self._room(key, context)
        # With its tasks' pods too: the topic may not have been there, or not been seen, when they were created.
        writes = decision.create or observed.task_pods or _has_written(connector, context)
        if writes and observed.name_refusal is None and observed.deleting is None:
            await self._claim(connector, document, context)
        if decision.tell is not None:
            applied = await self._tell(observed, context, applied, Control(
                connector_uid=connector.metadata.uid or "", generation=connector.metadata.generation, state=decision.tell
            ))  # fmt: skip
        if decision.queued or applied.queued:
            remembered.queued = True
            context.job_slots.wait(key, urgent=observed.is_urgent)
        if decision.forget:
            applied = await self._forget(connector.connect_name, context, applied)
        if applied.failed is not None:
            raise applied.failed
        waits = [w for w in (decision.again, applied.again, told, look) if w is not None]
        return min(waits, default=None)

    def _room(self, key: Key, context: Context) -> None:
        """A pod of the namespace has gone, and no other came in its place: what a quota refused there may be tried."""
        for other in {key, *context.connectors.of_namespace(key.namespace)}:
            known = self._remembered.get(other)
            if known is not None and any(r.reason == Reason.QUOTA_EXCEEDED for r in known.refusals.values()):
                known.refusals = with_room(known.refusals, context.clock())
                context.wake(other)

    async def _states(self, observed: Observation, decision: Decision, context: Context) -> float | None:
        """Write Kafka Connect's states, where Kafka is there; nothing else waits for them. When to try again."""
        status, name = context.status, observed.connector.connect_name
        if status.trouble is not None or not (status.caught_up and status.exists):
            return None  # decided again when that changes
        entries = state_records(observed, decision, status.states(name), worker_id=context.settings.release.operator)
        try:
            await context.run(status.write_states, entries)
        except Unavailable as e:
            log.debug("The states of %s are not written: %s", name, e)
            return _TELL_AGAIN
        return None

    async def _claim(self, connector: Connector, document: dict[str, Any], context: Context) -> None:
        """Say who owns the Connect name, for operators that do not see this Connector."""
        own, status, release = connector.metadata, context.status, context.settings.release
        claim = Claim(
            connector_uid=own.uid or "", namespace=own.namespace or "", name=own.name,
            created=document["metadata"].get("creationTimestamp", ""), operator=release.operator,
            cluster=release.cluster, installation=release.installation,
        )  # fmt: skip
        if not status.caught_up or status.claim(connector.connect_name) == claim:
            return
        try:
            await context.run(status.write, [(claim_key(connector.connect_name), claim.to_value())])
        except Unavailable as e:  # the topic may not be there before the first connector was prepared
            log.debug("The claim of %s is not written: %s", connector.connect_name, e)

    async def _tell(self, observed: Observation, context: Context, applied: Applied, control: Control) -> Applied:
        key = control_key(observed.connector.connect_name)
        if context.status.trouble is not None:  # told by the connector's status once it lasts
            return replace(applied, again=_TELL_AGAIN)
        try:
            await context.run(context.status.write, [(key, control.to_value())])
        except Unavailable as e:
            log.warning("%s: its tasks cannot be told to be %s: %s", observed.connector.connect_name, control.state, e)
            return replace(applied, again=_TELL_AGAIN)
        return applied

    async def _forget(self, name: str, context: Context, applied: Applied) -> Applied:
        try:
            await context.run(context.status.forget, name)
        except Unavailable as e:
            log.warning("%s: records of an earlier Connector cannot be removed: %s", name, e)
            return replace(applied, again=_TELL_AGAIN)
        return applied

    async def _gone(self, key: Key, context: Context) -> float | None:
        """The Connector is no more: its pods go with it; then its records are forgotten."""
        context.job_slots.living(key, frozenset())
        context.rollout.forget(key)
        context.metrics.forget(key)
        try:
            wait = bool(await context.run(gather.pods_of, context, key))
        except Refused as e:
            if e.status != HTTPStatus.FORBIDDEN or (there := await end_of(key.namespace, context)) is None:
                raise
            context.connectors.gone(key)  # no watch tells of it any more
            wait = there is End.UNDER_WAY
        if wait:
            return _PODS_LEAVE
        for name in left_behind(context, key, self._remembered.get(key, Remembered())):
            await context.run(context.status.forget, name)
        self._remembered.pop(key, None)
        self._plans.drop(key)
        context.connectors.forget(key)
        self._room(key, context)
        return None


def _has_written(connector: Connector, context: Context) -> bool:
    """Whether states of ours stand there without a claim, by which they would be found once the Connector is gone."""
    status, own = context.status, context.settings.release.operator
    if status.claim(connector.connect_name) is not None:
        return False
    return any(s.worker_id == own for s in status.states(connector.connect_name).values())


def _shuts_out(decision: Decision) -> bool:
    """Whether a short pod is to shut out whoever ran under this name before."""
    return any(isinstance(w, CreateJob) and (w.prepare or w.action is not Action.PLAN) for w in decision.create)
