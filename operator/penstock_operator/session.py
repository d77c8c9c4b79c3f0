"""The HTTP session that kopf watches with: it can only read, says what it hears, and asks for no more than is needed.

Of Secrets and pods it asks for the metadata alone, so that no value of a Secret comes into the operator by a watch.
"""

import ssl
from typing import Any, Final

import aiohttp
from yarl import URL

from penstock_operator.api_server import ApiServer, Connection
from penstock_operator.errors import Refused
from penstock_operator.kinds import PLUGIN_VERSION, POD, SECRET, name_of_plural
from penstock_operator.streams import Streams

__all__ = ["open_session"]

_METADATA_OF: Final = frozenset(kind.plural for kind in (POD, SECRET, PLUGIN_VERSION))
_AS: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"


class _Content(aiohttp.StreamReader):
    """Tells of a connection that was closed here as of any other that is closed.

    A watch that begins while new credentials close its session meets a bare RuntimeError of aiohttp, at which kopf would
    end, and the operator with it.
    """

    __slots__ = ()

    async def read(self, n: int = -1) -> bytes:
        try:
            return await super().read(n)
        except RuntimeError as e:
            if self._protocol.connected:
                raise
            raise aiohttp.ClientConnectionError(str(e)) from e


class _Response(aiohttp.ClientResponse):
    """Mends two things that kopf does not expect: see `_Content`, and `items: null`, Go's empty list of metadata."""

    async def start(self, connection: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        started = await super().start(connection)
        if type(self.content) is aiohttp.StreamReader:
            self.content.__class__ = _Content
        return started

    async def json(self, **how: Any) -> Any:
        found = await super().json(**how)
        if isinstance(found, dict) and found.get("items", ()) is None:
            found["items"] = []
        return found


def open_session(server: ApiServer, streams: Streams) -> aiohttp.ClientSession:
    """A session for one event loop; its owner closes it."""
    connection = server.connection
    tracing = aiohttp.TraceConfig()

    async def begins(_: Any, __: Any, request: aiohttp.TraceRequestStartParams) -> None:
        path, is_watch = request.url.path, "watch" in request.url.query
        if request.method.upper() != "GET":
            raise Refused(f"{request.method} {path}", answer="whoever watches may only read")
        if (authorization := server.authorization()) is not None:
            request.headers["Authorization"] = authorization
        if path.rpartition("/")[2] in _METADATA_OF:
            request.headers["Accept"] = _AS.format("" if is_watch else "List")
        if is_watch:
            streams.watches(path)
        elif "continue" not in request.url.query:
            streams.lists(path)

    async def heard(_: Any, __: Any, chunk: aiohttp.TraceResponseChunkReceivedParams) -> None:
        streams.sign(chunk.url.path)

    async def answered(_: Any, __: Any, end: aiohttp.TraceRequestEndParams) -> None:
        streams.sign(end.url.path)
        server.count(_verb(end.url), _kind(end.url.path), end.response.status)

    async def failed(_: Any, __: Any, end: aiohttp.TraceRequestExceptionParams) -> None:
        server.count(_verb(end.url), _kind(end.url.path), 0)

    tracing.on_request_start.append(begins)
    tracing.on_response_chunk_received.append(heard)
    tracing.on_request_end.append(answered)
    tracing.on_request_exception.append(failed)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=_ssl(connection)),
        headers={"User-Agent": "penstock-operator/watch"},
        trace_configs=[tracing],
        response_class=_Response,
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
    """The kind that a path lists; of what kopf asks to find out which kinds there are: API."""
    plural = path.rpartition("/")[2]
    name = name_of_plural(plural)
    return name if name != plural else "API"
