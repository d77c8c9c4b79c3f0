"""Credentials that the server of a registry checks: passwords, tokens, OAuth and certificates, by either vendor's names."""

import base64
import json
import secrets
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from connectors.registry.tests.certificates import Authority
from connectors.registry.tests.servers import Proxy, Registry

from penstock import ConfigError, RetriableError
from penstock.schema import INT64, struct
from penstock.testing import parsed
from penstock_registry.apicurio.converter import ApicurioAvroConverter
from penstock_registry.avro.converter import AvroConverter

ROW = struct({"id": INT64}, name="shop.Row")
Write = Callable[[str, Mapping[str, str]], bytes | None]
SSL = {AvroConverter: "schema.registry.ssl.", ApicurioAvroConverter: "apicurio.registry.request.ssl."}
BASIC = "Basic " + base64.b64encode(b"ann:s3cret:x").decode()


class Tokens:
    """An OAuth server for one client.

    Attributes:
        issued: the tokens that are valid.
        seconds: what it says about their life.
    """

    def __init__(self) -> None:
        self.issued: list[str] = []
        self.asked: list[dict[str, list[str]]] = []
        self.seconds = 3600
        tokens = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                client = "Basic " + base64.b64encode(b"penstock:cl1ent").decode()
                allowed = self.headers.get("Authorization") == client and form["grant_type"] == ["client_credentials"]
                answer: dict[str, Any] = {"error": "invalid_client"}
                if allowed:
                    tokens.asked.append(form)
                    tokens.issued.append(secrets.token_hex(8))
                    answer = {"access_token": tokens.issued[-1], "token_type": "Bearer", "expires_in": tokens.seconds}
                text = json.dumps(answer).encode()
                self.send_response(200 if allowed else 401)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/realms/shop/protocol/openid-connect/token"

    def allow(self, headers: dict[str, str]) -> bool:
        """Whether a request has the token that was issued last."""
        return bool(self.issued) and headers.get("authorization") == f"Bearer {self.issued[-1]}"

    @contextmanager
    def running(self) -> Iterator["Tokens"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


@pytest.fixture
def tokens() -> Iterator[Tokens]:
    with Tokens().running() as tokens:
        yield tokens


@pytest.fixture(params=[AvroConverter, ApicurioAvroConverter], ids=["confluent", "apicurio"])
def kind(request: Any) -> type[AvroConverter]:
    found: type[AvroConverter] = request.param
    return found


@pytest.fixture
def write(kind: type[AvroConverter], topic: str) -> Iterator[Write]:
    """Write a record with a new converter of this kind, for a registry at a URL, with more properties."""
    made: list[AvroConverter] = []

    def write(url: str, properties: Mapping[str, str]) -> bytes | None:
        if kind is ApicurioAvroConverter:
            texts = {"apicurio.registry.url": f"{url}/apis/registry/v2", "apicurio.registry.auto-register": "true"}
        else:
            texts = {"schema.registry.url": url}
        converter = kind()
        made.append(converter)
        converter.configure(parsed(kind, texts | dict(properties)), is_key=False)
        return converter.from_connect(f"{topic}{len(made)}", ROW, {"id": 1})

    yield write
    for converter in made:
        converter.close()


def refused(write: Write, url: str, properties: Mapping[str, str], words: str) -> None:
    with pytest.raises(RetriableError, match=words) as failed:
        write(url, properties)
    assert failed.value.outage
    for secret in ("s3cret", "cl1ent", "wr0ng", "t0ken"):
        assert secret not in str(failed.value)


def test_user_and_password(kind: type[AvroConverter], write: Write, proxy: Proxy) -> None:
    proxy.accepts = lambda headers: headers.get("authorization") == BASIC

    def user(password: str) -> dict[str, str]:
        if kind is ApicurioAvroConverter:
            return {"apicurio.auth.username": "ann", "apicurio.auth.password": password}
        return {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": f"ann:{password}"}

    assert write(proxy.url, user("s3cret:x")) is not None
    refused(write, proxy.url, user("wr0ng"), r"rejects the credentials \(status 401\); check (basic|apicurio)\.auth\.")
    refused(write, proxy.url, {}, r"rejects the credentials \(status 401\)")


@pytest.mark.parametrize("kind", [AvroConverter], indirect=True)
def test_user_and_password_in_the_url(write: Write, proxy: Proxy) -> None:
    proxy.accepts = lambda headers: headers.get("authorization") == BASIC
    assert write(proxy.url.replace("http://", "http://ann:s3cret%3Ax@"), {}) is not None
    refused(write, proxy.url.replace("http://", "http://ann:wr0ng@"), {}, "rejects the credentials")


def test_a_token(kind: type[AvroConverter], write: Write, proxy: Proxy) -> None:
    proxy.accepts = lambda headers: headers.get("authorization") == "Bearer t0ken"

    def bearer(token: str) -> dict[str, str]:
        if kind is ApicurioAvroConverter:
            return {"apicurio.registry.request.headers.Authorization": f"Bearer {token}"}
        return {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": token}

    assert write(proxy.url, bearer("t0ken")) is not None
    refused(write, proxy.url, bearer("wr0ng"), "rejects the credentials")


def oauth(kind: type[AvroConverter], url: str, secret: str) -> dict[str, str]:
    if kind is ApicurioAvroConverter:
        return {
            "apicurio.auth.service.token.endpoint": url,
            "apicurio.auth.client.id": "penstock",
            "apicurio.auth.client.secret": secret,
            "apicurio.auth.client.scope": "schemas",
        }
    return {
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": url,
        "bearer.auth.client.id": "penstock",
        "bearer.auth.client.secret": secret,
        "bearer.auth.scope": "schemas",
    }


def test_tokens_of_an_oauth_server(kind: type[AvroConverter], write: Write, proxy: Proxy, tokens: Tokens) -> None:
    proxy.accepts = tokens.allow
    assert write(proxy.url, oauth(kind, tokens.url, "cl1ent")) is not None
    assert [form["scope"] for form in tokens.asked] == [["schemas"]]
    refused(write, proxy.url, oauth(kind, tokens.url, "wr0ng"), "unavailable: OAuth.*invalid_client")
    refused(write, proxy.url, oauth(kind, "http://127.0.0.1:1/token", "cl1ent"), "unavailable: .*Connection refused")


def test_a_token_that_ends_is_replaced(kind: type[AvroConverter], proxy: Proxy, tokens: Tokens, topic: str) -> None:
    proxy.accepts = tokens.allow
    tokens.seconds = -1
    place = (
        {"apicurio.registry.url": f"{proxy.url}/apis/registry/v2", "apicurio.registry.auto-register": "true"}
        if kind is ApicurioAvroConverter
        else {"schema.registry.url": proxy.url}
    )
    converter = kind()
    converter.configure(parsed(kind, place | oauth(kind, tokens.url, "cl1ent")), is_key=False)
    for n in range(3):
        assert converter.from_connect(f"{topic}{n}", ROW, {"id": n}) is not None
    assert len(tokens.issued) >= 3
    converter.close()


@pytest.mark.parametrize("kind", [ApicurioAvroConverter], indirect=True)
def test_keycloak_is_named_by_its_realm(write: Write, proxy: Proxy, tokens: Tokens) -> None:
    proxy.accepts = tokens.allow
    given = oauth(ApicurioAvroConverter, "", "cl1ent") | {
        "apicurio.auth.service.url": tokens.url.partition("/realms")[0]
    }
    assert write(proxy.url, given | {"apicurio.auth.realm": "shop"}) is not None
    with pytest.raises(ConfigError, match=r"service\.url requires the realm"):
        write(proxy.url, given)


def test_the_certificate_of_the_registry_is_checked(
    kind: type[AvroConverter], write: Write, registry: Registry, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    with Proxy(registry, authority.server(asks=False)).running() as proxy:
        refused(write, proxy.url, {}, "CERTIFICATE_VERIFY_FAILED")
        trusted = {f"{SSL[kind]}truststore.location": str(authority.certificate)}
        assert write(proxy.url, trusted) is not None
        other = Authority(tmp_path, "other")
        refused(
            write, proxy.url, {f"{SSL[kind]}truststore.location": str(other.certificate)}, "CERTIFICATE_VERIFY_FAILED"
        )


def test_a_certificate_of_the_client(
    kind: type[AvroConverter], write: Write, registry: Registry, tmp_path: Path
) -> None:
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    trusted = {f"{SSL[kind]}truststore.location": str(authority.certificate)}

    def mine(file: Path) -> dict[str, str]:
        return trusted | {f"{SSL[kind]}keystore.location": str(file)}

    with Proxy(registry, authority.server(asks=True)).running() as proxy:
        assert write(proxy.url, mine(authority.issue("plain"))) is not None
        encrypted = mine(authority.issue("encrypted", "s3cret"))
        assert write(proxy.url, encrypted | {f"{SSL[kind]}key.password": "s3cret"}) is not None
        with pytest.raises(ConfigError) as failed:
            write(proxy.url, encrypted | {f"{SSL[kind]}key.password": "wr0ng"})
        assert "wr0ng" not in str(failed.value)
        for wrong in (trusted, mine(other.issue("stranger"))):
            refused(write, proxy.url, wrong, "unavailable: .*(ALERT|[Aa]lert|reset|disconnected|EOF)")
