"""Pass connections to the console on to the operator that leads, from one on standby, which watches nothing.

A Service selects all operators, and needs no right to select one of them.
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
"""Connections at a time: more than the leader accepts, so that it chooses which of them end."""
_PIECE: Final = 16 << 10
_NOBODY: Final = b"No operator leads this release at the moment. This page tries again in 5 seconds.\n"
_ANSWER: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\nRefresh: 5\r\n"
    b"Cache-Control: no-store\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(_NOBODY), _NOBODY)
)


def address_text(ip: str, port: int) -> str:
    """Return the address of a console, as in the Lease: `10.0.0.1:8090`, `[fd00::1]:8090`."""
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def host_and_port(address: str) -> tuple[str, int] | None:
    """Return the parts of such an address; None: it is none."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    return (host, int(port)) if host and port.isascii() and port.isdecimal() and 0 < int(port) < 65536 else None


class Relay:
    """Passes on the bytes of connections, until closed.

    Args:
        listener: socket whose connections it accepts. It stays open when the relay is closed.
        leader: returns the address of the operator that leads; None: it is not known.
    """

    def __init__(self, listener: socket.socket, leader: Callable[[], str | None]) -> None:
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._leader = leader
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.WriteTransport] = {}
        self._is_closed = False

    async def start(self) -> None:
        """Accept connections."""
        self._server = await asyncio.start_server(
            self._connected, sock=self._listener.dup(), limit=_PIECE, start_serving=False
        )
        limit_send_buffers(self._server)
        await self._server.start_serving()

    async def close(self) -> None:
        """Accept no further connections, and close all that were accepted."""
        self._is_closed = True  # connections that were accepted just now are reported while it stops listening
        if self._server is not None:
            await stop_listening(self._server)
        transports = [*self._connections.values()]
        for task in [*self._connections]:
            task.cancel()
        if self._connections:
            await asyncio.wait([*self._connections])
        await abort(transports)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection in a task that `close` knows from the start, and close it even if the task never ran."""
        if self._is_closed or len(self._connections) >= _MOST:
            writer.close()
            return
        writer.transport.set_write_buffer_limits(0)  # `drain` waits until all is sent
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
                raise OSError("its address is not known")
            async with asyncio.timeout(_CONNECT_SECONDS):
                inner_reader, inner_writer = await asyncio.open_connection(*target, limit=_PIECE)
        except (OSError, TimeoutError) as e:
            log.debug("The console of the operator that leads is not reached: %s", e)
            async with asyncio.timeout(_CONNECT_SECONDS):  # a client that is reset while it writes gets no answer
                await reader.read(_PIECE)
            await _send(writer, _ANSWER)
            return
        try:
            async with asyncio.TaskGroup() as both:
                asking = both.create_task(_copy(reader, inner_writer))
                await _copy(inner_reader, writer)
                asking.cancel()  # the leader has ended: a client that stays silent would hold its place forever
        except* OSError:
            pass
        finally:
            inner_writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the sender closes its side; then close that side of the other connection."""
    while piece := await reader.read(_PIECE):
        await _send(writer, piece)
    writer.write_eof()


async def _send(writer: asyncio.StreamWriter, piece: bytes) -> None:
    """Send a piece.

    Raises:
        TimeoutError: the receiver does not read it in time.
    """
    writer.write(piece)
    async with asyncio.timeout(_READ_SECONDS):
        await writer.drain()
