"""Reconcile one Connector: observe the live state, decide, apply."""

import asyncio
import logging
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from penstock.errors import ConfigError
from penstock_model.contracts.job import Action
from penstock_model.resources.connector import Connector
from penstock_operator.connector.apply import Applied, apply
from penstock_operator.connector.decide.decide import decide
from penstock_operator.connector.decide.step_outcome import soonest
from penstock_operator.connector.kafka_writes import remove_records_of_deleted
from penstock_operator.connector.model.api_failures import reported_verdict
from penstock_operator.connector.model.decision import CreateJob, Decision
from penstock_operator.connector.model.kafka_connectivity import KafkaTrouble
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.observed_pods import ObservedPods
from penstock_operator.connector.model.pod_status import Phase
from penstock_operator.connector.model.refused_pods import with_room, without_room
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.connector.observe.gather import observe
from penstock_operator.connector.observe.name_lookup import left_behind
from penstock_operator.connector.observe.plan_cache import PlanCache
from penstock_operator.connector.observe.pods import pods_of
from penstock_operator.connector.policy.refused_template import with_refused_template
from penstock_operator.connector.policy.template_policy import with_template_policy
from penstock_operator.connector.quota_room import QuotaRoom
from penstock_operator.connector.reconcile_failure import report_failure
from penstock_operator.connector.render.metrics import figures, undecided
from penstock_operator.connector.render.pod_manifests import PodManifests
from penstock_operator.connector.withdrawal import NamespaceEnd, end_of, leave, release_finalizer
from penstock_operator.context import Context
from penstock_operator.errors import OperatorError, Refused, Unforeseen
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONNECTOR
from penstock_operator.names import EXECUTOR, ROLE_LABEL, label
from penstock_operator.queue.backoff import RECONCILE_BACKOFF
from penstock_operator.reasons import Reason

__all__ = ["Reconciler"]

log = logging.getLogger(__name__)
_MOST_ROUNDS: Final = 4
"""Maximum number of consecutive rounds in one run: a decision may enable the next one. Further rounds wait in the queue."""
_PODS_LEAVE: Final = 2.0
"""Seconds between checks whether the pods of a deleted Connector still exist."""


class Reconciler:
    """Reconciler of all Connectors of the operator.

    Its state between runs may be lost: it only saves requests, or is observed again.
    """

    def __init__(self) -> None:
        self._cache: dict[Key, CachedConnector] = {}
        self._plans = PlanCache()
        self._trouble = KafkaTrouble()
        self._room = QuotaRoom()

    async def __call__(self, key: Key, context: Context) -> float | None:
        """Reconcile one Connector.

        Returns:
            Seconds until the next run, unless an event triggers it earlier; None: only an event does.

        Raises:
            OperatorError: a request to the API server failed; the next run follows after a backoff.
        """
        try:
            return await self._rounds(key, context)
        except BaseException:
            context.rollout.revert(key)
            raise
        finally:
            cached = self._cache.get(key)
            if cached is None or not cached.queued:
                context.job_slots.withdraw(key)

    async def _rounds(self, key: Key, context: Context) -> float | None:
        for _ in range(_MOST_ROUNDS):
            document = await self._document(key, context)
            if document is None:
                return await self._gone(key, context)
            cached = self._of(key, document["metadata"]["uid"])
            cached.queued = False
            try:
                requeue_after = await self._once(key, context, document, cached)
            except OperatorError as e:
                if not (isinstance(e, Refused) and await release_finalizer(document, context, e)):
                    await report_failure(key, document, cached, e, context)
                    raise
                requeue_after = 0.0
            except Exception:
                await report_failure(key, document, cached, Unforeseen(), context)
                raise
            except asyncio.CancelledError:  # it took too long
                context.metrics.connector(key, undecided(document, Reason.OPERATOR_FAULT))
                raise
            else:
                if cached.trouble.passed():  # and the status still reports it
                    cached.reported_trouble, requeue_after = None, 0.0
            if requeue_after is None or requeue_after > 0:
                cached.immediate_runs = 0
                return requeue_after
        cached.immediate_runs += 1  # back off if runs repeatedly request the next one
        return 0.0 if cached.immediate_runs == 1 else RECONCILE_BACKOFF.pause(cached.immediate_runs - 1)

    async def _document(self, key: Key, context: Context) -> dict[str, Any] | None:
        try:
            return await context.run(context.kube.get, CONNECTOR, key.namespace, key.name)
        except OperatorError as e:
            if (cached := self._cache.get(key)) is not None:
                cached.trouble.failed(e, context.clock(), looking=True)
                if cached.trouble.verdict is not None:
                    context.metrics.not_ready(key, cached.trouble.verdict.reason)
            raise

    def _of(self, key: Key, uid: str) -> CachedConnector:
        cached = self._cache.get(key)
        if cached is None or cached.uid != uid:
            cached = self._cache[key] = CachedConnector(uid)
        return cached

    async def _once(
        self, key: Key, context: Context, document: dict[str, Any], cached: CachedConnector
    ) -> float | None:
        try:
            connector = Connector.draft(document)
        except ConfigError as e:  # the CRD's schema rejects this, but an older one may have accepted it
            log.warning("Cannot read Connector %s: %s", key, e)
            context.metrics.connector(key, undecided(document, Reason.CONFIG_INVALID))
            return None
        if (
            connector.metadata.name != key.name
        ):  # an invalid name was replaced in the draft; the status reports it under the real name
            metadata = connector.metadata.model_copy(update={"name": key.name})
            connector = connector.model_copy(update={"metadata": metadata})
        connector = with_refused_template(with_template_policy(connector, context.settings), cached.refusals)
        trouble, trouble_lasts_in = self._trouble.lasting(context.status.trouble, context.clock())
        cached.undecided = True
        observed = await observe(connector, document, context, cached, trouble, self._plans)
        cached.undecided = False
        if observed.pods.other_operator:
            context.rollout.update(key, None)
            context.metrics.forget(key)
            return await leave(document, observed, context)
        manifests = PodManifests(
            observed.connector, context.settings, observed.requested.pod_settings, observed.requested.plugin.mounts
        )
        # There must be no await between requesting permission and the update, so that each permission is granted once.
        release = replace(observed.release, permission=context.rollout.permission(key))
        decision = decide(replace(observed, release=release, pods=self._with_room(key, observed)), manifests.pod_hash)
        context.rollout.update(key, decision.rollout)
        unseen = not context.status.exists and context.status.trouble is None
        # Another release may just have created the topic and claimed the name in it.
        if unseen and _fences(decision) and await context.run(context.status.look):
            return 0.0
        applied = await apply(document, observed, decision, manifests, context, cached)
        if applied.is_gone:
            return 0.0
        self._keep_count(key, observed, decision, applied, context, cached)
        if decision.queued or applied.queued:
            cached.queued = True
            context.job_slots.wait(key, urgent=observed.is_urgent)
        if applied.failed is not None:
            raise applied.failed
        return soonest(decision.requeue_after, applied.requeue_after, trouble_lasts_in)

    def _with_room(self, key: Key, observed: Observation) -> ObservedPods:
        """Return the pods, with the pod of another Connector for which executors of this one must make room in a quota."""
        pod, gives = self._room.pod_without(key, observed.now), self._room.gives(key, observed.now)
        return replace(observed.pods, without_room=pod or "", gives_room=gives)

    def _keep_count(
        self,
        key: Key,
        observed: Observation,
        decision: Decision,
        applied: Applied,
        context: Context,
        cached: CachedConnector,
    ) -> None:
        """Update the Connector's metrics and its pod count; a removed pod may free quota."""
        reported = replace(decision, verdict=reported_verdict(decision.verdict, cached.trouble.verdict))
        context.metrics.connector(key, figures(observed, reported))
        own = observed.pods
        pods = (*own.tasks, *own.jobs, *own.offsets_jobs, *own.executors)
        before, cached.pod_count = cached.pod_count, sum(p.phase is not Phase.ENDED for p in pods) + applied.created
        if cached.pod_count < before:
            self._try_refused_by_quota(key, context)
        asking = without_room(cached.refusals, observed.now)
        for other in self._room.update(key, asking, len(own.executors), observed.now):
            context.wake(other)

    def _try_refused_by_quota(self, key: Key, context: Context) -> None:
        """Retry pods refused by a quota, after a pod of the namespace was removed and not replaced."""
        for other in {key, *context.connectors.of_namespace(key.namespace)}:
            cached = self._cache.get(other)
            if cached is not None and any(r.reason == Reason.QUOTA_EXCEEDED for r in cached.refusals.values()):
                cached.refusals = with_room(cached.refusals, context.clock())
                context.wake(other)

    async def _gone(self, key: Key, context: Context) -> float | None:
        """Clean up after a deleted Connector: wait until Kubernetes has deleted its pods, then remove its records."""
        context.connectors.gone(key)  # in case the event of its deletion was missed
        context.job_slots.living(key, frozenset())
        context.rollout.forget(key)
        context.metrics.forget(key)
        try:
            found = await context.run(pods_of, context, key)
            has_pods = any(label(p, ROLE_LABEL) != EXECUTOR for p in found)
        except Refused as e:
            if e.status != HTTPStatus.FORBIDDEN or (end := await end_of(key.namespace, context)) is None:
                raise
            context.connectors.gone(key)  # the permission for the namespace is gone, and with it the watch
            has_pods = end is NamespaceEnd.IN_PROGRESS
        if has_pods:
            return _PODS_LEAVE
        await remove_records_of_deleted(left_behind(context, key, self._cache.get(key, CachedConnector())), context)
        self._cache.pop(key, None)
        for other in self._room.forget(key, context.clock()):
            context.wake(other)
        self._plans.drop(key)
        context.connectors.forget(key)
        self._try_refused_by_quota(key, context)
        return None


def _fences(decision: Decision) -> bool:
    """Return whether a job pod will fence tasks that ran under this name before."""
    return any(isinstance(c, CreateJob) and (c.prepare or c.action is not Action.PLAN) for c in decision.create)
