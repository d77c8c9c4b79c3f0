"""JSON with JSON Schemas in a real registry that checks compatibility."""

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from connectors.registry.tests.servers import Proxy, Registry

from penstock import DataError, Fields, Schema
from penstock.schema import INT32, INT64, OPTIONAL_STRING, STRING, array_of, decimal, map_of, struct
from penstock_registry.json_schema.converter import JsonSchemaConverter
from penstock_registry.wire import prefix, schema_id

Json = Callable[..., JsonSchemaConverter]
DRAFT = "http://json-schema.org/draft-07/schema#"
ORDER = struct({"id": INT64, "name": OPTIONAL_STRING}, name="shop.Order")
WIDER = struct({"id": INT64, "name": OPTIONAL_STRING, "note": OPTIONAL_STRING}, name="shop.Order")


def written(converter: JsonSchemaConverter, topic: str, schema: Any, value: Any) -> bytes:
    message = converter.from_connect(topic, schema, value)
    assert message is not None
    return message


def test_a_message_is_a_zero_byte_the_id_of_the_registered_schema_and_json(
    json_schema: Json, registry: Registry, topic: str
) -> None:
    message = written(json_schema(), topic, ORDER, {"id": 1, "name": "ä"})
    number = schema_id(message)
    assert message == prefix(number) + '{"id":1,"name":"ä"}'.encode()
    assert registry.schema(number)["title"] == "shop.Order"
    assert f"{topic}-value" in registry.subjects()


def test_what_was_written_is_read_with_the_version_of_the_schema(json_schema: Json, topic: str) -> None:
    schema, value = json_schema().to_connect(topic, written(json_schema(), topic, ORDER, {"id": 1, "name": None}))
    assert value == {"id": 1, "name": None}
    assert schema is not None
    assert (schema.name, schema.version, schema.fields) == ("shop.Order", 1, ORDER.fields)


def test_a_connector_that_moves_finds_the_schema_that_java_has_registered(
    json_schema: Json, registry: Registry, topic: str
) -> None:
    text = (
        '{"type":"object","title":"shop.Order","properties":{"name":{"connect.index":1,"oneOf":[{"type":"null"},'
        '{"type":"string"}]},"id":{"type":"integer","connect.index":0,"connect.type":"int64"}}}'
    )
    number = registry.register(f"{topic}-value", json.loads(text), kind="JSON")
    careful = json_schema(auto_register_schemas="false")
    assert schema_id(written(careful, topic, ORDER, {"id": 1, "name": None})) == number


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("RecordNameStrategy", "shop.{0}"), ("TopicRecordNameStrategy", "{0}-shop.{0}")],
)
@pytest.mark.parametrize("optional", [False, True])
def test_subjects_are_named_by_the_title(
    json_schema: Json, registry: Registry, topic: str, strategy: str, subject: str, optional: bool
) -> None:
    converter = json_schema(value_subject_name_strategy=strategy)
    written(converter, topic, struct({"id": INT64}, name=f"shop.{topic}", optional=optional), {"id": 1})
    assert subject.format(topic) in registry.subjects()


@pytest.mark.parametrize(
    ("schema", "value"),
    [(INT64, 5), (STRING, "x"), (OPTIONAL_STRING, "x"), (array_of(INT32), [1]), (map_of(STRING, INT32), {"a": 1})],
)
def test_a_schema_is_registered_with_its_draft_if_the_registry_does_not_recognize_it(
    json_schema: Json, registry: Registry, topic: str, schema: Schema, value: Any
) -> None:
    converter = json_schema(is_key=True)
    message = written(converter, topic, schema, value)
    assert registry.schema(schema_id(message))["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert written(converter, f"{topic}2", schema, value)[5:] == message[5:]
    assert converter.to_connect(topic, message) == (replace(schema, version=1), value)


def test_one_batch_may_have_several_schemas_tombstones_and_nulls(json_schema: Json, topic: str) -> None:
    converter = json_schema(object_additional_properties="false")
    text = written(converter, f"{topic}2", OPTIONAL_STRING, "x")
    messages = [
        written(converter, topic, ORDER, {"id": 1, "name": "a"}),
        None,
        text[:5] + b"null",
        text,
        written(converter, topic, WIDER, {"id": 2, "name": "b", "note": "n"}),
    ]
    schemas, values = converter.to_connect_batch(topic, messages)
    assert isinstance(schemas, list)
    assert list(zip(schemas, values, strict=True)) == [converter.to_connect(topic, message) for message in messages]
    assert [schema and (len(schema.fields), schema.version) for schema in schemas] == [
        (2, 1), None, (0, None), (0, None), (3, 2),
    ]  # fmt: skip
    assert values == [{"id": 1, "name": "a"}, None, None, "x", {"id": 2, "name": "b", "note": "n"}]


def test_messages_of_one_schema_become_columns(json_schema: Json, topic: str) -> None:
    converter = json_schema()
    rows = [{"id": n, "name": str(n)} for n in range(100)]
    messages = converter.from_connect_batch(topic, ORDER, Fields.of(rows) or [])
    assert messages == [converter.from_connect(topic, ORDER, row) for row in rows]
    _, values = converter.to_connect_batch(topic, messages)
    assert isinstance(values, Fields)
    assert values.columns["id"] == list(range(100))
    assert list(values) == rows


def test_a_null_is_a_tombstone(json_schema: Json, topic: str) -> None:
    converter = json_schema()
    assert converter.from_connect(topic, ORDER.as_optional(), None) is None
    assert converter.from_connect(topic, None, None) is None
    assert converter.to_connect(topic, None) == (None, None)


def test_a_value_without_a_schema_is_refused_with_the_remedy(json_schema: Json, topic: str) -> None:
    with pytest.raises(DataError, match=r"use JsonConverter with schemas\.enable=false"):
        json_schema().from_connect(topic, None, {"a": 1})


def test_an_incompatible_schema_fails_its_records_in_words(json_schema: Json, topic: str) -> None:
    converter = json_schema()
    message = written(converter, topic, ORDER, {"id": 1, "name": "a"})
    other = struct({"id": STRING, "name": OPTIONAL_STRING}, name="shop.Order")
    for _ in range(2):
        with pytest.raises(DataError, match=rf"subject {topic}-value: the registry rejects it as incompatible"):
            converter.from_connect(topic, other, {"id": "x", "name": None})
    assert converter.from_connect(topic, ORDER, {"id": 1, "name": "a"}) == message


def test_records_are_compared_with_the_latest_schema(json_schema: Json, registry: Registry, topic: str) -> None:
    latest = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    number = registry.register(f"{topic}-value", latest, kind="JSON")
    latest_only = {"auto_register_schemas": "false", "use_latest_version": "true"}
    converter = json_schema(**latest_only)
    message = written(converter, topic, ORDER, {"id": 1, "name": "a"})
    assert message == prefix(number) + b'{"id":1,"name":"a"}'
    with pytest.raises(DataError, match=r"does not fit its JSON Schema: at \$\.id: the value violates 'type'"):
        converter.from_connect(topic, struct({"id": STRING}), {"id": "secret"})
    lenient = json_schema(**latest_only, latest_compatibility_strict="false")
    assert written(lenient, topic, struct({"id": STRING}), {"id": "x"}) == prefix(number) + b'{"id":"x"}'


def test_schemas_that_refer_to_others_are_read(json_schema: Json, registry: Registry, topic: str) -> None:
    color = {"$schema": DRAFT, "$id": "http://shop/color.json", "type": "string", "enum": ["RED", "BLUE"]}
    registry.register(f"{topic}-color", color, kind="JSON")
    part = {"type": "object", "properties": {"color": {"$ref": "http://shop/color.json"}}}
    of_color = [{"name": "http://shop/color.json", "subject": f"{topic}-color", "version": 1}]
    registry.register(f"{topic}-part", part, kind="JSON", references=of_color)
    of_part = [{"name": "part.json", "subject": f"{topic}-part", "version": 1}]
    whole = {"type": "object", "properties": {"parts": {"type": "array", "items": {"$ref": "part.json"}}}}
    number = registry.register(f"{topic}-value", whole, kind="JSON", references=of_part)
    message = prefix(number) + b'{"parts":[{"color":"BLUE"},{"color":"GREEN"}]}'
    schema, value = json_schema().to_connect(topic, message)
    assert value == {"parts": [{"color": "BLUE"}, {"color": "GREEN"}]}
    assert schema is not None
    assert schema.fields[0].schema.items is not None
    with pytest.raises(DataError, match=r"at \$\.parts\[1\]\.color: the value violates 'enum'"):
        json_schema(json_fail_invalid_schema="true").to_connect(topic, message)


def test_a_schema_that_contains_itself_fails_its_records_by_name(
    json_schema: Json, registry: Registry, topic: str
) -> None:
    node = {"type": "object", "properties": {"next": {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/node"}]}}}
    number = registry.register(
        f"{topic}-value", {"$schema": DRAFT, "$ref": "#/definitions/node", "definitions": {"node": node}}, kind="JSON"
    )
    with pytest.raises(DataError, match="the definition #/definitions/node contains itself"):
        json_schema().to_connect(topic, prefix(number) + b'{"next":null}')


def test_a_message_of_another_format_fails(json_schema: Json, topic: str) -> None:
    converter = json_schema()
    for message, words in ((b"\x01abcdefg", "unknown magic byte 0x01"), (b"{}", "2 bytes"), (b"", "0 bytes")):
        with pytest.raises(DataError, match=words):
            converter.to_connect(topic, message)
    good = written(converter, topic, ORDER, {"id": 1, "name": "a"})
    for data in (b"", b"{", b"\xff", b"{} x", b'{"id":' + b"9" * 5_000 + b"}", b"[" * 100_000):
        with pytest.raises(DataError, match="its text is not JSON"):
            converter.to_connect(topic, good[:5] + data)
        with pytest.raises(DataError):
            converter.to_connect_batch(topic, [good, good[:5] + data])


def test_a_schema_of_another_kind_is_named(json_schema: Json, registry: Registry, topic: str) -> None:
    number = registry.register(f"{topic}-value", {"type": "record", "name": "R", "fields": []})
    with pytest.raises(DataError, match="its type is AVRO, and the converter is for JSON"):
        json_schema().to_connect(topic, prefix(number) + b"{}")


def test_an_id_that_the_registry_does_not_have_is_asked_for_once(json_schema: Json, proxy: Proxy, topic: str) -> None:
    converter = json_schema(schema_registry_url=proxy.url)
    for _ in range(10):
        with pytest.raises(DataError, match="cannot find the schema with id 99999999: it does not exist"):
            converter.to_connect(topic, prefix(99_999_999) + b"{}")
    assert len(proxy.requests) == 1


def test_messages_of_a_deleted_subject_are_read(json_schema: Json, registry: Registry, topic: str) -> None:
    message = written(json_schema(), topic, ORDER, {"id": 1, "name": "a"})
    registry.ask("DELETE", f"/subjects/{topic}-value")
    assert json_schema().to_connect(topic, message)[1] == {"id": 1, "name": "a"}


def test_decimals_are_numbers_if_asked(json_schema: Json, topic: str) -> None:
    schema = struct({"price": decimal(2)})
    converter = json_schema(decimal_format="numeric")
    message = written(converter, topic, schema, {"price": Decimal("12.30")})
    assert message[5:] == b'{"price":12.30}'
    assert converter.to_connect(topic, message)[1] == {"price": Decimal("12.30")}


@pytest.mark.slow  # it takes the registry ten seconds
def test_a_schema_of_a_megabyte_is_registered_and_read(json_schema: Json, topic: str) -> None:
    wide = struct({f"field_{'x' * 60}_{n}": array_of(OPTIONAL_STRING) for n in range(8_000)}, name="shop.W")
    value = {f.name: [None] for f in wide.fields}
    assert json_schema().to_connect(topic, written(json_schema(), topic, wide, value))[1] == value


def test_equal_schemas_are_registered_once(json_schema: Json, proxy: Proxy, topic: str) -> None:
    converter = json_schema(schema_registry_url=proxy.url)
    for n in range(10):
        again = struct({"id": INT32, "name": OPTIONAL_STRING}, name="shop.Order")
        converter.from_connect(topic, again, {"id": n, "name": None})
    assert len(proxy.requests) == 1
