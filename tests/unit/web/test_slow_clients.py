"""Clients that do not read, or do not end their requests, fill no memory and keep nobody out."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from threading import Event, Thread

import pytest

from penstock_web import connections
from penstock_web.options import WebOptions
from penstock_web.server import WebServer
from penstock_web.source import Document

from .process import LARGE, served_by_a_process
from .serving import served
from .shop import Shop, connector, many
from .showcase import showcase
from .slow import Slow, request
from .stream import Stream
from .test_console_pages import Browser

LARGEST = 64 << 20
"""Bytes that the web server may take for its clients. The operator has 256 MiB."""


@pytest.fixture
def shop() -> Shop:
    large = [connector(f"c-{n}", "Failed", namespace="large", trace="x" * 50_000) for n in range(20)]
    return Shop(*many(1000), *large)


@pytest.fixture
def server(shop: Shop) -> Iterator[WebServer]:
    with served(shop) as server:
        yield server


def opened(port: int, number: int, sent: bytes) -> list[Slow]:
    """Return connections that have sent this. The server may reset the first ones meanwhile."""
    found = []
    for _ in range(number):
        with suppress(ConnectionError):
            found.append(Slow(port, sent))
    return found


def close(clients: list[Slow]) -> None:
    for client in clients:
        client.close()


@pytest.mark.parametrize("path", ["/", LARGE, "/stream?seen=x"], ids=["page", "expand", "stream"])
def test_clients_that_read_nothing_take_little_memory(path: str) -> None:
    with served_by_a_process() as server:
        assert Browser(server.port)(path if path != "/stream?seen=x" else "/")[0] == 200
        before = server.peak()
        clients = opened(server.port, 200, request(path))
        clients[0].until_reset()
        assert Browser(server.port)("/plugins")[0] == 200
        assert server.peak() - before < LARGEST
        close(clients)


def test_requests_that_never_end_take_little_memory() -> None:
    size = (1 << 20) - 1
    path = "/connect/team-0/connector-plugins/FileStreamSink/config/validate"
    unfinished = request(path, f"Content-Length: {size + 1}", method="PUT") + b"x" * size
    with served_by_a_process() as server:
        before = server.peak()
        clients = opened(server.port, 100, unfinished)
        clients[0].until_reset()
        assert Browser(server.port)("/plugins")[0] == 200
        assert server.peak() - before < LARGEST
        close(clients)


def test_if_unread_answers_take_too_much_memory_the_oldest_are_given_up(
    monkeypatch: pytest.MonkeyPatch, server: WebServer
) -> None:
    monkeypatch.setattr(connections, "_MOST_BYTES", 2 << 20)
    clients = []
    for _ in range(12):
        clients.append(Slow(server.port, request("/", "Connection: close")))
        clients[-1].until_answered()
    clients[0].until_reset()
    lost = [client.is_reset() for client in clients]
    assert lost == sorted(lost, reverse=True)
    assert 0 < lost.count(False) < 10
    assert clients[-1].read().endswith(b"</html>")
    close(clients)


def test_one_answer_may_be_larger_than_the_limit(monkeypatch: pytest.MonkeyPatch, server: WebServer) -> None:
    monkeypatch.setattr(connections, "_MOST_BYTES", 1 << 10)
    client = Slow(server.port, request("/", "Connection: close"))
    assert client.read().endswith(b"</html>")
    client.close()


@pytest.mark.parametrize(
    ("path", "times"),
    [("/", 1), (LARGE, 1), ("/stream?seen=x", 1), ("/nowhere", 1000)],
    ids=["/", "expand", "stream", "404"],
)
def test_a_client_that_does_not_read_in_time_is_reset(
    monkeypatch: pytest.MonkeyPatch, server: WebServer, path: str, times: int
) -> None:
    monkeypatch.setattr(connections, "_READ_SECONDS", 0.5)
    client = Slow(server.port, request(path) * times)
    client.until_reset()
    client.close()


def test_a_hundred_and_twenty_eight_pages_that_connect_together_all_get_everything(server: WebServer) -> None:
    """They do when another operator leads."""

    async def stream() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 21)
        writer.write(request("/stream?seen=x"))
        async with asyncio.timeout(60):
            await reader.readuntil(b"data: ")
            found = await reader.readuntil(b"\n\n")
        writer.close()
        return found

    async def streams() -> list[bytes]:
        return await asyncio.gather(*(stream() for _ in range(128)))

    found = asyncio.run(streams())
    assert len(found[0]) > 300_000
    assert len(set(found)) == 1


def test_a_new_client_gets_the_place_of_the_one_that_keeps_the_server_waiting_longest(shop: Shop) -> None:
    with served(shop, WebOptions(connections=3)) as server:
        idle = Slow(server.port, request("/static/x/y"))
        idle.until_answered()
        unread = Slow(server.port, request("/"))
        unread.until_answered()
        silent = Slow(server.port)
        streams = []
        for client in (idle, unread, silent):
            streams.append(Stream(server.port, "/", "/stream", seen="x"))
            assert streams[-1].next()["parts"]
            client.until_reset()
        late = Slow(server.port)
        assert late.read() == b""  # pages that are open stay connected
        shop.remove("feed-0009")
        for stream in streams:
            assert "order" in stream.next()
            stream.close()
        close([idle, unread, silent, late])


def test_a_request_that_is_being_answered_keeps_its_place() -> None:
    begun, go = Event(), Event()

    async def transform(document: Document, record: str) -> str:
        begun.set()
        await asyncio.to_thread(go.wait, 60)
        return record

    answers = []
    with served(showcase(), WebOptions(connections=1, transform=transform)) as server:
        path = "/connectors/shop/orders/transform"
        asking = Thread(target=lambda: answers.append(Browser(server.port).post(path, {"record": "a record"})))
        asking.start()
        assert begun.wait(60)
        late = Slow(server.port)
        assert late.read() == b""
        late.close()
        go.set()
        asking.join()
    assert answers[0][0] == 200
    assert "a record" in answers[0][1]
