"""Protobuf with a real registry that checks compatibility."""

from collections.abc import Callable
from typing import Any

import pytest
from connectors.registry.tests.protobuf.generated import generated
from connectors.registry.tests.servers import Proxy, Registry

from penstock import DataError, Fields, Schema
from penstock.schema import BYTES, INT32, INT64, OPTIONAL_STRING, STRING, array_of, struct
from penstock_registry.protobuf.converter import ProtobufConverter
from penstock_registry.wire import prefix, schema_id, shown

Protobuf = Callable[..., ProtobufConverter]
ORDER = struct({"id": INT64, "name": OPTIONAL_STRING}, name="shop.Order")
WIDER = struct({"id": INT64, "name": OPTIONAL_STRING, "note": OPTIONAL_STRING}, name="shop.Order")
TEXT = 'syntax = "proto3";\npackage shop;\n\nmessage Order {\n  int64 id = 1;\n  string name = 2;\n}\n'


def written(converter: ProtobufConverter, topic: str, schema: Any, value: Any) -> bytes:
    message = converter.from_connect(topic, schema, value)
    assert message is not None
    return message


def register(registry: Registry, subject: str, text: str, references: Any = ()) -> int:
    """Register a schema as others do."""
    body = {"schema": text, "schemaType": "PROTOBUF", "references": list(references)}
    number: int = registry.ask("POST", f"/subjects/{subject}/versions", body)["id"]
    return number


def shape(schema: Schema | None) -> Any:
    assert schema is not None
    return schema.name, schema.version, [(f.name, f.schema.type.value) for f in schema.fields]


def test_a_message_is_the_id_the_index_and_bytes_that_protobufs_own_class_reads(
    protobuf: Protobuf, registry: Registry, topic: str
) -> None:
    message = written(protobuf(), topic, ORDER, {"id": 1, "name": "a"})
    number = schema_id(message)
    assert message == prefix(number) + b"\0\x08\x01\x12\x01a"
    found = registry.ask("GET", f"/schemas/ids/{shown(number)}")
    assert (found["schema"], found["schemaType"]) == (TEXT, "PROTOBUF")
    assert f"{topic}-value" in registry.subjects()
    assert generated(TEXT).Order.FromString(message[6:]).name == "a"


def test_what_was_written_is_read_with_the_version_of_the_schema(protobuf: Protobuf, topic: str) -> None:
    schema, value = protobuf().to_connect(topic, written(protobuf(), topic, ORDER, {"id": 1, "name": "é"}))
    assert value == {"id": 1, "name": "é"}
    assert shape(schema) == ("Order", 1, [("id", "int64"), ("name", "string")])


def test_nulls_stay_null_if_nullables_are_optional(protobuf: Protobuf, topic: str) -> None:
    converter = protobuf(optional_for_nullables="true")
    message = written(converter, topic, ORDER, {"id": 0, "name": None})
    assert converter.to_connect(topic, message)[1] == {"id": 0, "name": None}
    assert protobuf().to_connect(topic, message)[1] == {"id": 0, "name": None}


def test_a_primitive_is_a_wrapper_message_with_its_index(protobuf: Protobuf, topic: str) -> None:
    converter = protobuf(is_key=True)
    message = written(converter, topic, STRING, "k")
    assert message[5:] == b"\x02\x0e\x0a\x01k"
    schema, value = converter.to_connect(topic, message)
    assert (schema and schema.type, value) == (STRING.type, "k")


def test_a_tombstone_stays_one(protobuf: Protobuf, topic: str) -> None:
    converter = protobuf()
    assert converter.from_connect(topic, ORDER.as_optional(), None) is None
    assert converter.to_connect(topic, None) == (None, None)
    assert converter.from_connect_batch(topic, ORDER.as_optional(), [None, {"id": 1, "name": "a"}])[0] is None


def test_messages_of_several_schemas_and_indexes_are_read_in_one_batch(protobuf: Protobuf, topic: str) -> None:
    converter = protobuf(value_subject_name_strategy="TopicRecordNameStrategy")
    messages = [
        written(converter, topic, ORDER, {"id": 1, "name": "a"}),
        None,
        written(converter, topic, WIDER, {"id": 2, "name": "b", "note": "n"}),
        written(converter, topic, STRING, "s"),
        written(converter, topic, INT32, 5),
        written(converter, topic, ORDER, {"id": 3, "name": ""}),
    ]
    schemas, values = converter.to_connect_batch(topic, messages)
    assert isinstance(schemas, list)
    assert [schema and len(schema.fields) for schema in schemas] == [2, None, 3, 0, 0, 2]
    assert values == [
        {"id": 1, "name": "a"}, None, {"id": 2, "name": "b", "note": "n"}, "s", 5, {"id": 3, "name": ""},
    ]  # fmt: skip


def test_messages_of_one_schema_become_columns(protobuf: Protobuf, topic: str) -> None:
    converter = protobuf()
    rows = [{"id": n, "name": str(n)} for n in range(100)]
    messages = converter.from_connect_batch(topic, ORDER, rows)
    assert messages == [converter.from_connect(topic, ORDER, row) for row in rows]
    _, values = converter.to_connect_batch(topic, messages)
    assert isinstance(values, Fields)
    assert values.columns["id"] == list(range(100))
    assert list(values) == rows


def test_a_record_that_does_not_fit_fails_with_the_path_of_the_field_and_without_its_value(
    protobuf: Protobuf, topic: str
) -> None:
    inner = struct({"count": INT32, "tags": array_of(STRING)}, name="shop.In")
    schema = struct({"id": INT64, "in": inner}, name="shop.Order")
    for value, words in (
        ({"id": 2**63, "in": {"count": 1, "tags": []}}, "field 'id': the number is too large for int64"),
        ({"id": 1, "in": {"count": "secret", "tags": []}}, r"field 'in\.count': int32 is expected, not str"),
        (
            {"id": 1, "in": {"count": 1, "tags": ["secret", None]}},
            r"field 'in\.tags': Protobuf cannot encode an array that contains null",
        ),
        (
            {"id": 1, "in": {"count": 1, "tags": ["secret\udc80"]}},
            r"field 'in\.tags': the string cannot be encoded in UTF-8",
        ),
        ({"id": 1, "in": None}, "field 'in': null is not allowed"),
    ):
        with pytest.raises(DataError, match=words) as caught:
            protobuf().from_connect(topic, schema, value)
        assert "secret" not in str(caught.value)
        with pytest.raises(DataError):
            protobuf().from_connect_batch(topic, schema, [value])


def test_a_value_without_a_schema_is_refused(protobuf: Protobuf, topic: str) -> None:
    with pytest.raises(DataError, match="cannot write a value without a schema as Protobuf"):
        protobuf().from_connect(topic, None, {"a": 1})


def test_an_incompatible_schema_fails_its_records_in_words(protobuf: Protobuf, topic: str) -> None:
    converter = protobuf()
    message = written(converter, topic, ORDER, {"id": 1, "name": "a"})
    other = struct({"id": STRING, "name": INT64}, name="shop.Order")
    for _ in range(2):
        with pytest.raises(DataError, match=rf"{topic}-value: the registry rejects it as incompatible with"):
            converter.from_connect(topic, other, {"id": "1", "name": 2})
    assert converter.from_connect(topic, ORDER, {"id": 1, "name": "a"}) == message


LATEST = """syntax = "proto3";
package shop;
message Unrelated { bool x = 1; }
message Order {
  message Line { int32 count = 1; }
  optional string name = 7;
  sint64 id = 9;
  map<string, Line> lines = 3;
  enum State { OPEN = 0; CLOSED = 1; }
  State state = 4;
}
"""


def test_records_are_written_with_the_latest_schema_by_the_names_of_fields(
    protobuf: Protobuf, registry: Registry, topic: str
) -> None:
    number = register(registry, f"{topic}-value", LATEST)
    converter = protobuf(auto_register_schemas="false", use_latest_version="true")
    schema = struct({"id": INT64, "state": STRING, "dropped": BYTES, "name": STRING}, name="shop.Order")
    value = {"id": -1, "state": "CLOSED", "dropped": b"", "name": ""}
    message = written(converter, topic, schema, value)
    assert message == prefix(number) + b"\x02\x02" + b"\x20\x01\x3a\x00\x48\x01"
    assert converter.from_connect_batch(topic, schema, [value]) == [message]
    assert converter.to_connect(topic, message)[1] == {"name": "", "id": -1, "lines": {}, "state": "CLOSED"}


def test_a_latest_schema_that_does_not_fit_fails_the_record(protobuf: Protobuf, registry: Registry, topic: str) -> None:
    register(registry, f"{topic}-value", LATEST)
    converter = protobuf(auto_register_schemas="false", use_latest_version="true")
    for schema, value, words in (
        (
            struct({"id": STRING}, name="shop.Order"),
            {"id": ""},
            "field 'id': the registered schema has sint64 where .* string",
        ),
        (struct({"name": INT64}, name="shop.Order"), {"name": 1}, "field 'name': the registered schema has string"),
        (
            struct({"state": STRING}, name="shop.Order"),
            {"state": "X"},
            "field 'state': the string is not a symbol of .* State",
        ),
        (struct({"id": INT64}, name="shop.Missing"), {"id": 1}, r"several messages, and none is named shop\.Missing"),
    ):
        with pytest.raises(DataError, match=words):
            converter.from_connect(topic, schema, value)


def test_schemas_that_refer_to_others_are_read(protobuf: Protobuf, registry: Registry, topic: str) -> None:
    register(registry, f"{topic}-color", 'syntax = "proto3";\npackage shop;\nenum Color { RED = 0; BLUE = 1; }\n')
    of_color = {"name": "shop/color.proto", "subject": f"{topic}-color", "version": 1}
    part = (
        'syntax = "proto3";\npackage shop;\nimport "shop/color.proto";\nimport "google/protobuf/timestamp.proto";\n'
        "message Part { Color color = 1; google.protobuf.Timestamp at = 2; }\n"
    )
    register(registry, f"{topic}-part", part, [of_color])
    of_part = {"name": "shop/part.proto", "subject": f"{topic}-part", "version": 1}
    whole = 'syntax = "proto3";\npackage shop;\nimport "shop/part.proto";\nmessage Whole { repeated Part parts = 1; }\n'
    number = register(registry, f"{topic}-value", whole, [of_part])
    _, value = protobuf().to_connect(topic, prefix(number) + b"\0\x0a\x02\x08\x01\x0a\x00")
    assert value == {"parts": [{"color": "BLUE", "at": None}, {"color": "RED", "at": None}]}


def test_a_message_of_another_format_fails(protobuf: Protobuf, topic: str) -> None:
    for message, words in ((b"\x01abcdefg", "unknown magic byte 0x01"), (b"{}", "2 bytes"), (b"", "0 bytes")):
        with pytest.raises(DataError, match=words):
            protobuf().to_connect(topic, message)


def test_a_schema_of_another_kind_is_named(protobuf: Protobuf, registry: Registry, topic: str) -> None:
    number = registry.register(f"{topic}-value", {"type": "string"})
    with pytest.raises(DataError, match="its type is AVRO, and the converter is for PROTOBUF"):
        protobuf().to_connect(topic, prefix(number) + b"\0")


def test_messages_of_a_deleted_subject_are_read(protobuf: Protobuf, registry: Registry, topic: str) -> None:
    message = written(protobuf(), topic, ORDER, {"id": 1, "name": "a"})
    registry.ask("DELETE", f"/subjects/{topic}-value")
    assert protobuf().to_connect(topic, message)[1] == {"id": 1, "name": "a"}


def test_a_schema_is_registered_once_for_all_its_records(protobuf: Protobuf, proxy: Proxy, topic: str) -> None:
    converter = protobuf(schema_registry_url=proxy.url)
    for n in range(10):
        again = struct({"id": INT64, "name": OPTIONAL_STRING}, name="shop.Order")
        converter.from_connect(topic, again, {"id": n, "name": None})
    assert len(proxy.requests) == 1


def test_a_schema_that_java_has_registered_keeps_its_id(protobuf: Protobuf, registry: Registry, topic: str) -> None:
    """A connector that moves here finds its schema, whose text is that of Confluent's converter."""
    number = register(registry, f"{topic}-value", TEXT)
    assert schema_id(written(protobuf(auto_register_schemas="false"), topic, ORDER, {"id": 1, "name": ""})) == number


@pytest.mark.slow  # it takes the registry many seconds
def test_a_schema_of_a_megabyte_is_registered_and_read(protobuf: Protobuf, topic: str) -> None:
    part = {f"field_with_a_long_name_{'x' * 60}_{n}": array_of(STRING) for n in range(2_000)}
    wide = struct({f"part{n}": struct(part, name=f"Part{n}") for n in range(5)}, name="shop.W")
    value = {f.name: {name: ["a"] for name in part} for f in wide.fields}
    assert protobuf().to_connect(topic, written(protobuf(), topic, wide, value))[1] == value
