"""Topics with many schemas: caches keep their bounds, and each schema is asked for as often as the caches require."""

import gc
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from connectors.registry.tests.servers import Proxy

from penstock.schema import INT64, struct
from penstock_registry.avro.converter import AvroConverter
from penstock_registry.json_schema.converter import JsonSchemaConverter
from penstock_registry.registry_converter import RegistryConverter
from penstock_registry.wire import prefix

Make = Callable[..., RegistryConverter[Any]]
NAMES = {"value_subject_name_strategy": "TopicRecordNameStrategy"}
KINDS = pytest.mark.parametrize("make", [AvroConverter, JsonSchemaConverter], indirect=True)


@pytest.fixture
def make(request: pytest.FixtureRequest) -> Make:
    fixture: Make = request.getfixturevalue("avro" if request.param is AvroConverter else "json_schema")
    return fixture


@KINDS
def test_schemas_of_one_topic_are_asked_for_once_if_they_fit_and_again_if_they_do_not(
    make: Make, proxy: Proxy, topic: str
) -> None:
    schemas = [struct({f"f{n}": INT64}, name=f"shop.S{n}") for n in range(40)]
    rows = [{f"f{n}": n} for n in range(40)]
    writer = make(schema_registry_url=proxy.url, **NAMES)
    messages = [writer.from_connect(topic, schema, row) for schema, row in zip(schemas, rows, strict=True)]
    assert len(proxy.requests) == 40
    for size, requests in ((60, 80), (20, 160)):
        reader = make(schema_registry_url=proxy.url, schemas_cache_config=str(size), **NAMES)
        proxy.requests.clear()
        for _ in range(2):
            assert list(reader.to_connect_batch(topic, messages)[1]) == rows
        assert len(proxy.requests) <= requests, "each schema and its version"
        assert len(reader._readers) == min(size, 40)


@pytest.mark.slow
@pytest.mark.timeout(3600)  # a minute on a quiet machine
def test_ten_thousand_schemas_in_one_topic_take_no_more_memory_and_requests_than_one_thousand(
    avro: Callable[..., AvroConverter], proxy: Proxy, topic: str
) -> None:
    reader = avro(schema_registry_url=proxy.url, schemas_cache_config="500", **NAMES)
    proxy.answer = lambda path: (200, "application/json", json.dumps(of_a_registry(topic, path)))
    tracemalloc.start()
    try:
        memory, requests = [], []
        for start in range(1, 10_001, 1_000):
            proxy.requests.clear()
            proxy.headers.clear()
            messages = [prefix(number) + b"\x02" for number in range(start, start + 1_000)]
            _, values = reader.to_connect_batch(topic, messages)
            assert list(values) == [{f"f{number}": 1} for number in range(start, start + 1_000)]
            requests.append(len(proxy.requests))
            del messages, values
            memory.append(kept(reader))
    finally:
        tracemalloc.stop()
    assert set(requests) == {2 * 1_000}, "each schema and its version, however many there were before"
    assert max(memory[1:]) < 1.3 * memory[1], "memory is kept only by the caches"


def of_a_registry(topic: str, path: str) -> Any:
    """Return what a registry with any number of schemas answers, which would take the real one many minutes to register."""
    number = path.partition("/schemas/ids/")[2].partition("/")[0].partition("?")[0]
    if "/versions" in path:
        return [{"subject": f"{topic}-S{number}", "version": 1}]
    return {
        "schema": json.dumps(
            {"type": "record", "name": f"S{number}", "fields": [{"name": f"f{number}", "type": "long"}]}
        )
    }


def kept(reader: AvroConverter) -> int:
    """Return the bytes that Python has allocated."""
    assert len(reader._readers) <= 500
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
