"""Avro with a real registry that checks compatibility."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from connectors.registry.tests.servers import Proxy, Registry

from penstock import DataError, Fields
from penstock.schema import INT32, INT64, OPTIONAL_STRING, STRING, array_of, struct
from penstock_registry.avro.converter import AvroConverter
from penstock_registry.wire import prefix, schema_id

Avro = Callable[..., AvroConverter]
ORDER = struct({"id": INT64, "name": OPTIONAL_STRING}, name="shop.Order")
WIDER = struct({"id": INT64, "name": OPTIONAL_STRING, "note": OPTIONAL_STRING}, name="shop.Order")


def written(converter: AvroConverter, topic: str, schema: Any, value: Any) -> bytes:
    message = converter.from_connect(topic, schema, value)
    assert message is not None
    return message


def test_a_message_is_a_zero_byte_the_id_of_the_registered_schema_and_avro(
    avro: Avro, registry: Registry, topic: str
) -> None:
    message = written(avro(), topic, ORDER, {"id": 1, "name": "a"})
    number = schema_id(message)
    assert message == prefix(number) + b"\x02\x02\x02a"
    assert registry.schema(number)["name"] == "Order"
    assert f"{topic}-value" in registry.subjects()


def test_what_was_written_is_read_with_the_version_of_the_schema(avro: Avro, topic: str) -> None:
    schema, value = avro().to_connect(topic, written(avro(), topic, ORDER, {"id": 1, "name": None}))
    assert value == {"id": 1, "name": None}
    assert schema is not None
    assert (schema.name, schema.version, schema.fields) == ("shop.Order", 1, ORDER.fields)


def test_keys_have_a_subject_of_their_own(avro: Avro, registry: Registry, topic: str) -> None:
    written(avro(is_key=True), topic, INT64, 5)
    assert f"{topic}-key" in registry.subjects()


@pytest.mark.parametrize("package", ["", "io.confluent.kafka.serializers.subject."])
@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("RecordNameStrategy", "shop.{0}"),
        ("TopicRecordNameStrategy", "{0}-shop.{0}"),
        ("TopicNameStrategy", "{0}-value"),
    ],
)
def test_subjects_are_named_by_the_strategy(
    avro: Avro, registry: Registry, topic: str, strategy: str, subject: str, package: str
) -> None:
    converter = avro(value_subject_name_strategy=package + strategy)
    written(converter, topic, struct({"id": INT64}, name=f"shop.{topic}"), {"id": 1})
    assert subject.format(topic) in registry.subjects()


def test_a_value_without_a_name_has_no_subject_by_its_name(avro: Avro, topic: str) -> None:
    with pytest.raises(DataError, match=r"set value\.subject\.name\.strategy to TopicNameStrategy"):
        avro(value_subject_name_strategy="RecordNameStrategy").from_connect(topic, STRING, "x")


def test_one_batch_may_have_several_schemas_and_tombstones(avro: Avro, topic: str) -> None:
    converter = avro()
    messages = [
        written(converter, topic, ORDER, {"id": 1, "name": "a"}),
        None,
        written(converter, topic, WIDER, {"id": 2, "name": "b", "note": "n"}),
        written(converter, topic, ORDER, {"id": 3, "name": None}),
    ]
    schemas, values = converter.to_connect_batch(topic, messages)
    assert isinstance(schemas, list)
    assert [schema and (len(schema.fields), schema.version) for schema in schemas] == [(2, 1), None, (3, 2), (2, 1)]
    assert values == [{"id": 1, "name": "a"}, None, {"id": 2, "name": "b", "note": "n"}, {"id": 3, "name": None}]


def test_messages_of_one_schema_become_columns(avro: Avro, topic: str) -> None:
    converter = avro()
    rows = [{"id": n, "name": str(n)} for n in range(100)]
    messages = converter.from_connect_batch(topic, ORDER, rows)
    _, values = converter.to_connect_batch(topic, messages)
    assert isinstance(values, Fields)
    assert values.columns["id"] == list(range(100))
    assert list(values) == rows


def test_an_incompatible_schema_fails_its_records_in_words(avro: Avro, topic: str) -> None:
    converter = avro()
    message = written(converter, topic, ORDER, {"id": 1, "name": "a"})
    required = struct({"id": INT64, "price": INT64}, name="shop.Order")
    for _ in range(2):
        with pytest.raises(DataError, match=rf"subject {topic}-value: the registry rejects it as incompatible .*price"):
            converter.from_connect(topic, required, {"id": 1, "price": 2})
    assert converter.from_connect(topic, ORDER, {"id": 1, "name": "a"}) == message


def test_an_incompatible_schema_is_sent_once_for_many_records(avro: Avro, proxy: Proxy, topic: str) -> None:
    converter = avro(schema_registry_url=proxy.url)
    converter.from_connect(topic, ORDER, {"id": 1, "name": "a"})
    proxy.requests.clear()
    for n in range(100):
        with pytest.raises(DataError):
            converter.from_connect(
                topic, struct({"id": INT64, "price": INT64}, name="shop.Order"), {"id": n, "price": 2}
            )
    assert len(proxy.requests) == 1


def test_without_automatic_registration_the_schema_must_be_there(avro: Avro, topic: str) -> None:
    careful = avro(auto_register_schemas="false")
    with pytest.raises(DataError, match=r"auto\.register\.schemas=false"):
        careful.from_connect(topic, ORDER, {"id": 1, "name": "a"})
    message = written(avro(), topic, ORDER, {"id": 1, "name": "a"})
    assert avro(auto_register_schemas="false").from_connect(topic, ORDER, {"id": 1, "name": "a"}) == message


def test_records_are_written_with_the_latest_schema_by_the_names_of_fields(
    avro: Avro, registry: Registry, topic: str
) -> None:
    fields = [
        {"name": "name", "type": "string"},
        {"name": "id", "type": ["null", "long"]},
        {"name": "color", "type": {"type": "enum", "name": "C", "symbols": ["RED"]}, "default": "RED"},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["x"]},
    ]
    number = registry.register(f"{topic}-value", {"type": "record", "name": "Other", "fields": fields})
    converter = avro(auto_register_schemas="false", use_latest_version="true")
    schema = struct({"id": INT64, "name": STRING, "dropped": INT32}, name="shop.Order")
    message = written(converter, topic, schema, {"id": 1, "name": "a", "dropped": 3})
    assert schema_id(message) == number
    assert converter.from_connect_batch(topic, schema, [{"id": 1, "name": "a", "dropped": 3}]) == [message]
    assert converter.to_connect(topic, message)[1] == {"name": "a", "id": 1, "color": "RED", "tags": ["x"]}


def test_a_latest_schema_that_does_not_fit_fails_the_record(avro: Avro, registry: Registry, topic: str) -> None:
    registry.register(f"{topic}-value", {"type": "record", "name": "O", "fields": [{"name": "id", "type": "string"}]})
    converter = avro(auto_register_schemas="false", use_latest_version="true")
    with pytest.raises(DataError, match="field 'id': the registered schema has string where the record has int64"):
        converter.from_connect(topic, ORDER, {"id": 1, "name": "a"})


def test_schemas_that_refer_to_others_are_read(avro: Avro, registry: Registry, topic: str) -> None:
    color = {"type": "enum", "name": "Color", "namespace": "shop", "symbols": ["RED", "BLUE"]}
    registry.register(f"{topic}-color", color)
    of_color = [{"name": "shop.Color", "subject": f"{topic}-color", "version": 1}]
    part = {"type": "record", "name": "shop.Part", "fields": [{"name": "color", "type": "shop.Color"}]}
    registry.register(f"{topic}-part", part, references=of_color)
    of_part = [{"name": "shop.Part", "subject": f"{topic}-part", "version": 1}]
    whole = {
        "type": "record",
        "name": "shop.Whole",
        "fields": [{"name": "parts", "type": {"type": "array", "items": "shop.Part"}}],
    }
    number = registry.register(f"{topic}-value", whole, references=of_part)
    schema, value = avro().to_connect(topic, prefix(number) + b"\x04\x02\x00\x00")
    assert value == {"parts": [{"color": "BLUE"}, {"color": "RED"}]}
    assert schema is not None
    assert schema.fields[0].schema.items is not None


def test_a_message_of_another_format_fails(avro: Avro, topic: str) -> None:
    for message, words in ((b"\x01abcdefg", "unknown magic byte 0x01"), (b"{}", "2 bytes"), (b"", "0 bytes")):
        with pytest.raises(DataError, match=words):
            avro().to_connect(topic, message)


def test_an_id_that_the_registry_does_not_have_fails_the_record_and_is_asked_for_once(
    avro: Avro, proxy: Proxy, topic: str
) -> None:
    converter = avro(schema_registry_url=proxy.url)
    for _ in range(10):
        with pytest.raises(DataError, match="cannot find the schema with id 99999999: it does not exist"):
            converter.to_connect(topic, prefix(99_999_999) + b"\x02")
    assert len(proxy.requests) == 1


def test_bytes_that_do_not_fit_the_schema_fail_the_record(avro: Avro, topic: str) -> None:
    converter = avro()
    message = written(converter, topic, ORDER, {"id": 1, "name": "a"})
    with pytest.raises(DataError, match="its bytes do not fit its schema"):
        converter.to_connect(topic, message[:-1])
    with pytest.raises(DataError):
        converter.to_connect_batch(topic, [message, message[:-1]])


def test_a_schema_of_another_kind_is_named(avro: Avro, registry: Registry, topic: str) -> None:
    number = registry.register(f"{topic}-value", {"$schema": "http://json-schema.org/draft-07/schema#"}, kind="JSON")
    with pytest.raises(DataError, match="its type is JSON, and the converter is for AVRO"):
        avro().to_connect(topic, prefix(number) + b"\x02")


def test_messages_of_a_deleted_subject_are_read(avro: Avro, registry: Registry, topic: str) -> None:
    message = written(avro(), topic, ORDER, {"id": 1, "name": "a"})
    registry.ask("DELETE", f"/subjects/{topic}-value")
    assert avro().to_connect(topic, message)[1] == {"id": 1, "name": "a"}


@pytest.mark.slow  # it takes the registry ten seconds
def test_a_schema_of_a_megabyte_is_registered_and_read(avro: Avro, topic: str) -> None:
    wide = struct(
        {f"field_with_a_long_name_{'x' * 60}_{n}": array_of(OPTIONAL_STRING) for n in range(8_000)}, name="shop.W"
    )
    value = {f.name: [None] for f in wide.fields}
    assert avro().to_connect(topic, written(avro(), topic, wide, value))[1] == value


def test_a_topic_may_have_more_schemas_than_are_kept_in_memory(avro: Avro, topic: str) -> None:
    converter = avro(schemas_cache_config="3", value_subject_name_strategy="TopicRecordNameStrategy")
    schemas = [struct({f"f{n}": INT64}, name=f"shop.S{n}") for n in range(12)]
    messages = [written(converter, topic, schema, {f"f{n}": n}) for n, schema in enumerate(schemas)]
    for _ in range(2):
        _, values = converter.to_connect_batch(topic, messages)
        assert list(values) == [{f"f{n}": n} for n in range(12)]
    assert len(converter._readers) == len(converter._writers) == 3


def test_equal_schemas_are_registered_once(avro: Avro, proxy: Proxy, topic: str) -> None:
    converter = avro(schema_registry_url=proxy.url)
    for n in range(10):
        again = struct({"id": INT64, "name": OPTIONAL_STRING}, name="shop.Order")
        converter.from_connect(topic, again, {"id": n, "name": None})
    assert len(proxy.requests) == 1


def test_a_registry_normalizes_schemas_if_asked(avro: Avro, proxy: Proxy, topic: str) -> None:
    avro(schema_registry_url=proxy.url, normalize_schemas="true").from_connect(topic, ORDER, {"id": 1, "name": "a"})
    assert "normalize=True" in proxy.requests[0]


def test_schemas_are_those_that_debezium_has_registered_in_java(avro: Avro, registry: Registry, topic: str) -> None:
    """A connector that moves here finds its schema under the same id."""
    text = (
        '{"type":"record","name":"Value","namespace":"srv.public.orders","fields":[{"name":"id","type":"long"},'
        '{"name":"name","type":["null","string"],"default":null}],"connect.name":"srv.public.orders.Value"}'
    )
    number = registry.register(f"{topic}-value", json.loads(text))
    schema = struct({"id": INT64, "name": OPTIONAL_STRING}, name="srv.public.orders.Value")
    assert schema_id(written(avro(), topic, schema, {"id": 1, "name": None})) == number
