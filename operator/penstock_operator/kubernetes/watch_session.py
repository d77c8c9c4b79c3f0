"""Read-only HTTP session for kopf, which reports received data and requests no more than necessary.

It requests only the metadata of Secrets and pods, so that watches never transfer the values of Secrets to the operator.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, MutableSet
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, cast

import aiohttp
from yarl import URL

from penstock_operator.errors import Refused
from penstock_operator.kubernetes.api_server import METADATA, METADATA_LIST, ApiServer, Connection
from penstock_operator.kubernetes.kinds import POD, SECRET, name_of_plural
from penstock_operator.kubernetes.watch_health import WatchHealth

__all__ = ["open_session"]

_METADATA_OF: Final = frozenset(kind.plural for kind in (POD, SECRET))


class _Content:
    """Content of a response that reports each part, and raises an error of aiohttp if the connection is closed.

    aiohttp's traces report parts only if the whole body is read, which a watch never does. A watch that starts while new
    credentials close its session gets a bare RuntimeError, which would stop kopf and thus the operator.
    """

    def __init__(self, inner: aiohttp.StreamReader, heard: Callable[[], None]) -> None:
        self._inner = inner
        self._heard = heard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def read(self, n: int = -1) -> bytes:
        try:
            part = await self._inner.read(n)
        except RuntimeError as e:
            if self._inner._protocol.connected:  # noqa: SLF001
                raise
            raise aiohttp.ClientConnectionError(str(e)) from e
        self._heard()
        return part

    async def iter_chunked(self, n: int) -> AsyncIterator[bytes]:
        while part := await self.read(n):
            yield part


class _Response(aiohttp.ClientResponse):
    """Response that reports its parts. It replaces `items: null`, Go's empty list, with `[]`, which kopf expects."""

    health: WatchHealth
    transports: MutableSet[asyncio.Transport]

    async def start(self, connection: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        if connection.transport is not None:
            self.transports.add(connection.transport)
        started = await super().start(connection)
        self.content = cast("Any", _Content(self.content, lambda: self.health.heard(self.url.path)))
        return started

    async def json(self, **how: Any) -> Any:
        document = await super().json(**how)
        if isinstance(document, dict) and document.get("items", ()) is None:
            document["items"] = []
        return document


def open_session(
    server: ApiServer, health: WatchHealth, transports: MutableSet[asyncio.Transport]
) -> aiohttp.ClientSession:
    """Return a session for one event loop, which the caller must close.

    Args:
        server: the API server.
        health: notified of each part of a response.
        transports: receives the connections of all responses. Closing the session starts to shut down a watch's TLS
            connection, but does not wait for the API server, so the caller must abort them.
    """
    connection = server.connection
    tls = _ssl(connection)
    response = type("Response", (_Response,), {"health": health, "transports": transports})
    tracing = aiohttp.TraceConfig()

    async def begins(_: Any, __: Any, request: aiohttp.TraceRequestStartParams) -> None:
        path, is_watch = request.url.path, "watch" in request.url.query
        if request.method.upper() != "GET":
            raise Refused(f"{request.method} {path}", answer="watches may only read")
        if (authorization := server.authorization()) is not None:
            request.headers["Authorization"] = authorization
        if path.rpartition("/")[2] in _METADATA_OF:
            request.headers["Accept"] = METADATA if is_watch else METADATA_LIST
        if is_watch:
            health.watches(path)
        elif "continue" not in request.url.query:
            health.lists(path)

    async def answered(_: Any, __: Any, end: aiohttp.TraceRequestEndParams) -> None:
        health.heard(end.url.path)
        if end.response.status == HTTPStatus.FORBIDDEN:
            health.refuses(end.url.path)
        server.count(_verb(end.url), _kind(end.url.path), end.response.status)

    async def failed(_: Any, __: Any, end: aiohttp.TraceRequestExceptionParams) -> None:
        server.count(_verb(end.url), _kind(end.url.path), 0)
        if isinstance(end.exception, aiohttp.ClientSSLError) and connection.ca is not None:
            with suppress(OSError):  # the CA of the cluster may have changed; without this, kopf would fail forever
                tls.load_verify_locations(connection.ca)

    tracing.on_request_start.append(begins)
    tracing.on_request_end.append(answered)
    tracing.on_request_exception.append(failed)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=tls),
        headers={"User-Agent": "penstock-operator/watch"},
        trace_configs=[tracing],
        response_class=response,
        proxy=connection.proxy,
    )


def _ssl(connection: Connection) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=connection.ca)
    if connection.certificate:
        context.load_cert_chain(connection.certificate, connection.key)
    if not connection.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _verb(url: URL) -> str:
    if "watch" in url.query:
        return "watch"
    return "discover" if _kind(url.path) == "API" else "list"


def _kind(path: str) -> str:
    """Return the kind that a path lists; `API` for requests with which kopf discovers kinds."""
    plural = path.rpartition("/")[2]
    name = name_of_plural(plural)
    return name if name != plural else "API"
