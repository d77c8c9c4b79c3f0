"""Ids of schemas in headers, as Confluent's HeaderSchemaIdSerializer and DualSchemaIdDeserializer keep them.

No free registry has GUIDs: a proxy before the real one adds them.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from connectors.registry.tests.servers import Proxy

from penstock import DataError, RetriableError
from penstock.schema import INT64, OPTIONAL_STRING, STRING, struct
from penstock_registry.avro.converter import AvroConverter

Avro = Callable[..., AvroConverter]
ORDER = struct({"id": INT64, "name": OPTIONAL_STRING}, name="shop.Order")
WIDER = struct({"id": INT64, "name": OPTIONAL_STRING, "note": OPTIONAL_STRING}, name="shop.Order")
HEADER = "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer"


@pytest.fixture
def guids(proxy: Proxy) -> Proxy:
    """A registry whose schemas have GUIDs."""
    proxy.guids = True
    return proxy


def written(converter: AvroConverter, topic: str, schema: Any, value: Any) -> tuple[bytes, Any]:
    assert converter.writes_headers
    message = converter.from_connect(topic, schema, value)
    assert message is not None
    return converter.split_headers(message)


@pytest.mark.parametrize("name", [HEADER, "HeaderSchemaIdSerializer"])
def test_a_header_has_the_guid_and_the_message_only_the_data(avro: Avro, guids: Proxy, topic: str, name: str) -> None:
    data, headers = written(
        avro(schema_registry_url=guids.url, value_schema_id_serializer=name), topic, ORDER, {"id": 1, "name": "a"}
    )
    assert data == b"\x02\x02\x02a"
    ((header, content),) = headers
    assert (header, content[:1], len(content)) == ("__value_schema_id", b"\x01", 17)
    assert str(UUID(bytes=content[1:])) in guids._numbers


def test_keys_have_a_header_of_their_own(avro: Avro, guids: Proxy, topic: str) -> None:
    converter = avro(schema_registry_url=guids.url, key_schema_id_serializer=HEADER, is_key=True)
    data, headers = written(converter, topic, STRING, "k")
    assert (data, headers[0][0]) == (b"\x02k", "__key_schema_id")
    assert not avro(schema_registry_url=guids.url, key_schema_id_serializer=HEADER).writes_headers


def test_one_batch_may_have_ids_in_headers_and_before_the_data(avro: Avro, guids: Proxy, topic: str) -> None:
    writer = avro(schema_registry_url=guids.url, value_schema_id_serializer=HEADER)
    reader = avro(schema_registry_url=guids.url)
    before = reader.from_connect(topic, ORDER, {"id": 3, "name": None})
    assert before is not None
    rows = [
        written(writer, topic, ORDER, {"id": 1, "name": "a"}),
        written(writer, topic, WIDER, {"id": 2, "name": "b", "note": "n"}),
        (before, [("trace", b"1")]),
    ]
    assert reader.reads_headers
    messages = [reader.join_headers(data, headers) for data, headers in rows]
    schemas, values = reader.to_connect_batch(topic, messages)
    assert isinstance(schemas, list)
    assert [schema and (len(schema.fields), schema.version) for schema in schemas] == [(2, 1), (3, 2), (2, 1)]
    assert [value["id"] for value in values] == [1, 2, 3]
    assert [reader.to_connect(topic, message)[1]["id"] for message in messages] == [1, 2, 3]


def test_headers_are_ignored_if_the_configuration_says_so(avro: Avro, guids: Proxy) -> None:
    plain = avro(schema_registry_url=guids.url, value_schema_id_deserializer="PrefixSchemaIdDeserializer")
    assert not plain.reads_headers


def test_wrong_headers_fail_their_records(avro: Avro, guids: Proxy, topic: str) -> None:
    reader = avro(schema_registry_url=guids.url)
    with pytest.raises(DataError, match="cannot find the schema with id 01010101-0101-0101-0101-010101010101: it does"):
        reader.to_connect(topic, reader.join_headers(b"", [("__value_schema_id", b"\x01" * 17)]))
    with pytest.raises(DataError, match="unknown magic byte 0x09"):
        reader.to_connect(topic, reader.join_headers(b"data", [("__value_schema_id", b"\x09" * 17)]))
    with pytest.raises(DataError, match="header __value_schema_id has 3 bytes, too few"):
        reader.to_connect(topic, reader.join_headers(b"x" * 20, [("__value_schema_id", b"\x01" * 3)]))


def test_a_registry_without_guids_is_reported_and_no_record_is_lost(avro: Avro, proxy: Proxy, topic: str) -> None:
    converter = avro(schema_registry_url=proxy.url, value_schema_id_serializer=HEADER)
    for _ in range(2):
        with pytest.raises(RetriableError, match=r"it has no GUIDs; remove key\.schema\.id\.serializer") as failed:
            converter.from_connect(topic, ORDER, {"id": 1, "name": "a"})
        assert failed.value.outage
    proxy.guids = True
    assert written(converter, topic, ORDER, {"id": 1, "name": "a"})[0] == b"\x02\x02\x02a"
