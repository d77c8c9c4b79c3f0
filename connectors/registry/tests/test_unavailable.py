"""A registry that is down, slow, broken, or behind a proxy: a retriable error, which all records wait for."""

import datetime
import ipaddress
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from connectors.registry.tests.servers import Proxy, Registry, free_port
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from penstock import RetriableError
from penstock.schema import INT64, struct
from penstock_registry.avro.converter import AvroConverter

Avro = Callable[..., AvroConverter]
ROW = struct({"id": INT64}, name="shop.Row")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((500, "application/json", '{"error_code": 50001, "message": "store"}'), "status 500: store"),
        ((503, "text/html", "<html>down</html>"), "status 503"),
        ((401, "application/json", '{"error_code": 401, "message": "who"}'), r"refuses the credentials \(status 401\)"),
        ((403, "text/html", "<html>no</html>"), r"refuses the credentials \(status 403\)"),
        ((200, "text/html", "<html>Please log in</html>"), "not that of a registry"),
        ((200, "application/json", '{"hello": "world"}'), "not that of a registry"),
        ((404, "text/html", "<html>Not here</html>"), "status 404"),
        ((302, "text/html", "<html>Moved</html>"), "status 302"),
        ("hang up", "RemoteProtocolError"),
    ],
)
def test_a_broken_registry_is_an_outage_until_it_works(
    avro: Avro, proxy: Proxy, topic: str, answer: Any, words: str
) -> None:
    converter = avro(schema_registry_url=proxy.url)
    proxy.answer = answer
    for _ in range(2):
        with pytest.raises(RetriableError, match=words) as failed:
            converter.from_connect(topic, ROW, {"id": 1})
        assert failed.value.outage
        assert proxy.url in str(failed.value)
    proxy.answer = None
    message = converter.from_connect(topic, ROW, {"id": 1})
    proxy.answer = answer
    assert converter.from_connect(topic, ROW, {"id": 1}) == message, "what is known needs no registry"
    reader = avro(schema_registry_url=proxy.url)
    with pytest.raises(RetriableError, match=words):
        reader.to_connect(topic, message)
    proxy.answer = None
    assert reader.to_connect(topic, message)[1] == {"id": 1}


def test_nobody_listens(avro: Avro, topic: str) -> None:
    with pytest.raises(RetriableError, match="Connection refused"):
        avro(schema_registry_url=f"http://127.0.0.1:{free_port()}").from_connect(topic, ROW, {"id": 1})


def test_a_slow_answer_is_waited_for_up_to_the_limit(avro: Avro, proxy: Proxy, topic: str) -> None:
    proxy.delay = 1.0
    with pytest.raises(RetriableError, match="ReadTimeout"):
        avro(schema_registry_url=proxy.url, http_read_timeout_ms="200").from_connect(topic, ROW, {"id": 1})
    assert avro(schema_registry_url=proxy.url).from_connect(topic, ROW, {"id": 1}) is not None


def test_the_next_url_is_asked_if_one_is_down(avro: Avro, proxy: Proxy, topic: str) -> None:
    converter = avro(schema_registry_url=f"http://127.0.0.1:{free_port()}, {proxy.url}")
    assert converter.from_connect(topic, ROW, {"id": 1}) is not None


def test_a_registry_gets_user_and_password(avro: Avro, proxy: Proxy, topic: str) -> None:
    given = {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "ann:s3cret"}
    avro(schema_registry_url=proxy.url, **given).from_connect(topic, ROW, {"id": 1})
    in_url = proxy.url.replace("http://", "http://ann:s3cret@")
    avro(schema_registry_url=in_url).from_connect(topic, ROW, {"id": 1})
    assert {headers["authorization"] for headers in map(_lower, proxy.headers)} == {"Basic YW5uOnMzY3JldA=="}
    proxy.answer = (401, "text/plain", "no")
    with pytest.raises(RetriableError) as failed:
        avro(schema_registry_url=in_url).from_connect(f"{topic}2", ROW, {"id": 1})
    assert "s3cret" not in str(failed.value)


def test_a_registry_gets_a_token(avro: Avro, proxy: Proxy, topic: str) -> None:
    given = {"bearer_auth_credentials_source": "STATIC_TOKEN", "bearer_auth_token": "t0ken"}
    avro(schema_registry_url=proxy.url, **given).from_connect(topic, ROW, {"id": 1})
    assert {headers["authorization"] for headers in map(_lower, proxy.headers)} == {"Bearer t0ken"}


def _lower(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def test_certificates_are_checked(avro: Avro, registry: Registry, topic: str, tmp_path: Path) -> None:
    certificate = _certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Proxy(registry, context).running() as proxy:
        with pytest.raises(RetriableError, match="CERTIFICATE_VERIFY_FAILED"):
            avro(schema_registry_url=proxy.url).from_connect(topic, ROW, {"id": 1})
        trusting = avro(schema_registry_url=proxy.url, schema_registry_ssl_truststore_location=str(certificate))
        assert trusting.from_connect(topic, ROW, {"id": 1}) is not None


def _certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "registry")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "both.pem"
    file.write_bytes(private + made.public_bytes(pem))
    return file
