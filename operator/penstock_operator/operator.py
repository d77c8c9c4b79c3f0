"""Connect the operator's parts and run them until the operator is stopped or one of them fails."""

import asyncio
import logging
import math
import os
import socket
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from penstock_model.contracts.pod_layout import POD_NAME_VARIABLE, POD_UID_VARIABLE
from penstock_model.resources.topic_policy_selection import selector_of
from penstock_operator.admission.webhook import Webhook
from penstock_operator.connector.kubernetes_writes import STATUS_MANAGER
from penstock_operator.connector.model.plan_hashes import release_hash
from penstock_operator.connector.observe.pods import living_job_pods
from penstock_operator.connector.observe.rollout_progress import progress_of_all
from penstock_operator.context import Context, Reconcile
from penstock_operator.errors import NoSuchKind, OperatorError
from penstock_operator.job_slots import JobSlots
from penstock_operator.kafka import StatusTopic
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.election import LeaseLost
from penstock_operator.kubernetes.event_keys import EventKeys
from penstock_operator.kubernetes.kinds import CONNECTOR, PLUGIN_VERSION, POD, POLICY, SECRET, Kind
from penstock_operator.kubernetes.lease import Lease
from penstock_operator.kubernetes.optional_kinds import OptionalKinds
from penstock_operator.kubernetes.watch import KopfWatch
from penstock_operator.kubernetes.watch_health import WatchHealth
from penstock_operator.metrics import Metrics
from penstock_operator.plugin_verification.verifier import Verifier
from penstock_operator.probes import Heartbeat, Server, metrics_page, probe_page
from penstock_operator.queue.index import ConnectorIndex
from penstock_operator.queue.plugin_offer_index import PluginOfferIndex
from penstock_operator.queue.resync import orphans, resync, spread
from penstock_operator.queue.throttle import Throttle
from penstock_operator.queue.workqueue import WorkQueue
from penstock_operator.reasons import event_type
from penstock_operator.resource_status import new_cause, resource_status
from penstock_operator.rollout import RolloutLimiter
from penstock_operator.settings import Settings
from penstock_operator.thread_pool import Pool
from penstock_operator.web.console import Console, console_address

__all__ = ["Operator", "identity"]

log = logging.getLogger(__name__)

_RENEW: Final = 5.0
_RETRY: Final = 2.0
_STOP_SECONDS: Final = 10.0
_REQUESTS_SECONDS: Final = 3.0
_STILL: Final = 30.0
_KAFKA_STILL: Final = 120.0
_TOPICS_SECONDS: Final = 10.0
"""Seconds between two reconciliations of a Connector for changes only of its active topics."""
_PROGRESS_SECONDS: Final = 30.0
"""Seconds between two reconciliations of a Connector for changes only of the time of its last record.

Half the time between two reports of a task. With the whole time, each report of a task could wait almost that long for a
turn, if it always came just after the turn for another task's report.
"""
_GATHERED: Final = 5.0
"""Seconds for which a reconciliation for the time of the last record waits for reports of the Connector's other tasks."""
_KAFKA_FIRST: Final = 10.0
_MANY: Final = 8
_SOON: Final = 10.0
_STATUS_DELAY: Final = 0.5
"""Seconds from an event to the status of a policy or PluginVersion: many Connectors applied together cause one write."""

_LEASE, _FIRST_LIST, _STATUS = "lease", "first list", "status topic"


def identity(environment: Mapping[str, str] = os.environ) -> str:
    """Return the identity of this process in the Lease: its pod's name and uid, or else a unique name."""
    pod, uid = environment.get(POD_NAME_VARIABLE), environment.get(POD_UID_VARIABLE)
    return f"{pod}_{uid}" if pod and uid else f"{socket.gethostname()}_{uuid.uuid4()}"


class Operator:
    """Operator of a release. Created and run in one event loop.

    Args:
        settings: settings of the release.
        kube: the API server; its requests are counted in `metrics`.
        hmac_key: HMAC key of the release.
        reconcile: reconciles a key.
        metrics: metrics of this operator.
        name: identity in the Lease; None: `identity()`.
    """

    def __init__(
        self,
        settings: Settings,
        kube: Kube,
        hmac_key: bytes,
        reconcile: Reconcile,
        metrics: Metrics,
        *,
        name: str | None = None,
    ) -> None:
        self._settings = settings
        self._kube = kube
        self._hmac_key = hmac_key
        self._reconcile = reconcile
        self._metrics = metrics
        release = settings.release
        self._lease = Lease(
            kube, release.namespace, f"{release.name}-operator", name or identity(), address=console_address(settings)
        )
        self._console: Console | None = None
        if settings.console.enabled:
            self._console = Console(settings, kube, metrics, lambda: self._lease.holder_address)
        self._lease_pool = Pool(1)
        metrics.leading(lambda: self._lease.is_held)
        self._pool = Pool(settings.limits.reconciles + 4)
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._index, self._plugins = ConnectorIndex(settings.worker), PluginOfferIndex()
        self._loop_heartbeat = Heartbeat("event loop", _STILL)
        self._kopf_heartbeat = Heartbeat("event loop of kopf", _STILL)
        self._watch_health: WatchHealth | None = None
        self._optional_kinds: OptionalKinds | None = None
        self._status: StatusTopic | None = None
        self._context: Context | None = None
        self._failure: BaseException | None = None
        self._plugins_listing: asyncio.Task[None] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._job_slots = JobSlots(settings.limits.job_pods, lambda key: self.queue.add_urgent(key))
        self.queue = WorkQueue(
            self._work, slots=settings.limits.reconciles, on_done=lambda o, s: metrics.reconciled(o, s)
        )
        metrics.queue(self.queue.figures)
        self._statuses = {
            kind: WorkQueue(partial(self._write_status, kind), slots=1) for kind in (POLICY, PLUGIN_VERSION)
        }
        self._topics_turns = Throttle(_TOPICS_SECONDS)
        self._progress_turns = Throttle(_PROGRESS_SECONDS, _GATHERED)
        self._verifier = Verifier(settings, self._pool, lambda key: self._statuses[PLUGIN_VERSION].add(key))

    def stop(self) -> None:
        """Stop gracefully. Call it in the loop's thread."""
        self._stopping.set()

    async def run(self) -> None:
        """Run until `stop`.

        Raises:
            LeaseLost: another operator has taken over.
            RuntimeError: kopf has stopped.
        """
        servers = [
            Server(
                self._settings.probes.port,
                {"/healthz": probe_page(self._alive(), fatal=True), "/readyz": probe_page(self._ready())},
            ),
            Server(self._settings.metrics.port, {"/metrics": metrics_page(self._metrics.page)}),
        ]
        # Also on standby: the Service selects every operator that is ready.
        webhook: Webhook | None = None
        if self._settings.webhook.enabled:
            webhook = Webhook(self._settings, self._kube, self._metrics.reviewed)
            webhook.start()
        if self._console is not None:
            await self._console.stand_by()
        watching: KopfWatch | None = None
        tasks = [self._task("heart", self._live())]
        try:
            if await self._take_lease():
                self._settings = self._settings.in_installation(self._lease.uid)
                tasks.append(self._task("lease", self._keep_lease()))
                if (kinds := await self._kinds()) is not None and await self._count_job_pods():
                    watching = self._begin(kinds)
                    tasks.append(self._task("resync", self._after_first_list()))
                    tasks.append(self._task("rollout", self._load_rollout()))
                    assert self._optional_kinds is not None
                    follow = self._optional_kinds.follow
                    tasks += (self._task(kind.plural, follow(kind)) for kind in (POLICY, PLUGIN_VERSION))
                    await self._stopping.wait()
        finally:
            await self._end(watching, [*tasks, *([self._plugins_listing] if self._plugins_listing else [])])
            for server in (*servers, *([webhook] if webhook is not None else ())):
                server.close()
            if self._console is not None:
                await self._console.close()
        if self._failure is not None:
            raise self._failure

    # Start

    async def _take_lease(self) -> bool:
        logged: str | None = None
        self._hold()
        while not self._stopping.is_set():
            try:
                if await self._lease_pool(self._lease.attempt):
                    self._resume()
                    return True
                if self._lease.holder is not None and self._lease.holder != logged:
                    logged = self._lease.holder
                    log.info("Waiting for the operator %s, which holds the Lease", logged)
            except OperatorError as e:
                log.warning("%s", e)
            await self._pause(_RETRY)
        return False

    async def _kinds(self) -> list[Kind] | None:
        """Wait for the CRDs, and return the kinds to watch from the start; None: the operator was stopped before."""
        is_logged = False
        while not self._stopping.is_set():
            try:
                if await self._pool(self._kube.serves, CONNECTOR):
                    return [CONNECTOR, POD, *([SECRET] if self._settings.secrets.watch else [])]
                if not is_logged:
                    is_logged = True
                    log.warning("The API server does not serve %s; install the CRDs of this release", CONNECTOR.plural)
            except OperatorError as e:
                log.warning("%s", e)
            await self._pause(_RETRY)
        return None

    async def _count_job_pods(self) -> bool:
        """Count the job pods that an earlier operator created; False: the operator was stopped before that was done."""
        while not self._stopping.is_set():
            try:
                pods = await self._pool(living_job_pods, self._kube, self._settings, time.time())
            except OperatorError as e:
                log.warning("%s", e)
                await self._pause(_RETRY)
            else:
                self._job_slots.adopt(pods)
                for key in set(pods.values()):  # the Connector and then the pod may be deleted before the watch starts
                    self.queue.add(key)
                return True
        return False

    def _begin(self, kinds: list[Kind]) -> KopfWatch:
        self._watch_health = WatchHealth(
            kinds,
            self._settings.watch_namespaces,
            on_gap=lambda: self._from_thread(self._all_soon),
            on_listed=lambda: self._from_thread(self._listed),
        )
        for queue in (self.queue, *self._statuses.values()):  # these statuses name Connectors, too
            queue.block(_FIRST_LIST)
        self.queue.block(_STATUS)
        self._loop.call_later(_KAFKA_FIRST, self.queue.unblock, _STATUS)
        console = self._console
        self._status = StatusTopic(
            self._settings,
            lambda name: self._from_thread(self._records_changed, name),
            on_topics=lambda name: self._from_thread(self._topics_changed, name),
            on_progress=lambda name: self._from_thread(self._progressed, name),
            on_turn=lambda: self._from_thread(self._kafka_turned),
            on_report=console.source.history_of_tasks.put_record if console is not None else lambda value: None,
            permit=self._lease.check,
        )
        if console is not None:
            console.source.cluster_id = lambda: self._status.cluster_id if self._status is not None else None
        kube = self._kube.within(self._lease.check)
        limiter = RolloutLimiter(self._settings.rollout, time.time, self.queue.add)
        self._metrics.rollout(limiter.figures)
        self._context = Context(
            kube=kube,
            status=self._status,
            connectors=self._index,
            plugins=self._plugins,
            settings=self._settings,
            hmac_key=self._hmac_key,
            run=self._pool,
            metrics=self._metrics,
            job_slots=self._job_slots,
            rollout=limiter,
            release=release_hash(self._settings),
            wake=self.queue.add_urgent,
            clock=time.time,
        )
        for queue in (self.queue, *self._statuses.values()):
            queue.start()
        events = EventKeys(
            self._index,
            self.queue.add,
            self.queue.add_urgent,
            lambda kind, key: self._statuses[kind].add(key, _STATUS_DELAY),
            self._plugins,
            observe=console.source.documents.seen if console is not None else lambda kind, event: None,
        )
        watching = KopfWatch(
            self._kube.server,
            self._settings,
            events,
            deliver=self._from_thread,
            kinds=kinds,
            health=self._watch_health,
            beat=self._kopf_heartbeat.beat,
        )
        watching.start(lambda: self._from_thread(self._watching_ended, watching))

        def watch(kind: Kind) -> KopfWatch:
            health = WatchHealth(
                [kind],
                self._settings.watch_namespaces,
                on_gap=lambda: self._from_thread(self._optional_gap, kind),
                on_listed=lambda: self._from_thread(self._optional_listed, kind),
            )
            return KopfWatch(
                self._kube.server,
                self._settings,
                events,
                deliver=self._from_thread,
                kinds=[kind],
                health=health,
                is_optional=True,
            )

        self._optional_kinds = OptionalKinds(lambda kind: self._pool(self._kube.serves, kind), watch)
        return watching

    # Running

    async def _work(self, key: Key) -> float | None:
        assert self._context is not None
        again = await self._reconcile(key, self._context)
        if again is None and key not in self._index:
            self.queue.forget(key)
            self._topics_turns.forget(key)
            self._progress_turns.forget(key)
            self._show_gone(CONNECTOR, key)
        return again

    def _show_gone(self, kind: Kind, key: Key) -> None:
        """Remove a deleted resource from the console: the event of its deletion may have been missed."""
        if self._console is not None:
            self._console.source.documents.gone(kind, key)

    def _optional_gap(self, kind: Kind) -> None:
        """Reconcile all after resources of an optional kind were listed again: earlier deletions may have been missed."""
        self._all_soon()
        self._optional_listed(kind)

    def _optional_listed(self, kind: Kind) -> None:
        if self._console is not None:
            for key in self._console.source.documents.keys(kind):  # they may be gone
                self._statuses[kind].add(key)
        if kind is PLUGIN_VERSION and (self._plugins_listing is None or self._plugins_listing.done()):
            self._plugins_listing = self._task("list of PluginVersions", self._list_plugins())

    async def _list_plugins(self) -> None:
        """List the existing PluginVersions. If the request fails, the next list makes up for it."""
        known, found = self._plugins.known(), list[dict[str, Any]]()
        for key in self._verifier.undecided():  # they may be deleted, and delay others
            self._statuses[PLUGIN_VERSION].add(key)
        try:
            for namespace in self._settings.watch_namespaces or (None,):
                found += await self._pool(self._kube.list, PLUGIN_VERSION, namespace)
        except OperatorError as e:
            log.debug("%s", e)
            return
        self._plugins.listed(found, known)
        for key in self._index.all():
            if self._index.plugin_versions_of(key):
                self.queue.add(key)

    async def _write_status(self, kind: Kind, key: Key) -> float | None:
        """Write the status of a TopicCreationPolicy or PluginVersion, if it differs, with an Event for each new cause."""
        kube, now = self._kube.within(self._lease.check), time.time()
        try:
            document = await self._pool(kube.get, kind, key.namespace, key.name)
        except NoSuchKind:  # a Connector may name a policy before the CRD is installed
            self._show_gone(kind, key)
            return None
        if document is None:
            self._verifier.forget(key)
            self._show_gone(kind, key)
            return None
        is_policy = kind is POLICY
        users = self._index.bound_by(*key, selector_of(document)) if is_policy else self._index.running(*key)
        found = await self._verifier.verify(kube, key, document, now) if kind is PLUGIN_VERSION else None
        names = [k.name for k in users]
        if found is None:
            status = resource_status(kind, document, names, now)
        else:
            finding = found.finding.fields() if found.finding is not None else None
            status = resource_status(kind, document, names, now, found.verdict, found.verified_by, finding)
        if status is not None:
            written = await self._pool(
                kube.apply_status,
                kind,
                key.namespace,
                key.name,
                status,
                uid=document["metadata"]["uid"],
                manager=STATUS_MANAGER,
                resource_version=document["metadata"]["resourceVersion"],
            )
            cause = new_cause(status, document.get("status") or {})
            if written is not None and cause is not None:
                reason, message = cause["reason"], cause["message"]
                type_ = event_type(reason)
                await self._pool(kube.event, document, type_=type_, reason=reason, message=message, action="Reconcile")
        if found is None:
            return None
        await self._verifier.finish(kube, key, document, found)
        return found.requeue_after

    def _hold(self) -> None:
        """Stop all work: another operator may have the Lease."""
        for queue in (self.queue, *self._statuses.values()):
            queue.block(_LEASE)
            queue.interrupt()

    def _resume(self) -> None:
        for queue in (self.queue, *self._statuses.values()):
            queue.unblock(_LEASE)

    async def _live(self) -> None:
        while True:
            self._loop_heartbeat.beat()
            # Also while a renewal awaits its response: another operator that takes the Lease now may already act.
            if not self._lease.is_held:
                self._hold()
            await asyncio.sleep(1.0)

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(_RENEW if self._lease.is_held else _RETRY)
            try:
                await self._lease_pool(self._lease.attempt)
            except LeaseLost as e:
                self._fail(e)
                return
            except OperatorError as e:
                log.warning("Cannot renew the Lease: %s", e)
            if self._lease.is_held:
                self._resume()

    async def _after_first_list(self) -> None:
        assert self._status is not None
        await resync(self.queue.add, self._index, self._status, self._settings)

    async def _load_rollout(self) -> None:
        """Read from the statuses which Connectors are being restarted for the release; until then, no other is restarted."""
        assert self._context is not None
        while True:
            try:
                taken = await self._pool(progress_of_all, self._kube, self._settings, time.time())
                break
            except OperatorError as e:
                log.warning("Cannot read the progress of the release's rollout yet: %s", e)
                await self._pause(_RETRY)
        self._context.rollout.load(taken)

    def _listed(self) -> None:
        log.info("Watching; there are %d connectors", len(self._index.all()))
        for queue in (self.queue, *self._statuses.values()):
            queue.unblock(_FIRST_LIST)
        self._find_orphans()
        if self._console is not None and self._serving is None:
            self._serving = self._task("console", self._console.serve())

    def _kafka_turned(self) -> None:
        if self._status is None:
            return
        self._metrics.kafka(up=self._status.trouble is None and self._status.caught_up)
        self._metrics.compacted(is_so=self._status.policy_fault is None)
        if self._status.caught_up:
            self.queue.unblock(_STATUS)
            self._find_orphans()
        self._all_soon()

    def _records_changed(self, connect_name: str) -> None:
        for key in self._index.named(connect_name):
            self.queue.add_urgent(key)

    def _topics_changed(self, connect_name: str) -> None:
        """Delay the reconciliation: a source that writes to a new topic every second must not cause a write each time."""
        for key in self._index.named(connect_name):
            self.queue.add(key, self._topics_turns.delay(key, time.monotonic()))

    def _progressed(self, connect_name: str) -> None:
        """Delay the reconciliation, so that reports that tasks write once a minute cause one status write per Connector."""
        for key in self._index.named(connect_name):
            self.queue.add(key, self._progress_turns.delay(key, time.monotonic()))

    def _find_orphans(self) -> None:
        if self._status is None or not self._status.caught_up:
            return
        if self._watch_health is not None and self._watch_health.check_ready() is None:
            for key in orphans(self._status, self._index, self._settings):
                self.queue.add(key)

    def _all_soon(self) -> None:
        keys = self._index.all()
        for key, delay in spread(keys, 0.0 if len(keys) <= _MANY else _SOON):
            self.queue.add(key, delay)

    def _watching_ended(self, watching: KopfWatch) -> None:
        if not self._stopping.is_set():
            self._fail(watching.error or RuntimeError("kopf has stopped; its errors are in the log"))

    def _task(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work, name=name)
        task.add_done_callback(self._task_ended)
        return task

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        """Stop the operator after an unexpected exception: a restart is better than running without this part."""
        if not task.cancelled() and (error := task.exception()) is not None:
            log.critical("The operator's task %s has failed: %s", task.get_name(), error, exc_info=error)
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._stopping.set()

    def _from_thread(self, call: Callable[..., Any], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: the operator has stopped
            self._loop.call_soon_threadsafe(call, *args)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    # Stop

    async def _end(self, watching: KopfWatch | None, tasks: list[asyncio.Task[None]]) -> None:
        if watching is not None:
            ending = self._loop.run_in_executor(None, watching.stop)
            optional = self._optional_kinds
            stopped = self._loop.run_in_executor(None, optional.stop) if optional is not None else None
            grace = _STOP_SECONDS if self._lease.is_held else 0.0
            await asyncio.gather(*(queue.stop(grace) for queue in (self.queue, *self._statuses.values())))
            await ending
            if stopped is not None:
                await stopped
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        if self._status is not None:
            await self._loop.run_in_executor(None, self._status.close, 2.0)
        try:
            # A request without a response may still be carried out.
            if not await self._pool.is_idle(within=_REQUESTS_SECONDS):
                log.warning(
                    "Requests are still running: the Lease is not released, and the next operator waits until it expires"
                )
            else:
                await self._lease_pool(self._lease.release)
        except OperatorError as e:
            log.warning("Cannot release the Lease; the next operator waits until it expires: %s", e)
        self._pool.close()
        self._lease_pool.close()

    # Probes

    def _alive(self) -> Mapping[str, Callable[[], str | None]]:
        return {
            "loop": self._loop_heartbeat.check,
            "kopf": self._kopf_heartbeat.check,
            "queue": self._queue_stuck,
            "watches": lambda: self._watch_health.check_alive() if self._watch_health is not None else None,
            "statusTopic": self._status_stuck,
        }

    def _ready(self) -> Mapping[str, Callable[[], str | None]]:
        def begun() -> str | None:
            if self._watch_health is not None:
                return self._watch_health.check_ready()
            if self._lease.is_standby:  # a standby is ready to take over
                return None
            if not self._lease.is_held:
                holder = self._lease.holder
                return "waiting for the Lease" + (f"; its holder, {holder}, has not answered yet" if holder else "")
            return "waiting for the CRDs"

        return {"watches": begun}

    def _queue_stuck(self) -> str | None:
        age = self.queue.figures().oldest_running
        return f"a reconciliation has been running for {age:.0f} s" if age > 2 * self.queue.limit else None

    def _status_stuck(self) -> str | None:
        age = self._status.turn_age if self._status is not None else 0.0
        if age <= _KAFKA_STILL:
            return None
        return f"the thread that reads the status topic has {'ended' if math.isinf(age) else f'been silent for {age:.0f} s'}"
