"""A registry that is down, slow, broken, or behind a proxy: a retriable error, which all records wait for."""

from collections.abc import Callable
from typing import Any

import pytest
from connectors.registry.tests.servers import Proxy, free_port

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
        ((401, "application/json", '{"error_code": 401, "message": "who"}'), r"rejects the credentials \(status 401\)"),
        ((403, "text/html", "<html>no</html>"), r"rejects the credentials \(status 403\)"),
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
