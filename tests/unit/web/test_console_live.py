"""Open pages get what has changed, only that, and not too often."""

import copy
import gc
import http.client
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock_web.console.live import Fragments, Snapshot
from penstock_web.options import WebOptions
from penstock_web.server import WebServer

from .resources import Rights
from .serving import served
from .shop import Shop, connector, many
from .stream import Stream, get


@pytest.fixture
def shop() -> Shop:
    return Shop(*many(1000))


@pytest.fixture
def server(shop: Shop) -> Iterator[WebServer]:
    with served(shop, WebOptions(streams=2)) as server:
        yield server


def failed(shop: Shop, name: str) -> dict[str, Any]:
    document = copy.deepcopy(next(dict(d) for d in shop.documents if d["metadata"]["name"] == name))
    document["status"] |= {"state": "Failed"}
    return document


def test_only_the_row_of_a_connector_that_changes_is_sent(shop: Shop, server: WebServer) -> None:
    stream = Stream(server.port, "/", "/stream")
    document = copy.deepcopy(shop.documents[7])
    document["status"]["taskSummary"] = "0/1"
    shop.put(document)
    changes = stream.next()
    assert set(changes) == {"parts"}
    (key,) = changes["parts"]
    assert key == "row:team-2/feed-0007"
    assert "0/1" in changes["parts"][key]
    stream.close()


def test_a_connector_that_fails_moves_to_the_top(shop: Shop, server: WebServer) -> None:
    stream = Stream(server.port, "/", "/stream")
    shop.put(failed(shop, "feed-0123"))
    changes = stream.next()
    assert set(changes["parts"]) == {"row:team-3/feed-0123", "summary"}
    assert changes["order"][0] == "row:team-3/feed-0123"
    assert len(changes["order"]) == 1000
    stream.close()


def test_a_deleted_connector_leaves_the_list(shop: Shop, server: WebServer) -> None:
    stream = Stream(server.port, "/", "/stream")
    shop.remove("feed-0009")
    assert "row:team-4/feed-0009" not in stream.next()["order"]
    stream.close()


def test_a_filtered_page_gets_only_what_its_filter_selects(shop: Shop, server: WebServer) -> None:
    stream = Stream(server.port, "/?namespace=team-1", "/stream?namespace=team-1")
    shop.put(failed(shop, "feed-0000"))  # team-0
    shop.put(failed(shop, "feed-0001"))
    assert set(stream.next()["parts"]) == {"row:team-1/feed-0001", "summary"}
    stream.close()


def test_a_change_that_a_page_does_not_show_sends_nothing(shop: Shop, server: WebServer) -> None:
    stream = Stream(server.port, "/connectors/team-0/feed-0000", "/connectors/team-0/feed-0000/stream")
    shop.put(failed(shop, "feed-0001"))
    document = failed(shop, "feed-0000")
    document["status"]["conditions"][0]["message"] = "disk full"
    shop.put(document)
    changes = stream.next()
    assert "disk full" in changes["parts"]["head"]
    assert set(changes["parts"]) == {"head", "conditions"}
    stream.close()


def test_a_stream_that_is_opened_again_continues_where_it_ended(shop: Shop, server: WebServer) -> None:
    stream = Stream(server.port, "/", "/stream")
    shop.put(failed(shop, "feed-0001"))
    stream.next()
    stream.close()
    shop.put(failed(shop, "feed-0002"))
    again = Stream(server.port, "/", "/stream", seen=stream.last_id)
    assert set(again.next()["parts"]) == {"row:team-2/feed-0002", "summary"}
    again.close()


def test_a_page_of_another_run_of_the_server_gets_everything(server: WebServer) -> None:
    stream = Stream(server.port, "/", "/stream", seen="0000.1")
    assert len(stream.next()["parts"]) == 1001
    stream.close()


def test_a_page_that_has_seen_an_impossible_revision_gets_everything(server: WebServer) -> None:
    first = Stream(server.port, "/", "/stream", seen="0000.1")
    first.next()
    boot = first.last_id.partition(".")[0]
    stream = Stream(server.port, "/", "/stream", seen=f"{boot}.{'9' * 5_000}")
    assert len(stream.next()["parts"]) == 1001
    first.close()
    stream.close()


def test_surplus_streams_are_refused_and_closed_ones_free_their_place(shop: Shop, server: WebServer) -> None:
    first, second = (Stream(server.port, "/", "/stream") for _ in range(2))
    third = Stream(server.port, "/", "/stream", seen="x")
    assert third.status == 503
    third.close()
    first.close()
    second.close()
    status = 503
    while status == 503:  # until the server has noticed
        shop.change()
        stream = Stream(server.port, "/", "/stream", seen="x")
        status = stream.status
        stream.close()
    assert status == 200


@pytest.fixture
def shared(shop: Shop) -> Iterator[WebServer]:
    """Server with three places for streams, and the users alice, bob and carol."""
    with served(shop, WebOptions(streams=3), Rights(shop, alice="shop", bob="shop", carol="shop")) as server:
        yield server


@pytest.mark.parametrize("clients", [("alice", "bob"), ("", "bob"), ("127.0.0.1", "127.0.0.2")])
def test_a_client_with_all_streams_gives_its_oldest_to_another_and_does_not_get_it_back(
    shop: Shop, shared: WebServer, clients: tuple[str, str]
) -> None:
    greedy, other = clients

    def opened(client: str) -> Stream:
        return Stream(shared.port, "/", "/stream", seen="x", client=client)

    streams = [opened(greedy) for _ in range(3)]
    for stream in streams:
        stream.next()
    late = opened(other)
    assert late.status == 200
    late.next()
    with pytest.raises(AssertionError, match="ended"):
        streams[0].next()
    for refused in (greedy, other):
        again = opened(refused)
        assert again.status == 503
        again.close()
    shop.put(failed(shop, "feed-0001"))
    for stream in (*streams[1:], late):
        assert "row:team-1/feed-0001" in stream.next()["parts"]
    for stream in (*streams, late):
        stream.close()


def test_requests_and_open_streams_are_counted(shop: Shop) -> None:
    statuses: list[int] = []
    streams: list[int] = []
    with served(shop, WebOptions(streams=1, answered=statuses.append, streaming=streams.append)) as server:
        get(server.port, "/nowhere")
        stream, refused = (Stream(server.port, "/", "/stream") for _ in range(2))
        assert statuses == [404, 200, 200, 200, 503]  # each stream begins with its page
        assert streams == [1]
        refused.close()
        stream.close()
    assert streams == [1, 0]


def test_a_server_closes_while_pages_are_open(server: WebServer) -> None:
    stream = Stream(server.port, "/", "/stream")
    server.close()
    with pytest.raises((AssertionError, http.client.HTTPException, OSError)):
        stream.next()
    stream.close()


def test_a_server_closes_connections_that_it_has_just_accepted() -> None:
    """pytest reports a socket that was left open as an error of this test."""
    ends: list[bytes] = []

    def connect(port: int) -> None:
        while True:
            try:
                client = socket.create_connection(("127.0.0.1", port), timeout=60)
            except OSError:  # refused; or reset, if it was not accepted yet
                return
            with client:
                try:
                    ends.append(client.recv(1))
                except TimeoutError:
                    ends.append(b"is open after a minute")
                except OSError:  # which error a reset is depends on when it arrives
                    pass

    for _ in range(20):
        server = WebServer(Shop(), WebOptions(connections=20))
        server.start()
        clients = [threading.Thread(target=connect, args=(server.port,)) for _ in range(30)]
        for client in clients:
            client.start()
        server.close()
        for client in clients:
            client.join()
        gc.collect()
    assert set(ends) <= {b""}


def test_pages_share_what_was_rendered() -> None:
    rendered = []

    def page() -> Snapshot:
        rendered.append(1)
        return Snapshot({"a": str(len(rendered))})

    fragments = Fragments(page)
    for _ in range(20):
        fragments.at(5)
    assert len(rendered) == 1
    assert fragments.since(4) == {"parts": {"a": "1"}}
    assert fragments.since(5) == {}
    fragments.at(6)
    assert fragments.since(5) == {"parts": {"a": "2"}}


def test_rows_that_have_not_changed_are_not_rendered_again(shop: Shop) -> None:
    from penstock_web.console.list_rows import ListRows
    from penstock_web.console.rendering import Renderer
    from penstock_web.console.static_files import StaticFiles

    rendered = []

    class Counting(Renderer):
        def __call__(self, template: str, **values: Any) -> str:
            rendered.append(template)
            return super().__call__(template, **values)

    rows = ListRows(shop, Counting(StaticFiles(), "", is_cluster=True))
    rows.rows()
    assert len(rendered) == 1000
    shop.put(connector("feed-0000", "Failed", namespace="team-0"))
    rows.rows()
    assert len(rendered) == 1001
