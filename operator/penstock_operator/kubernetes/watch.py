"""Watches the API server by kopf, and turns events into keys of the work queue. The only module that knows `kopf`.

kopf runs in a thread and an event loop of its own. Its handlers keep no state, so that it adds no finalizer and no
annotation; its session refuses every request but GET.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import kopf

from penstock_operator.connector.render.names import CONNECTOR_LABEL, MANAGED_BY, OPERATOR_LABEL
from penstock_operator.kubernetes.api_server import ApiServer
from penstock_operator.kubernetes.kinds import CONNECTOR, PLUGIN_VERSION, POD, POLICY, SECRET, Kind
from penstock_operator.kubernetes.optional_kinds import OPTIONAL_THREAD
from penstock_operator.kubernetes.watch_health import WatchHealth
from penstock_operator.kubernetes.watch_session import open_session
from penstock_operator.queue.index import ConnectorIndex
from penstock_operator.queue.key import Key
from penstock_operator.settings import Settings

__all__ = ["EventKeys", "KopfWatch"]

log = logging.getLogger(__name__)

_MANAGED_BY: Final = "=".join(MANAGED_BY)
_NO_HELM: Final = "type!=helm.sh/release.v1"
_PAGE: Final = 500
_STOP_SECONDS: Final = 5.0
_AFTER_CLEANUP: Final = 2.0

Event = Mapping[str, Any]
Add = Callable[[Key], None]


class _EndlessBackoff:
    """Pauses between tries of a request, without an end: by default kopf would end the operator after a minute."""

    def __iter__(self) -> Any:
        yield from (1, 1, 2, 3, 5, 8, 13, 21)
        while True:
            yield 30


class EventKeys:
    """Adds the keys of the Connectors that an event is about. Used in one thread.

    Args:
        index: kept up to date here.
        add: takes a key.
        hurry: takes a key that goes first: the Connector itself or one of its pods has changed.
        shared: namespaces whose PluginVersions all namespaces may use.
        unused: takes a resource of a kind that this release does nothing with.
    """

    def __init__(
        self, index: ConnectorIndex, add: Add, hurry: Add, shared: Collection[str] = (),
        unused: Callable[[Kind, Key], None] = lambda kind, key: None,
    ) -> None:  # fmt: skip
        self._index = index
        self._add = add
        self._hurry = hurry
        self._shared = frozenset(shared)
        self._unused = unused
        self._versions: dict[tuple[str, str, str], str] = {}

    def connector(self, event: Event) -> None:
        """Add the key of a Connector, unless only its status changed."""
        body = event["object"]
        key = Key(body["metadata"]["namespace"], body["metadata"]["name"])
        if event["type"] == "DELETED":
            self._index.gone(key)
            self._hurry(key)
        elif self._index.seen(key, body):
            self._hurry(key)

    def pod(self, event: Event) -> None:
        """Add the key of the Connector of a pod."""
        metadata = event["object"]["metadata"]
        name = (metadata.get("labels") or {}).get(CONNECTOR_LABEL)
        if name:
            self._hurry(Key(metadata["namespace"], name))

    def policy(self, event: Event) -> None:
        """Add the Connectors that name a TopicCreationPolicy; all of its namespace where it has a selector."""
        self._seen_unused(POLICY, event)
        metadata, spec = event["object"]["metadata"], event["object"].get("spec") or {}
        if self._is_new("policy", event, str(metadata.get("generation", ""))):
            has_selector = spec.get("connectorSelector") is not None or event["type"] == "DELETED"
            namespace = metadata["namespace"]
            keys = (
                self._index.of_namespace(namespace)
                if has_selector
                else self._index.with_policy(namespace, metadata["name"])
            )
            self._add_all(keys)

    def plugin_version(self, event: Event) -> None:
        """Add the Connectors that may use a PluginVersion."""
        self._seen_unused(PLUGIN_VERSION, event)
        metadata = event["object"]["metadata"]
        if self._is_new("plugin", event, str(metadata.get("generation", ""))):
            is_shared = metadata["namespace"] in self._shared
            self._add_all(self._index.all() if is_shared else self._index.of_namespace(metadata["namespace"]))

    def secret(self, event: Event) -> None:
        """Add the Connectors that name a Secret. Nothing is kept of Secrets that none names."""
        metadata = event["object"]["metadata"]
        keys = self._index.with_secret(metadata["namespace"], metadata["name"])
        if keys and self._is_new("secret", event, str(metadata.get("resourceVersion", ""))):
            self._add_all(keys)

    def _seen_unused(self, kind: Kind, event: Event) -> None:
        metadata = event["object"]["metadata"]
        if event["type"] != "DELETED":
            self._unused(kind, Key(metadata["namespace"], metadata["name"]))

    def _is_new(self, what: str, event: Event, version: str) -> bool:
        """Whether this is another version than the last one; what is listed at the start is not new."""
        metadata = event["object"]["metadata"]
        identity = (what, metadata["namespace"], metadata["name"])
        if event["type"] == "DELETED":
            self._versions.pop(identity, None)
            return True
        before = self._versions.get(identity)
        self._versions[identity] = f"{metadata.get('uid')}/{version}"
        if before is None:
            return event["type"] is not None
        return before != self._versions[identity]

    def _add_all(self, keys: Collection[Key]) -> None:
        for key in keys:
            self._add(key)


class KopfWatch:
    """Runs kopf in a thread.

    Args:
        server: what is watched.
        settings: of the release.
        events: called for every event, in the thread of `deliver`.
        deliver: takes a call and an event over to that thread.
        kinds: what is watched; the API server serves them.
        health: of these watches; kept up to date here.
        beat: called every second from kopf's event loop.
        is_optional: the CRDs of the kinds may be deleted: then the end of the watch is no fault.
    """

    def __init__(
        self,
        server: ApiServer,
        settings: Settings,
        events: EventKeys,
        *,
        deliver: Callable[[Callable[[Event], None], Event], None],
        kinds: Collection[Kind],
        health: WatchHealth,
        beat: Callable[[], None] = lambda: None,
        is_optional: bool = False,
    ) -> None:
        self._server = server
        self._settings = settings
        self._events = events
        self._deliver = deliver
        self._kinds = kinds
        self._health = health
        self._beat = beat
        self._is_optional = is_optional
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_end: Callable[[], None] = lambda: None
        self.error: BaseException | None = None
        """Why it ended; None: it runs, or was stopped."""

    def start(self, on_end: Callable[[], None]) -> None:
        """Start it; `on_end` is called from kopf's thread when it ends for whatever reason, perhaps twice."""
        self._on_end = on_end

        def run() -> None:
            try:
                asyncio.run(self._operator())
            except BaseException as e:  # `error` holds the cause, whatever it was
                self.error = e
                if not self._is_optional:
                    log.critical("Watching has ended: %s", e, exc_info=e)
            finally:
                on_end()

        name = OPTIONAL_THREAD if self._is_optional else "kopf"
        self._thread = threading.Thread(target=run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def stop(self, seconds: float = _STOP_SECONDS) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(seconds)

    async def _operator(self) -> None:
        cleaned = asyncio.Event()
        namespaces = self._settings.watch_namespaces
        running = asyncio.create_task(
            kopf.operator(
                registry=self._registry(cleaned),
                settings=self._kopf_settings(),
                clusterwide=not namespaces,
                namespaces=namespaces,
                standalone=True,
                stop_flag=self._stop,
            )
        )
        companions = [asyncio.create_task(self._beat_forever()), asyncio.create_task(cleaned.wait())]
        try:
            await asyncio.wait({running, companions[1]}, return_when=asyncio.FIRST_COMPLETED)
            # After a failure kopf cleans up, and may then wait for minutes for a remaining watch.
            await asyncio.wait({running}, timeout=_AFTER_CLEANUP)
        finally:
            self._on_end()
            for task in companions:
                task.cancel()
        if running.done():
            running.result()
        else:
            running.cancel()
        if not self._stop.is_set():
            raise RuntimeError("kopf has ended by itself; its errors are in the log")

    async def _beat_forever(self) -> None:
        while True:
            self._beat()
            await asyncio.sleep(1.0)

    def _registry(self, cleaned: asyncio.Event) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()
        handlers: Mapping[Kind, Callable[[Event], None]] = {
            CONNECTOR: self._events.connector,
            POD: self._events.pod,
            POLICY: self._events.policy,
            PLUGIN_VERSION: self._events.plugin_version,
            SECRET: self._events.secret,
        }
        for kind in self._kinds:
            self._register(registry, kind, handlers[kind])

        @kopf.on.login(registry=registry, id="login")
        async def login(**_: object) -> kopf.AiohttpSession:
            return kopf.AiohttpSession(
                server=self._server.connection.server, aiohttp_session=open_session(self._server, self._health)
            )

        @kopf.on.cleanup(registry=registry, id="cleanup")
        async def cleanup(**_: object) -> None:
            cleaned.set()

        return registry

    def _register(self, registry: kopf.OperatorRegistry, kind: Kind, handler: Callable[[Event], None]) -> None:
        group, _, version = kind.api_version.rpartition("/")

        @kopf.on.event(group, version, kind.plural, registry=registry, id=kind.plural)
        async def seen(event: Event, **_: object) -> None:
            self._deliver(handler, {"type": event["type"], "object": event["object"]})

    def _kopf_settings(self) -> kopf.OperatorSettings:
        settings = kopf.OperatorSettings()
        settings.peering.standalone = True
        settings.scanning.disabled = True  # kopf watches neither namespaces nor CRDs, and needs no rights for them
        settings.watching.server_timeout = 600
        settings.watching.connect_timeout = 10
        settings.watching.chunk_size = _PAGE
        settings.watching.label_selectors["pods"] = f"{_MANAGED_BY},{OPERATOR_LABEL}={self._settings.release.label}"
        settings.watching.field_selectors["secrets"] = _NO_HELM
        settings.networking.request_timeout = 60
        settings.networking.connect_timeout = 10
        settings.networking.error_backoffs = _EndlessBackoff()
        settings.persistence.finalizer = "penstock.dev/never"  # no handler uses it
        settings.posting.enabled = False
        # By default kopf sends SIGKILL to the process if its loop still runs ten minutes after it was asked to stop.
        settings.process.ultimate_exiting_timeout = None
        settings.posting.reporting_component = "penstock-operator"
        return settings
