"""One process of the operator, of which the reconciler is the real one, with the surroundings of one Connector."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, ParamSpec, TypeVar

from penstock_model.resources.connector import Connector
from penstock_operator.connector.apply import Applied
from penstock_operator.connector.model.decision import Decision
from penstock_operator.connector.model.executors import ExecutorsDecision
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.plan_hashes import release_hash
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.connector.observe.gather import observe
from penstock_operator.connector.observe.pods import living_job_pods
from penstock_operator.connector.policy.refused_template import with_refused_template
from penstock_operator.connector.policy.template_policy import with_template_policy
from penstock_operator.connector.reconciler import Reconciler
from penstock_operator.context import Context
from penstock_operator.errors import OperatorError
from penstock_operator.job_slots import JobSlots
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONNECTOR, PLUGIN_VERSION
from penstock_operator.metrics import Metrics
from penstock_operator.queue.index import ConnectorIndex
from penstock_operator.queue.plugin_offer_index import PluginOfferIndex
from penstock_operator.rollout import RolloutLimiter
from penstock_operator.rollout.progress import Permission, progress_of_status
from penstock_operator.settings import Settings

from ... import virtual_time
from ...fake_api_answers import Object
from ...fake_api_server import FakeApiServer
from ...fake_status_topic import FakeStatusTopic

__all__ = ["OperatorProcess", "does_anything"]

P = ParamSpec("P")
T = TypeVar("T")
_AFTER_ERROR: Final = 1.0
"""Seconds after which a run that failed is followed by the next."""
_BUSY: Final = Key("other", "busy")
"""Another Connector, which takes job slots."""


class OperatorProcess:
    """An operator that reconciles one Connector.

    Args:
        key: key of the Connector.
        server: the API server.
        topic: the status topic.
        settings: settings of the release.
        hmac_key: HMAC key of the release.
        permission: to restart for a change of the release; what it returns in place of None is what the limiter says.
        clock: seconds since 1970.

    Attributes:
        woken: the Connectors that the rollout's limiter has had reconciled, in order.
    """

    def __init__(
        self,
        key: Key,
        server: FakeApiServer,
        topic: FakeStatusTopic,
        settings: Settings,
        hmac_key: bytes,
        permission: Callable[[], Permission | None],
        clock: Callable[[], float],
    ) -> None:
        self._key, self._server, self._topic, self._settings = key, server, topic, settings
        self._reconciler = _Recorder()
        self._connectors = ConnectorIndex(settings.worker)
        self._plugins = PluginOfferIndex()
        self.woken: list[Key] = []
        self._limiter = _Limiter(permission, settings.rollout, clock, lambda key, delay: self.woken.append(key))
        kube, slots = Kube(server), JobSlots(settings.limits.job_pods)
        slots.adopt(living_job_pods(kube, settings, clock()))
        self._context = Context(
            kube=kube,
            status=topic,
            connectors=self._connectors,
            plugins=self._plugins,
            settings=settings,
            hmac_key=hmac_key,
            run=_run,
            metrics=Metrics(),
            job_slots=slots,
            rollout=self._limiter,
            release=release_hash(settings),
            clock=clock,
        )
        if (document := server.get(CONNECTOR, *key)) is not None:
            progress = progress_of_status(document, self._context.release, clock(), settings.rollout)
            self._limiter.load([(key, progress)])

    def reconcile(self, before: Decision | None) -> Decision:
        """Reconcile the Connector once: the last decision, with what all rounds did and the pause that the run asked for.

        Args:
            before: the decision of the last run, which stands where this one decides nothing.
        """
        decisions = self._reconciler.decisions = []
        requeue_after: float | None = _AFTER_ERROR
        with suppress(OperatorError):
            requeue_after = virtual_time.run(self._reconciler(self._key, self._context))
        if decisions:
            return replace(_together(decisions), requeue_after=requeue_after)
        assert before is not None, "nothing was ever decided"
        if self._server.get(CONNECTOR, *self._key) is None:  # the limiter forgets it
            before = replace(before, rollout=None)
        return replace(
            before,
            save=(),
            finalizer=None,
            delete=(),
            create=(),
            drop=(),
            control_state=None,
            forget=False,
            executors=ExecutorsDecision(),
            requeue_after=requeue_after,
        )

    def observe(self, document: Object) -> Observation:
        """What the operator observes of the Connector now."""
        context, reconciler = self._context, self._reconciler
        cached = reconciler._of(self._key, document["metadata"]["uid"])
        connector = with_template_policy(Connector.draft(document), self._settings)
        connector = with_refused_template(connector, cached.refusals)
        trouble, _ = reconciler._trouble.lasting(self._topic.trouble, context.clock())
        observing = observe(connector, document, context, cached, trouble, reconciler._plans)
        observed: Observation = virtual_time.run(observing)
        return replace(observed, release=replace(observed.release, permission=self._limiter.permission(self._key)))

    def watch(self, document: Object | None, rival: Key | None, *, slot: bool) -> None:
        """Take in what watches have shown.

        Args:
            document: the Connector; None: it is gone.
            rival: an older Connector that asks for the same Connect name; None: there is none.
            slot: whether other Connectors leave a job slot.
        """
        plugins = self._server.list(PLUGIN_VERSION, self._key.namespace)
        self._plugins.listed(plugins, self._plugins.known())
        for plugin in plugins:
            self._plugins.seen(plugin)
        index = self._connectors
        for other in set(index.all()) - {self._key, rival}:
            index.gone(other)
            index.forget(other)
        if document is None:
            index.gone(self._key)
        else:
            index.seen(self._key, document)
        if rival is not None and document is not None:
            metadata = {
                "name": rival.name,
                "namespace": rival.namespace,
                "uid": "rival",
                "creationTimestamp": "2020-01-01T00:00:00Z",
            }
            index.seen(rival, {"metadata": metadata, "spec": {"connectName": Connector.draft(document).connect_name}})
        count = 0 if slot else self._settings.limits.job_pods
        self._context.job_slots.living(_BUSY, frozenset(f"{_BUSY}-{n}" for n in range(count)))


class _Recorder(Reconciler):
    """Keeps the decisions that were carried out."""

    def __init__(self) -> None:
        super().__init__()
        self.decisions: list[Decision] = []

    def _keep_count(
        self,
        key: Key,
        observed: Observation,
        decision: Decision,
        applied: Applied,
        context: Context,
        cached: CachedConnector,
    ) -> None:
        self.decisions.append(decision)
        super()._keep_count(key, observed, decision, applied, context, cached)


class _Limiter(RolloutLimiter):
    """The limiter of a release that has more Connectors than this one, where a test gives the permission."""

    def __init__(self, given: Callable[[], Permission | None], *args: Any) -> None:
        super().__init__(*args)
        self._given = given

    def permission(self, key: Key) -> Permission:
        return self._given() or super().permission(key)


async def _run(call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return call(*args, **kwargs)


def _together(decisions: list[Decision]) -> Decision:
    """The last decision of a run, with what all of its rounds did."""
    return replace(
        decisions[-1],
        save=tuple(p for d in decisions for p in d.save),
        delete=tuple(p for d in decisions for p in d.delete),
        create=tuple(c for d in decisions for c in d.create),
        drop=tuple(h for d in decisions for h in d.drop),
        finalizer=next((d.finalizer for d in reversed(decisions) if d.finalizer is not None), None),
        control_state=next((d.control_state for d in reversed(decisions) if d.control_state is not None), None),
        forget=any(d.forget for d in decisions),
    )


def does_anything(decision: Decision) -> bool:
    """Whether a decision changes anything but the status."""
    return bool(
        decision.save
        or decision.delete
        or decision.create
        or decision.finalizer is not None
        or decision.control_state
        or decision.forget
        or decision.drop
        or decision.publish
        or decision.executors.has_actions
    )
