"""The webhook's server answers only what it can, and no client holds up another."""

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from penstock_operator.admission import server as module
from penstock_operator.admission.certificates import new_authority
from penstock_operator.admission.server import HttpsServer


@pytest.fixture
def trust() -> ssl.SSLContext:
    return ssl.create_default_context()


@pytest.fixture
def context(trust: ssl.SSLContext, tmp_path: Path) -> ssl.SSLContext:
    authority = new_authority("test", time.time())
    issued = authority.issue("localhost", time.time())
    file = tmp_path / "certificate.pem"
    file.write_bytes(issued.certificate + issued.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    trust.load_verify_locations(cadata=authority.certificate.decode())
    return context


@pytest.fixture
def served(context: ssl.SSLContext) -> Iterator[HttpsServer]:
    def respond(path: str, document: Mapping[str, Any]) -> dict[str, Any] | None:
        if path != "/validate":
            return None
        return {"asked": document["request"]}

    made = HttpsServer(0, lambda: context, respond)
    yield made
    made.close()


def post(served: HttpsServer, trust: ssl.SSLContext, body: bytes, path: str = "/validate") -> tuple[int, bytes]:
    connection = http.client.HTTPSConnection("localhost", served.port, context=trust, timeout=10)
    try:
        connection.request("POST", path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_request_is_answered(served: HttpsServer, trust: ssl.SSLContext) -> None:
    status, body = post(served, trust, b'{"request": 1}')
    assert (status, json.loads(body)) == (200, {"asked": 1})


def test_a_connection_serves_many_requests(served: HttpsServer, trust: ssl.SSLContext) -> None:
    connection = http.client.HTTPSConnection("localhost", served.port, context=trust, timeout=10)
    for n in range(3):
        connection.request("POST", "/validate", json.dumps({"request": n}))
        assert json.loads(connection.getresponse().read()) == {"asked": n}
    connection.close()


@pytest.mark.parametrize(
    ("body", "path", "status"),
    [
        (b"not JSON", "/validate", 400),
        (b'{"request": 1}', "/other", 404),
        (b"{}", "/validate", 500),
        (b"", "/validate", 413),
    ],
)
def test_what_is_not_a_review_is_an_error(
    served: HttpsServer, trust: ssl.SSLContext, body: bytes, path: str, status: int
) -> None:
    assert post(served, trust, body, path)[0] == status


def test_a_silent_client_holds_up_no_other(served: HttpsServer, trust: ssl.SSLContext) -> None:
    with socket.create_connection(("localhost", served.port)), socket.create_connection(("localhost", served.port)):
        assert post(served, trust, b'{"request": 1}')[0] == 200


def begun(served: HttpsServer, trust: ssl.SSLContext) -> ssl.SSLSocket:
    """A connection on which a body has begun to arrive."""
    made = trust.wrap_socket(socket.create_connection(("localhost", served.port)), server_hostname="localhost")
    made.settimeout(10)
    made.sendall(b"POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
    return made


def test_a_body_that_does_not_arrive_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch, served: HttpsServer, trust: ssl.SSLContext
) -> None:
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.2)
    with begun(served, trust) as slow:
        assert slow.recv(1) == b""
    monkeypatch.undo()
    assert post(served, trust, b'{"request": 1}')[0] == 200


def test_only_so_many_bodies_are_in_memory(
    monkeypatch: pytest.MonkeyPatch, trust: ssl.SSLContext, context: ssl.SSLContext
) -> None:
    monkeypatch.setattr(module, "_BODIES", 1)
    answering, ending = threading.Event(), threading.Event()

    def respond(path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        answering.set()
        ending.wait(10)
        return {}

    small = HttpsServer(0, lambda: context, respond)
    try:
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(post, small, trust, b"{}")
            assert answering.wait(10)
            monkeypatch.setattr(module, "_WAIT_SECONDS", 0.1)
            assert post(small, trust, b"{}")[0] == 503
            ending.set()
            assert first.result()[0] == 200
    finally:
        small.close()


def test_a_larger_request_than_any_object_is_not_read(served: HttpsServer, trust: ssl.SSLContext) -> None:
    connection = http.client.HTTPSConnection("localhost", served.port, context=trust, timeout=10)
    connection.putrequest("POST", "/validate")
    connection.putheader("Content-Length", str(4 << 20))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_a_thread_that_cannot_start_takes_no_connection(
    monkeypatch: pytest.MonkeyPatch, trust: ssl.SSLContext, context: ssl.SSLContext
) -> None:
    monkeypatch.setattr(module, "_CONNECTIONS", 1)
    small = HttpsServer(0, lambda: context, lambda path, document: {})

    def no_thread(*ignored: object) -> None:
        raise RuntimeError("can't start new thread")

    try:
        with monkeypatch.context() as patch:
            patch.setattr(ThreadingHTTPServer, "process_request", no_thread)
            for _ in range(2):
                with socket.create_connection(("localhost", small.port)) as refused:
                    assert refused.recv(1) == b""
        assert post(small, trust, b"{}")[0] == 200
    finally:
        small.close()


def test_connections_beyond_the_limit_are_closed(
    monkeypatch: pytest.MonkeyPatch, served: HttpsServer, trust: ssl.SSLContext
) -> None:
    monkeypatch.setattr(module, "_CONNECTIONS", 1)
    small = HttpsServer(0, lambda: trust, lambda path, document: {})
    try:
        first, second = (socket.create_connection(("localhost", small.port)) for _ in range(2))
        with first, second:
            assert second.recv(1) == b""
    finally:
        small.close()


def ask(connection: http.client.HTTPSConnection) -> bytes:
    connection.request("POST", "/validate", "{}")
    return connection.getresponse().read()


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("localhost", port)).close()
    except OSError:
        return False
    return True


def test_a_closed_server_answers_on_no_connection(context: ssl.SSLContext, trust: ssl.SSLContext) -> None:
    closed = HttpsServer(0, lambda: context, lambda path, document: {})
    kept = [http.client.HTTPSConnection("localhost", closed.port, context=trust, timeout=10) for _ in range(16)]
    for each in kept:
        assert ask(each) == b"{}"
    closed.close()
    for each in kept:
        assert each.sock is not None
        with pytest.raises((ConnectionError, ssl.SSLError)):
            ask(each)
        each.close()


def test_a_request_that_was_received_is_answered_while_the_server_closes(
    context: ssl.SSLContext, trust: ssl.SSLContext
) -> None:
    answering, ending = threading.Event(), threading.Event()

    def respond(path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        answering.set()
        ending.wait(10)
        return {}

    closing = HttpsServer(0, lambda: context, respond)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(post, closing, trust, b"{}")
        assert answering.wait(10)
        closed = pool.submit(closing.close)
        while is_listening(closing.port):
            pass
        ending.set()
        assert first.result() == (200, b"{}")
        closed.result()
