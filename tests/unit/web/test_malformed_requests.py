"""No request breaks the server or fails without a reason, and what a request holds never reaches the log."""

import logging
import socket
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock_web.options import WebOptions
from penstock_web.server import WebServer
from penstock_web.source import Document

from .resources import Rights
from .serving import served
from .showcase import showcase
from .slow import Slow, request
from .test_console_pages import Browser

TOKEN = "eyJ-a-token-of-alice"
AUTHORIZATION = f"Authorization: Bearer {TOKEN}"
VALIDATE = "/connect/shop/connector-plugins/FileStreamSink/config/validate"
PARTS = [
    "connectors",
    "shop",
    "orders",
    "config",
    "events",
    "offsets",
    "preview",
    "actions",
    "pause",
    "stream",
    "transform",
]


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    async def transform(document: Document, record: str) -> str:
        if record == "fail":
            raise RuntimeError("a defect")
        return record

    shop = showcase()
    with served(shop, WebOptions(transform=transform), Rights(shop, **{TOKEN: "shop"})) as server:
        yield server


def answer(server: WebServer, sent: bytes, *, ends: bool = False) -> bytes:
    """Send bytes, and possibly the end of the connection, and return what the server answers until it closes it."""
    client = Slow(server.port, sent)
    try:
        if ends:
            client.socket.shutdown(socket.SHUT_WR)
        return client.read()
    except ConnectionResetError:
        return b""
    finally:
        client.close()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(request("/", AUTHORIZATION + "\x01"), id="character in a header"),
        pytest.param(request("/", AUTHORIZATION + "x" * 10_000), id="long header"),
        pytest.param(request("/", AUTHORIZATION.replace(":", "")), id="header without a colon"),
        pytest.param(request("/", AUTHORIZATION, *(f"h{n}: x" for n in range(1000))), id="many headers"),
        pytest.param(request("/", AUTHORIZATION, "Content-Length: -1"), id="length"),
        pytest.param(request(f"/{TOKEN}\x01"), id="character in the path"),
        pytest.param(f"{TOKEN} / HTTP/1.1\r\n\r\n".encode(), id="method"),
        pytest.param(
            request(VALIDATE, "Transfer-Encoding: chunked", method="PUT") + f"{TOKEN}\r\n".encode(),
            id="length of a chunk",
        ),
        pytest.param(
            request(VALIDATE, "Content-Encoding: gzip", f"Content-Length: {len(TOKEN)}", method="PUT") + TOKEN.encode(),
            id="compressed body",
        ),
        pytest.param(request("/", "Connection: upgrade", AUTHORIZATION + "\x01"), id="upgrade"),
    ],
)
def test_a_malformed_request_gets_a_reason_and_is_not_logged(
    server: WebServer, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    caplog.set_level(logging.DEBUG)
    assert answer(server, sent).split(b"\r\n")[0] in (b"HTTP/1.0 400 Bad Request", b"HTTP/1.1 400 Bad Request")
    assert TOKEN not in caplog.text
    assert [r for r in caplog.records if r.levelno > logging.DEBUG] == []


def test_no_token_and_no_body_is_logged(server: WebServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    browser = Browser(server.port)
    own = "/connectors/shop/orders"
    assert browser(f"{own}/actions", Authorization=f"Bearer {TOKEN}")[0] == 200
    assert browser.post(f"{own}/actions/pause", Authorization=f"Bearer {TOKEN}")[0] == 200
    assert browser.post(f"{own}/actions/pause", Authorization=f"Bearer {TOKEN}-wrong")[0] == 401
    assert browser.post(f"{own}/transform", {"record": TOKEN})[0] == 200
    assert browser("/connect/shop/connectors/orders/pause", "PUT", Authorization=f"Bearer {TOKEN}")[0] == 202
    assert browser(VALIDATE, "PUT", {"connector.class": "FileStreamSink", "a": TOKEN})[0] == 200
    assert browser.post(f"{own}/transform", {"record": "fail"}, Authorization=f"Bearer {TOKEN}")[0] == 500
    assert "a defect" in caplog.text
    assert TOKEN not in caplog.text


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS"]),
    st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=20)), max_size=6),
    st.lists(
        st.tuples(st.sampled_from(["topic", "connector", "text", "state", "namespace", "x"]), st.text(max_size=300))
    ),
    st.one_of(
        st.none(), st.text(), st.dictionaries(st.sampled_from(["record", "document", "how"]), st.text(max_size=50))
    ),
)
def test_no_request_of_the_console_fails(
    server: WebServer, method: str, parts: list[str], query: list[tuple[str, str]], body: object
) -> None:
    path = "/" + "/".join(quote(part, safe="", errors="replace") for part in parts)
    if path.endswith("/stream") and method == "GET":
        return  # never ends
    text = "&".join(f"{name}={quote(value, safe='', errors='replace')}" for name, value in query)
    headers = {"X_Penstock_Console": "1", "Authorization": f"Bearer {TOKEN}"}
    status, page = Browser(server.port)(f"{path}?{text}", method, body, **headers)
    assert status < 500, page


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.sampled_from(
                [b"GET / HTTP/1.1\r\n", b"PUT / HTTP/1.1\r\n", b"Host: localhost\r\n", b"\r\n", b"\r\n\r\n"]
            ),
            st.sampled_from([b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"\x00"]),
        ),
        max_size=8,
    )
)
def test_no_bytes_break_the_server(server: WebServer, caplog: pytest.LogCaptureFixture, pieces: list[bytes]) -> None:
    assert b" 500 " not in answer(server, b"".join(pieces), ends=True).split(b"\r\n")[0]
    assert Browser(server.port)("/plugins")[0] == 200
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR] == []
