"""Relay connections to the console from a standby, which watches nothing, to the leader.

So the Service can select all operators, and the operator needs no permission to change its selector.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from penstock_web.connections import abort, limit_send_buffers, reset, stop_listening

__all__ = ["Relay", "address_text", "host_and_port"]

log = logging.getLogger(__name__)

_CONNECT_SECONDS: Final = 3.0
_READ_SECONDS: Final = 30.0
_MOST: Final = 320
"""Maximum number of connections: more than the leader accepts, so that the leader decides which ones to close."""
_PIECE: Final = 16 << 10
_NOBODY: Final = b"No operator leads this release at the moment. This page retries in 5 seconds.\n"
_ANSWER: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\nRefresh: 5\r\n"
    b"Cache-Control: no-store\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(_NOBODY), _NOBODY)
)


def address_text(ip: str, port: int) -> str:
    """Return the address of a console, as in the Lease: `10.0.0.1:8090`, `[fd00::1]:8090`."""
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def host_and_port(address: str) -> tuple[str, int] | None:
    """Return host and port of such an address; None: it is invalid."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    return (host, int(port)) if host and port.isascii() and port.isdecimal() and 0 < int(port) < 65536 else None


class Relay:
    """Relay of TCP connections to the leader.

    Args:
        listener: socket whose connections it accepts, and which stays open when the relay is closed.
        leader: returns the address of the leader; None: it is unknown.
    """

    def __init__(self, listener: socket.socket, leader: Callable[[], str | None]) -> None:
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._leader = leader
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.WriteTransport] = {}
        self._is_closed = False

    async def start(self) -> None:
        """Start to accept connections."""
        self._server = await asyncio.start_server(
            self._connected, sock=self._listener.dup(), limit=_PIECE, start_serving=False
        )
        limit_send_buffers(self._server)
        await self._server.start_serving()

    async def close(self) -> None:
        """Stop accepting connections, and close all that were accepted."""
        self._is_closed = True  # connections that were just accepted may still be reported while it stops listening
        if self._server is not None:
            await stop_listening(self._server)
        transports = [*self._connections.values()]
        for task in [*self._connections]:
            task.cancel()
        if self._connections:
            await asyncio.wait([*self._connections])
        await abort(transports)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay a connection in a task that `close` can cancel, and close it even if the task never runs."""
        if self._is_closed or len(self._connections) >= _MOST:
            writer.close()
            return
        writer.transport.set_write_buffer_limits(0)  # so that `drain` waits until all bytes are sent
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections[task] = writer.transport

        def ended(task: asyncio.Task[None]) -> None:
            del self._connections[task]
            if writer.transport.get_write_buffer_size():  # `close` would wait for a client that does not read
                reset(writer.transport)
            else:
                writer.close()

        task.add_done_callback(ended)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            await self._pass_on(reader, writer)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = host_and_port(self._leader() or "")
        try:
            if target is None:
                raise OSError("its address is unknown")
            async with asyncio.timeout(_CONNECT_SECONDS):
                inner_reader, inner_writer = await asyncio.open_connection(*target, limit=_PIECE)
        except (OSError, TimeoutError) as e:
            log.debug("Cannot reach the console of the leader: %s", e)
            async with asyncio.timeout(_CONNECT_SECONDS):  # after a reset, the client would not read the response
                await reader.read(_PIECE)
            await _send(writer, _ANSWER)
            return
        try:
            async with asyncio.TaskGroup() as both:
                asking = both.create_task(_copy(reader, inner_writer))
                await _copy(inner_reader, writer)
                asking.cancel()  # the leader has closed the connection; a silent client would otherwise keep it open forever
        except* OSError:
            pass
        finally:
            inner_writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the sender closes its side, then close that side of the other connection, too."""
    while piece := await reader.read(_PIECE):
        await _send(writer, piece)
    writer.write_eof()


async def _send(writer: asyncio.StreamWriter, piece: bytes) -> None:
    """Send a piece, and wait until all of it is sent.

    Raises:
        TimeoutError: the receiver does not read it in time.
    """
    writer.write(piece)
    async with asyncio.timeout(_READ_SECONDS):
        await writer.drain()
