"""Connections of a server: how many are open, how long each may be silent before its first request, and their end."""

import asyncio
from collections.abc import Iterable
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

__all__ = ["Connections", "abort", "stop_listening"]

_FIRST_REQUEST_SECONDS: Final = 15.0
_ITERATIONS: Final = 8  # of the event loop; a connection needs four: its task, its protocol, `close`, `connection_lost`


class Connections:
    """Connections of a server. Used only in its event loop.

    Args:
        most: connections that are open at a time; further ones are closed immediately.
        seconds: time until a connection's first request is complete.
    """

    def __init__(self, most: int, seconds: float = _FIRST_REQUEST_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._silent: set[object] = set()

    def refuse(self) -> None:
        """Close each further connection."""
        self._most = 0

    def has_asked(self, request: web.Request) -> None:
        """Record that a request arrived, so that its connection is kept."""
        self._silent.discard(request.protocol)

    def protocol(self, server: web.Server) -> asyncio.Protocol:
        """Return the protocol for a new connection."""
        if len(server.connections) >= self._most:
            return _Closed()
        protocol = server()
        self._silent.add(protocol)
        asyncio.get_running_loop().call_later(self._seconds, self._end, protocol)
        return protocol

    def _end(self, protocol: RequestHandler) -> None:
        if protocol in self._silent:
            self._silent.discard(protocol)
            protocol.force_close()


async def stop_listening(server: asyncio.Server) -> None:
    """Close a server when all connections that it has accepted have their protocol.

    asyncio sets up a connection in a task. If the server is closed before this task runs, Python 3.11 raises an
    AssertionError there and never closes the connection.
    """
    loop = asyncio.get_running_loop()
    for listener in server.sockets:
        loop.remove_reader(listener.fileno())
    await _iterate()
    server.close()


async def abort(transports: Iterable[asyncio.WriteTransport | None]) -> None:
    """Close connections without waiting for clients that do not read."""
    for transport in transports:
        if transport is not None:
            transport.abort()
    await _iterate()


async def _iterate() -> None:
    """Let the event loop make and close the connections whose tasks and callbacks are scheduled."""
    for _ in range(_ITERATIONS):
        await asyncio.sleep(0)


class _Closed(asyncio.Protocol):
    """Connection that is closed as soon as it is made."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
