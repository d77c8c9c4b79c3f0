"""An operator on standby passes its users on to the one that leads."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from penstock_operator.web.relay import Relay, address_text, host_and_port
from penstock_web.options import WebOptions
from penstock_web.server import WebServer

from ...web.shop import Shop
from ...web.slow import Slow


@pytest.mark.parametrize(
    ("ip", "address", "parts"),
    [("10.0.0.1", "10.0.0.1:80", ("10.0.0.1", 80)), ("fd00::1", "[fd00::1]:80", ("fd00::1", 80))],
)
def test_an_address_is_read_as_it_was_written(ip: str, address: str, parts: tuple[str, int]) -> None:
    assert address_text(ip, 80) == address
    assert host_and_port(address) == parts


@pytest.mark.parametrize("text", ["", "10.0.0.1", ":80", "10.0.0.1:", "10.0.0.1:x", "10.0.0.1:0", "10.0.0.1:70000"])
def test_anything_else_is_no_address(text: str) -> None:
    assert host_and_port(text) is None


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Return each piece as it comes, as a stream of events does, and close after the sender did."""
    while piece := await reader.read(1 << 16):
        writer.write(piece)
        await writer.drain()
    writer.close()


def relayed(test: Callable[[Relay, asyncio.Server], Awaitable[None]], address: str | None = "") -> None:
    async def run() -> None:
        leader = await asyncio.start_server(echo, "127.0.0.1", 0)
        own = address_text(*leader.sockets[0].getsockname()[:2])
        with socket.create_server(("127.0.0.1", 0)) as listener:
            relay = Relay(listener, lambda: own if address == "" else address)
            await relay.start()
            try:
                async with asyncio.timeout(20):
                    await test(relay, leader)
            finally:
                await relay.close()
                leader.close()

    asyncio.run(run())


def test_bytes_go_both_ways_as_they_come() -> None:
    async def test(relay: Relay, _: asyncio.Server) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        for piece in (b"GET / HTTP/1.1\r\n\r\n", b"x" * 1_000_000):
            writer.write(piece)
            assert await reader.readexactly(len(piece)) == piece
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()

    relayed(test)


@pytest.mark.parametrize("address", [None, "127.0.0.1:1", "nonsense"])
def test_without_a_leader_the_user_reads_that_and_the_page_is_loaded_again(address: str | None) -> None:
    async def test(relay: Relay, _: asyncio.Server) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRefresh: 5\r\n" in answer
        assert answer.endswith(b"No operator leads this release at the moment. This page retries in 5 seconds.\n")
        writer.close()

    relayed(test, address)


def test_connections_end_when_this_operator_takes_over() -> None:
    async def test(relay: Relay, _: asyncio.Server) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(b"a")
        assert await reader.read(1) == b"a"
        await relay.close()
        assert await reader.read() == b""
        writer.close()

    relayed(test)


def test_a_silent_client_is_closed_when_the_leader_closes_the_connection() -> None:
    """Else clients that never say anything would hold all places of the relay."""

    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def run() -> None:
        leader = await asyncio.start_server(close, "127.0.0.1", 0)
        listener = socket.create_server(("127.0.0.1", 0))
        relay = Relay(listener, lambda: address_text(*leader.sockets[0].getsockname()[:2]))
        await relay.start()
        try:
            async with asyncio.timeout(20):
                reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
                assert await reader.read() == b""
                while relay._connections:
                    await asyncio.wait(relay._connections)
                writer.close()
        finally:
            await relay.close()
            listener.close()
            leader.close()

    asyncio.run(run())


def test_too_many_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock_operator.web.relay._MOST", 1)

    async def test(relay: Relay, _: asyncio.Server) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(b"a")
        assert await reader.read(1) == b"a"
        other, other_writer = await asyncio.open_connection("127.0.0.1", relay.port)
        assert await other.read() == b""
        other_writer.close()
        writer.close()

    relayed(test)


def test_a_client_that_does_not_read_in_time_is_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else such clients would hold all places of the relay."""
    monkeypatch.setattr("penstock_operator.web.relay._READ_SECONDS", 0.2)

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while True:
                writer.write(b"x" * 65_536)
                await writer.drain()
        writer.close()

    async def run() -> None:
        leader = await asyncio.start_server(pour, "127.0.0.1", 0)
        listener = socket.create_server(("127.0.0.1", 0))
        relay = Relay(listener, lambda: address_text(*leader.sockets[0].getsockname()[:2]))
        await relay.start()
        client = await asyncio.to_thread(Slow, relay.port)
        try:
            await asyncio.to_thread(client.until_reset)
            assert not relay._connections
        finally:
            client.close()
            await relay.close()
            listener.close()
            leader.close()

    asyncio.run(run())


def test_a_client_that_connects_while_an_operator_takes_over_is_served_by_its_console() -> None:
    """`kubectl port-forward` ends at the first connection that is refused."""

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            relay = Relay(listener, lambda: None)
            await relay.start()
            await relay.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
            server = WebServer(Shop(), WebOptions(listener=listener))
            await asyncio.to_thread(server.start)
            try:
                writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                async with asyncio.timeout(20):
                    assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
                writer.close()
            finally:
                await asyncio.to_thread(server.close)

    asyncio.run(run())
