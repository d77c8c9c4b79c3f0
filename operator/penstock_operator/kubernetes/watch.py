"""Watch the API server with kopf. The only module that imports `kopf`.

kopf runs in a separate thread and event loop. Its handlers keep no state, so that it adds no finalizer and no
annotation; its session refuses every request except GET.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final
from weakref import WeakSet

import kopf

from penstock_operator.kubernetes.api_server import ApiServer
from penstock_operator.kubernetes.event_keys import Event, EventKeys
from penstock_operator.kubernetes.kinds import CONNECTOR, PLUGIN_VERSION, POD, POLICY, SECRET, Kind
from penstock_operator.kubernetes.optional_kinds import OPTIONAL_THREAD
from penstock_operator.kubernetes.watch_health import WatchHealth
from penstock_operator.kubernetes.watch_session import open_session
from penstock_operator.names import MANAGED_BY, OPERATOR_LABEL
from penstock_operator.settings import Settings

__all__ = ["KopfWatch"]

log = logging.getLogger(__name__)

_MANAGED_BY: Final = "=".join(MANAGED_BY)
_NO_HELM: Final = "type!=helm.sh/release.v1"
_PAGE: Final = 500
_STOP_SECONDS: Final = 5.0
_AFTER_CLEANUP: Final = 2.0


class _EndlessBackoff:
    """Endless pauses between retries of a request; by default, kopf would stop the operator after a minute."""

    def __iter__(self) -> Any:
        yield from (1, 1, 2, 3, 5, 8, 13, 21)
        while True:
            yield 30


class KopfWatch:
    """Watches by kopf, in a separate thread.

    Args:
        server: the API server to watch.
        settings: settings of the release.
        events: called for every event, in the thread of `deliver`.
        deliver: runs a call with an event in that thread.
        kinds: the kinds to watch, which the API server serves.
        health: health of these watches, which is updated here.
        beat: called every second from kopf's event loop.
        is_optional: whether the CRDs of the kinds may be deleted, so that the end of the watch is not an error.
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
        self._transports: WeakSet[asyncio.Transport] = WeakSet()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_end: Callable[[], None] = lambda: None
        self.error: BaseException | None = None
        """Error that ended the watches; None: they are running, or were stopped."""

    def start(self, on_end: Callable[[], None]) -> None:
        """Start watching; `on_end` is called from kopf's thread when it ends for any reason, perhaps twice."""
        self._on_end = on_end

        def run() -> None:
            try:
                asyncio.run(self._operator())
            except BaseException as e:  # `error` holds any cause
                self.error = e
                if not self._is_optional:
                    log.critical("Watching has failed: %s", e, exc_info=e)
            finally:
                on_end()

        name = OPTIONAL_THREAD if self._is_optional else "kopf"
        self._thread = threading.Thread(target=run, name=name, daemon=True)
        self._thread.start()

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
            # After a failure, kopf cleans up and may then wait for a remaining watch for minutes.
            await asyncio.wait({running}, timeout=_AFTER_CLEANUP)
        finally:
            self._on_end()
            for task in companions:
                task.cancel()
        for transport in [*self._transports]:
            transport.abort()
        await asyncio.sleep(0)  # the event loop closes the sockets
        if running.done():
            running.result()
        else:
            running.cancel()
        if not self._stop.is_set():
            raise RuntimeError("kopf has stopped unexpectedly; its errors are in the log")

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
                server=self._server.connection.server,
                aiohttp_session=open_session(self._server, self._health, self._transports),
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
        settings.scanning.disabled = True  # kopf watches neither namespaces nor CRDs, and needs no permissions for them
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
        # By default, kopf sends SIGKILL to the process if its loop still runs ten minutes after the stop flag was set.
        settings.process.ultimate_exiting_timeout = None
        settings.posting.reporting_component = "penstock-operator"
        return settings
