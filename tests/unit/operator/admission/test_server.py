"""The webhook's server answers only what it can, and no client holds up another."""

import http.client
import json
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
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
def served(trust: ssl.SSLContext, tmp_path: Path) -> Iterator[HttpsServer]:
    authority = new_authority("test", time.time())
    issued = authority.issue("localhost", time.time())
    file = tmp_path / "certificate.pem"
    file.write_bytes(issued.certificate + issued.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    trust.load_verify_locations(cadata=authority.certificate.decode())

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
