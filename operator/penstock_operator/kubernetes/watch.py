"""Events of the API server as keys of the work queue. The only module that knows `kopf`, which only watches here.

kopf runs in a thread and an event loop of its own, with no handler that keeps a state: it adds no finalizer and no
annotation, and its session refuses every request but GET.
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
from penstock_operator.kubernetes.optional_kinds import LATE_THREAD
from penstock_operator.kubernetes.watch_health import Streams
from penstock_operator.kubernetes.watch_session import open_session
from penstock_operator.queue.index import ConnectorIndex
from penstock_operator.queue.key import Key
from penstock_operator.settings import Settings

__all__ = ["Events", "Watching"]

log = logging.getLogger(__name__)

_MANAGED_BY: Final = "=".join(MANAGED_BY)
_NO_HELM: Final = "type!=helm.sh/release.v1"
_PAGE: Final = 500
_STOP_SECONDS: Final = 5.0
_AFTER_CLEANUP: Final = 2.0

Event = Mapping[str, Any]
Add = Callable[[Key], None]


class _Patience:
    """Pauses between tries of a request, as long as it takes: kopf would end the operator after a minute."""

    def __iter__(self) -> Any:
        yield from (1, 1, 2, 3, 5, 8, 13, 21)
        while True:
            yield 30


class Events:
    """What follows from an event: keys. Used in one thread.

    Args:
        index: kept up to date here.
        add: takes a key.
        hurry: takes a key that somebody waits for: what has changed is its own, and it was seen before.
        shared: namespaces whose PluginVersions everybody may use.
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
        """A Connector: its own key, unless only its status changed."""
        body = event["object"]
        key = Key(body["metadata"]["namespace"], body["metadata"]["name"])
        if event["type"] == "DELETED":
            self._index.gone(key)
            self._hurry(key)
        elif self._index.seen(key, body):
            self._hurry(key)

    def pod(self, event: Event) -> None:
        """A pod of ours: its connector's key."""
        metadata = event["object"]["metadata"]
        name = (metadata.get("labels") or {}).get(CONNECTOR_LABEL)
        if name:
            self._hurry(Key(metadata["namespace"], name))

    def policy(self, event: Event) -> None:
        """A TopicCreationPolicy: those that name it; all of its namespace where it chooses by itself."""
        self._seen_unused(POLICY, event)
        metadata, spec = event["object"]["metadata"], event["object"].get("spec") or {}
        if self._is_new("policy", event, str(metadata.get("generation", ""))):
            chooses = spec.get("connectorSelector") is not None or event["type"] == "DELETED"
            namespace = metadata["namespace"]
            found = (
                self._index.of_namespace(namespace) if chooses else self._index.with_policy(namespace, metadata["name"])
            )
            self._add_all(found)

    def plugin_version(self, event: Event) -> None:
        """A PluginVersion: all that may use it."""
        self._seen_unused(PLUGIN_VERSION, event)
        metadata = event["object"]["metadata"]
        if self._is_new("plugin", event, str(metadata.get("generation", ""))):
            shared = metadata["namespace"] in self._shared
            self._add_all(self._index.all() if shared else self._index.of_namespace(metadata["namespace"]))

    def secret(self, event: Event) -> None:
        """A Secret: those that name it. Of others nothing is remembered."""
        metadata = event["object"]["metadata"]
        found = self._index.with_secret(metadata["namespace"], metadata["name"])
        if found and self._is_new("secret", event, str(metadata.get("resourceVersion", ""))):
            self._add_all(found)

    def _seen_unused(self, kind: Kind, event: Event) -> None:
        metadata = event["object"]["metadata"]
        if event["type"] != "DELETED":
            self._unused(kind, Key(metadata["namespace"], metadata["name"]))

    def _is_new(self, what: str, event: Event, version: str) -> bool:
        """Whether this is another version than the last one; what is listed at the start tells nothing new."""
        metadata = event["object"]["metadata"]
        mark = (what, metadata["namespace"], metadata["name"])
        if event["type"] == "DELETED":
            self._versions.pop(mark, None)
            return True
        before = self._versions.get(mark)
        self._versions[mark] = f"{metadata.get('uid')}/{version}"
        if before is None:
            return event["type"] is not None
        return before != self._versions[mark]

    def _add_all(self, keys: Collection[Key]) -> None:
        for key in keys:
            self._add(key)


class Watching:
    """kopf, watching.

    Args:
        server: that is watched.
        settings: of the release.
        events: told of every event, in `deliver`'s thread.
        deliver: takes a call and an event over to that thread.
        kinds: those that the API server knows.
        streams: told of every sign of life.
        beat: called every second from kopf's event loop.
        is_late: the kinds may go, and come again: that they end the watch is no fault.
    """

    def __init__(
        self,
        server: ApiServer,
        settings: Settings,
        events: Events,
        *,
        deliver: Callable[[Callable[[Event], None], Event], None],
        kinds: Collection[Kind],
        streams: Streams,
        beat: Callable[[], None] = lambda: None,
        is_late: bool = False,
    ) -> None:
        self._server = server
        self._settings = settings
        self._events = events
        self._deliver = deliver
        self._kinds = kinds
        self._streams = streams
        self._beat = beat
        self._is_late = is_late
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_end: Callable[[], None] = lambda: None
        self.error: BaseException | None = None
        """Why it ended, if it failed."""

    def start(self, on_end: Callable[[], None]) -> None:
        """Begin; `on_end` is called from kopf's thread when it ends, however it does, perhaps twice."""
        self._on_end = on_end

        def run() -> None:
            try:
                asyncio.run(self._operator())
            except BaseException as e:  # the thread's end is told, whatever it was
                self.error = e
                if not self._is_late:
                    log.critical("Watching has ended: %s", e, exc_info=e)
            finally:
                on_end()

        name = LATE_THREAD if self._is_late else "kopf"
        self._thread = threading.Thread(target=run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self, seconds: float = _STOP_SECONDS) -> None:
        """End it."""
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
        aside = [asyncio.create_task(self._live()), asyncio.create_task(cleaned.wait())]
        try:
            await asyncio.wait({running, aside[1]}, return_when=asyncio.FIRST_COMPLETED)
            # After a failure kopf cleans up, and then may wait for minutes for a watch that is left over.
            await asyncio.wait({running}, timeout=_AFTER_CLEANUP)
        finally:
            self._on_end()
            for task in aside:
                task.cancel()
        if running.done():
            running.result()
        else:
            running.cancel()
        if not self._stop.is_set():
            raise RuntimeError("kopf has ended by itself; its errors are in the log")

    async def _live(self) -> None:
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
                server=self._server.connection.server, aiohttp_session=open_session(self._server, self._streams)
            )

        @kopf.on.cleanup(registry=registry, id="cleanup")
        async def cleanup(**_: object) -> None:
            cleaned.set()

        return registry

    def _register(self, registry: kopf.OperatorRegistry, kind: Kind, told: Callable[[Event], None]) -> None:
        group, _, version = kind.api_version.rpartition("/")

        @kopf.on.event(group, version, kind.plural, registry=registry, id=kind.plural)
        async def seen(event: Event, **_: object) -> None:
            self._deliver(told, {"type": event["type"], "object": event["object"]})

    def _kopf_settings(self) -> kopf.OperatorSettings:
        settings = kopf.OperatorSettings()
        settings.peering.standalone = True
        settings.scanning.disabled = True  # neither namespaces nor CRDs are watched: no rights for that are needed
        settings.watching.server_timeout = 600
        settings.watching.connect_timeout = 10
        settings.watching.chunk_size = _PAGE
        settings.watching.label_selectors["pods"] = f"{_MANAGED_BY},{OPERATOR_LABEL}={self._settings.release.label}"
        settings.watching.field_selectors["secrets"] = _NO_HELM
        settings.networking.request_timeout = 60
        settings.networking.connect_timeout = 10
        settings.networking.error_backoffs = _Patience()
        settings.persistence.finalizer = "penstock.dev/never"  # nothing is registered that would use it
        settings.posting.enabled = False
        # Otherwise kopf sends SIGKILL to the process ten minutes after it was asked to stop, if its loop still runs then.
        settings.process.ultimate_exiting_timeout = None
        settings.posting.reporting_component = "penstock-operator"
        return settings
