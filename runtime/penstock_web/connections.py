"""Connections of a server: their number, the memory for clients that keep the server waiting, and their closing."""

import asyncio
import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

__all__ = ["Connections", "abort", "limit_send_buffers", "reset", "stop_listening"]

_READ_SECONDS: Final = 30.0
_MOST_BYTES: Final = 16 << 20
"""Maximum bytes of requests and unsent answers. Their copies in the process take at most the same amount again."""
_MOST_RECEIVED: Final = 2 << 20
"""Maximum bytes that are kept of one connection's requests; more are discarded, or not read."""
_SEND_BUFFER: Final = 64 << 10
"""Bytes of unread answers that the kernel keeps for each client. Without this limit, it keeps megabytes."""
_ITERATIONS: Final = 8  # of the event loop; a connection needs four: its task, its protocol, `close`, `connection_lost`


class Connections:
    """Connections of a server. Used only in its event loop.

    A server waits for a client until it has sent a request, and again until it has read the answer. If there are too many
    connections, or they hold too many bytes, the one whose client has kept the server waiting longest is reset. So clients
    that do not read, or send nothing, cannot fill memory or keep others out. Requests that are being answered, and streams
    whose clients read, are never reset for others.

    Args:
        most: maximum number of open connections.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[asyncio.BaseProtocol, _Connection] = {}
        self._waiting: dict[_Connection, None] = {}  # in the order in which the server began to wait
        self._turn = asyncio.Lock()

    def refuse(self) -> None:
        """Close each new connection from now on."""
        self._most = 0

    @contextmanager
    def answering(self, request: web.Request) -> Iterator[None]:
        """Count a request as being answered, from the moment its body is complete until the block ends."""
        connection = self._open.get(request.protocol)
        if connection is None:  # the client is gone
            yield
        else:
            with connection.answering(request):
                yield

    async def turn(self) -> None:
        """Wait until this request may start: one starts in each iteration of the event loop.

        The memory of reset connections is thus freed some iterations later; otherwise, only after a hundred further answers.
        """
        async with self._turn:
            await asyncio.sleep(0)

    def protocol(self, server: web.Server) -> asyncio.Protocol:
        """Return the protocol for a new connection."""
        if len(self._open) >= self._most:
            longest = next(iter(self._waiting), None)
            if longest is None or self._most == 0:
                return _Closed()
            longest.reset()
        handler = server()
        self._open[handler] = connection = _Connection(handler, self)
        return connection

    def wait_for(self, connection: "_Connection") -> None:
        """Record that the server waits for this client from now on."""
        self.wait_no_longer(connection)
        self._waiting[connection] = None

    def wait_no_longer(self, connection: "_Connection") -> None:
        """Record that the server no longer waits for this client."""
        self._waiting.pop(connection, None)

    def make_room(self, newest: "_Connection") -> None:
        """Reset connections of clients that keep the server waiting, until the others are within the limit of bytes.

        `newest` may exceed the limit if it is the only one that holds bytes, for example those of a large answer.
        """
        held = {connection: connection.held for connection in self._open.values()}
        total = sum(held.values())
        for connection in [c for c in self._waiting if held.get(c)]:
            if total <= _MOST_BYTES or total == newest.held:
                break
            total -= held[connection]
            connection.reset()

    def forget(self, handler: RequestHandler, connection: "_Connection") -> None:
        """Remove a connection that has ended."""
        self._open.pop(handler, None)
        self.wait_no_longer(connection)


class _Connection(asyncio.Protocol):
    """Connection that passes everything on to aiohttp's handler, and observes its client."""

    def __init__(self, handler: RequestHandler, connections: Connections) -> None:
        self._handler = handler
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._received = 0
        self._request: web.Request | None = None
        self._is_idle = True

    @property
    def held(self) -> int:
        """Return the number of bytes of its requests since it was idle, and of its unsent answers."""
        return 0 if self._is_quiet() else min(self._received, _MOST_RECEIVED) + self._unsent()

    @contextmanager
    def answering(self, request: web.Request) -> Iterator[None]:
        """Count a request as being answered, from the moment its body is complete."""

        def complete() -> None:
            if self._request is request:
                self._connections.wait_no_longer(self)

        self._request, self._is_idle = request, False
        request.content.on_eof(complete)
        try:
            yield
        finally:
            self._request, self._is_idle = None, True
            if self._transport is not None:
                self._connections.wait_for(self)

    def reset(self) -> None:
        """Close the connection immediately, and discard what the client has not read."""
        self._forget()
        transport, self._transport = self._transport, None
        if transport is not None:
            reset(transport)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(0)  # a writer waits, and `pause_writing` is called, until all is sent
        self._connections.wait_for(self)
        self._handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._is_quiet():
            self._is_idle = False
            self._received = 0
            self._connections.wait_for(self)
        self._received += len(data)
        self._connections.make_room(self)
        self._handler.data_received(data)

    def eof_received(self) -> None:
        self._handler.eof_received()

    def pause_writing(self) -> None:
        self._handler.pause_writing()
        self._await_progress(self._unsent())
        self._connections.wait_for(self)
        self._connections.make_room(self)

    def resume_writing(self) -> None:
        self._cancel_deadline()
        if self._request is not None:
            self._connections.wait_no_longer(self)
        self._handler.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self._transport = None
        self._handler.connection_lost(exc)

    def _await_progress(self, unsent: int) -> None:
        """Reset the connection if the client reads nothing for some time."""

        def check() -> None:
            if (left := self._unsent()) < unsent:
                self._await_progress(left)
            else:
                self.reset()

        self._deadline = asyncio.get_running_loop().call_later(_READ_SECONDS, check)

    def _is_quiet(self) -> bool:
        """Return whether no request has started, and all answers are sent."""
        return self._is_idle and not self._unsent()

    def _unsent(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def _forget(self) -> None:
        self._cancel_deadline()
        self._connections.forget(self._handler, self)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def limit_send_buffers(server: asyncio.Server) -> None:
    """Limit the bytes of answers that the kernel buffers for each client of a server that does not serve yet."""
    for listener in server.sockets:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)  # connections inherit it


def reset(transport: asyncio.WriteTransport) -> None:
    """Close a connection immediately, and discard what the client has not read.

    Without SO_LINGER, the kernel keeps this for minutes in case the client reads it.
    """
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def stop_listening(server: asyncio.Server) -> None:
    """Close a server as soon as all connections that it has accepted have a protocol.

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
    """Let the event loop create and close the connections whose tasks and callbacks are scheduled."""
    for _ in range(_ITERATIONS):
        await asyncio.sleep(0)


class _Closed(asyncio.Protocol):
    """Connection that is closed as soon as it is established."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
