"""Web server: the console, and Kafka Connect's REST API, in a separate thread with an event loop."""

import asyncio
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from penstock.errors import ConnectError
from penstock_web.access import Access
from penstock_web.authentication import users_only
from penstock_web.connect_rest.routes import routes as connect_routes
from penstock_web.connections import Connections, abort, limit_send_buffers, stop_listening
from penstock_web.console import routes
from penstock_web.options import WebOptions
from penstock_web.protection import HEADERS, middleware
from penstock_web.source import WebSource

__all__ = ["WebServer", "application"]

_BODY_BYTES: Final = 1 << 20
_CLOSE_SECONDS: Final = 2.0


def application(
    source: WebSource, options: WebOptions, access: Access | None, connections: Connections
) -> web.Application:
    """Return the application with all routes."""
    authentication = [users_only(access)] if options.requires_user and access is not None else []
    app = web.Application(middlewares=[middleware(options, connections), *authentication], client_max_size=_BODY_BYTES)
    app.on_response_prepare.append(_add_headers)
    app.on_response_prepare.append(partial(_count, options))
    app.add_routes(routes.routes(source, options, access))
    app.add_routes(connect_routes(source, access))
    return app


class WebServer:
    """Server of the console, until it is closed.

    Methods of the source that are coroutines, and those of `access`, run in this server's event loop.

    Args:
        source: resources to show.
        options: where to listen, and limits.
        access: users and their actions; None: the console is read-only.
    """

    def __init__(self, source: WebSource, options: WebOptions, access: Access | None = None) -> None:
        self.port: int = options.port
        self._source = source
        self._options = options
        self._access = access
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._started = threading.Event()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def start(self) -> None:
        """Start to listen, and set `port` to the actual port.

        Raises:
            ConnectError: the port is taken, or the address is not one of this machine.
        """
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            self._thread.join()
            place = f"{self._options.host or 'all interfaces'}, port {self._options.port}"
            raise ConnectError(f"cannot serve the console on {place}: {self._error.strerror}; choose another port")

    def close(self) -> None:
        """Close all connections and stop listening. May be called more than once."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except OSError as e:
            self._error = e
        finally:
            self._started.set()

    async def _serve(self) -> None:
        connections = Connections(self._options.connections)
        runner = web.AppRunner(
            application(self._source, self._options, self._access, connections),
            access_log=None,  # it would log query strings
            logger=_log(),
            handle_signals=False,
            keepalive_timeout=30.0,
            handler_cancellation=True,
            shutdown_timeout=_CLOSE_SECONDS,
        )
        await runner.setup()
        server = runner.server
        assert server is not None
        try:
            listener = await self._listen(lambda: connections.protocol(server))
            limit_send_buffers(listener)
            await listener.start_serving()
            self.port = listener.sockets[0].getsockname()[1]
            self._started.set()
            await self._closing.wait()
            connections.refuse()
            await stop_listening(listener)
        finally:
            transports = [connection.transport for connection in server.connections]
            await runner.cleanup()
            await abort(transports)

    async def _listen(self, protocol: Callable[[], asyncio.Protocol]) -> asyncio.Server:
        loop, options = asyncio.get_running_loop(), self._options
        if options.listener is not None:
            return await loop.create_server(protocol, sock=options.listener.dup(), start_serving=False)
        return await loop.create_server(protocol, options.host, options.port, start_serving=False)


def _log() -> logging.Logger:
    """Return the logger of aiohttp, which logs neither malformed requests nor clients that have disconnected."""
    log = logging.getLogger(f"{__name__}.requests")
    log.addFilter(_is_own_error)
    return log


def _is_own_error(record: logging.LogRecord) -> bool:
    """Return whether a record is about an error of this server. Messages of clients' errors quote requests, with tokens."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, (HttpProcessingError, web.RequestPayloadError, ConnectionError))


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


async def _count(options: WebOptions, _: web.Request, response: web.StreamResponse) -> None:
    options.answered(response.status)
