"""Limits of connections: how many are open, and how long each may be silent before its first request."""

import asyncio
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

__all__ = ["Connections"]

_FIRST_REQUEST_SECONDS: Final = 15.0


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
        """Close each further connection: one that was accepted just before the server ends is reported after it."""
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


class _Closed(asyncio.Protocol):
    """Connection that is closed as soon as it is made."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
