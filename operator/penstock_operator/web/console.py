"""Console of an operator: a web server if it leads, or a relay to the leader if it is a standby."""

import asyncio
import importlib.metadata
import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import Final

from penstock.errors import ConnectError
from penstock_operator.kubernetes.client import Kube
from penstock_operator.metrics import Metrics
from penstock_operator.settings import Settings
from penstock_operator.thread_pool import Pool
from penstock_operator.web.access import KubernetesAccess
from penstock_operator.web.relay import Relay, address_text
from penstock_operator.web.source import OperatorSource
from penstock_operator.web.trials import Trials
from penstock_web.options import WebOptions
from penstock_web.server import WebServer

__all__ = ["POD_IP_VARIABLE", "Console", "console_address", "host_names"]

log = logging.getLogger(__name__)

POD_IP_VARIABLE: Final = "PENSTOCK_POD_IP"
_CLUSTER_DOMAIN: Final = "cluster.local"
_CONNECT_SECONDS, _READ_SECONDS = 2.0, 5.0
_CALLS: Final = 8
"""Maximum number of parallel requests to the API server. Requests of reconciliations do not wait for them."""
_CALL_SECONDS: Final = 15.0
_VERSION: Final = importlib.metadata.version("penstock")


def console_address(settings: Settings, environment: Mapping[str, str] = os.environ) -> str:
    """Return the address at which other operators reach this operator's console; empty: it has none."""
    ip = environment.get(POD_IP_VARIABLE)
    return address_text(ip, settings.console.port) if settings.console.enabled and ip else ""


def host_names(settings: Settings) -> frozenset[str]:
    """Return the host names of the console: those of its Service, and `console.hosts`.

    `<service>.<namespace>` is not one: if the namespace has the name of a top-level domain, anyone could register it.
    """
    service = settings.console.service
    full = f"{service}.{settings.release.namespace}.svc"
    own = {service, full, f"{full}.{_CLUSTER_DOMAIN}"} if service else set()
    return frozenset(own | {name.lower() for name in settings.console.hosts})


class Console:
    """Console of one operator. Created and used in one event loop. It never stops the operator.

    Attributes:
        source: source of its data, filled by the operator while it leads.

    Args:
        settings: settings of the release.
        kube: the API server.
        metrics: counts requests.
        leader: returns the address of the leader's console; None: it is unknown.
    """

    def __init__(self, settings: Settings, kube: Kube, metrics: Metrics, leader: Callable[[], str | None]) -> None:
        self._settings = settings
        self._metrics = metrics
        self._quick = kube.within_seconds(_CONNECT_SECONDS, _READ_SECONDS)
        self._run = Pool(_CALLS, seconds=_CALL_SECONDS)
        self.source = OperatorSource(settings, _VERSION, self._quick, self._run)
        self._leader = leader
        self._listener: socket.socket | None = None
        self._relay: Relay | None = None
        self._server: WebServer | None = None
        self._changing = asyncio.Lock()
        self._is_closed = False

    async def stand_by(self) -> None:
        """Relay connections to the leader until `serve` is called."""
        async with self._changing:
            port = self._settings.console.port
            try:
                self._listener = _listener(port)
            except OSError as e:
                log.error("Cannot serve the console on port %d: %s", port, e.strerror)
            else:
                self._relay = Relay(self._listener, self._leader)
                await self._relay.start()

    async def serve(self) -> None:
        """Serve the console, as the leader."""
        async with self._changing:
            if self._server is not None or self._is_closed:
                return
            if self._relay is not None:
                await self._relay.close()
                self._relay = None
            console = self._settings.console
            has_users = console.actions.enabled or console.require_user
            access = KubernetesAccess(console, self._quick.server, self._run) if has_users else None
            title = f"Penstock {self._settings.release.operator}"
            options = WebOptions(
                host=None,
                port=console.port,
                listener=self._listener,
                names=host_names(self._settings),
                title=title,
                transform=Trials(self.source),
                requires_user=console.require_user,
                answered=self._metrics.console_answered,
                streaming=self._metrics.console_streaming,
            )
            self._server = WebServer(self.source, options, access)
            try:
                await asyncio.to_thread(self._server.start)
            except ConnectError as e:
                log.error("%s", e)
            else:
                log.info("The console listens on port %d", self._server.port)

    async def close(self) -> None:
        """Stop serving."""
        async with self._changing:
            self._is_closed = True
            if self._relay is not None:
                await self._relay.close()
            if self._server is not None:
                await asyncio.to_thread(self._server.close)
            if self._listener is not None:
                self._listener.close()
        self._run.close()
        self._quick.close()


def _listener(port: int) -> socket.socket:
    """Return a socket that listens on all interfaces.

    Relay and web server share it, so that no connection is refused during the change from one to the other, which would end
    `kubectl port-forward`.

    Raises:
        OSError: the port is in use.
    """
    is_dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if is_dual else socket.AF_INET
    return socket.create_server(("", port), family=family, backlog=128, dualstack_ipv6=is_dual)
