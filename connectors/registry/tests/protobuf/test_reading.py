"""Messages of others, in the words of Protobuf's own library, as Connect's schemas and values."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from connectors.registry.tests.protobuf.generated import generated

from penstock import DataError, Fields, Instant, Schema, Type
from penstock.schema import INT32, INT64, STRING, map_of
from penstock_registry.protobuf import names
from penstock_registry.protobuf.compiler import compile_proto
from penstock_registry.protobuf.from_schema import message_name, proto_text
from penstock_registry.protobuf.messages import find_message
from penstock_registry.protobuf.reader import ProtobufReader
from penstock_registry.protobuf.settings import ProtobufSettings
from penstock_registry.protobuf.writer import ProtobufWriter

PLAIN = ProtobufSettings()
ORDER = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";
message Order {
  int64 id = 1;
  optional string note = 2;
  oneof payment { string card = 3; Cash cash = 4; google.protobuf.Int32Value points = 5; }
  enum State { OPEN = 0; CLOSED = 3; }
  State state = 6;
  repeated State history = 7;
  map<string, Line> lines = 8;
  message Line { double price = 1; repeated bytes tags = 2; }
  repeated Line extra = 9;
  Line first = 10;
  google.protobuf.Timestamp at = 11;
  google.type.Date day = 12;
  google.type.TimeOfDay time = 13;
  google.protobuf.StringValue comment = 14;
  uint64 big = 15;
  fixed32 wide = 16;
  sint32 signed = 17;
  bool from = 18;
}
message Cash { float amount = 1; }
"""
EMPTY: dict[str, Any] = {
    "payment_0": None, "id": 0, "note": None, "state": "OPEN", "history": [], "lines": {}, "extra": [], "first": None,
    "at": None, "day": None, "time": None, "comment": None, "big": 0, "wide": 0, "signed": 0, "from": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def shop() -> Any:
    return generated(ORDER)


def full(shop: Any) -> Any:
    order = shop.Order(
        id=2**40, note="n", cash={"amount": 0.5}, state=3, history=[3, 0], big=2**64 - 1, wide=2**32 - 1, signed=-1
    )
    order.lines["a"].price = 1.5
    order.extra.add(tags=[b"\0", b""])
    order.first.SetInParent()
    order.at.seconds, order.at.nanos = -1, 999_000_000
    order.day.year, order.day.month, order.day.day = 1969, 12, 31
    order.time.hours, order.time.nanos = 1, 2_000_000
    order.comment.value = "c"
    setattr(order, "from", True)
    return order


FULL: dict[str, Any] = {
    "payment_0": {"card": None, "cash": {"amount": 0.5}, "points": None}, "id": 2**40, "note": "n", "state": "CLOSED",
    "history": ["CLOSED", "OPEN"], "lines": {"a": {"price": 1.5, "tags": []}},
    "extra": [{"price": 0.0, "tags": [b"\0", b""]}], "first": {"price": 0.0, "tags": []},
    "at": Instant(-1), "day": Instant(-86_400_000), "time": Instant(3_600_002), "comment": {"value": "c"},
    "big": -1, "wide": 2**32 - 1, "signed": -1, "from": True,
}  # fmt: skip


def reader(settings: ProtobufSettings = PLAIN, text: str = ORDER) -> ProtobufReader:
    return ProtobufReader(compile_proto(text, {}), settings, None)


def read(message: Any, settings: ProtobufSettings = PLAIN, text: str = ORDER) -> Any:
    return reader(settings, text).read(b"\0" + message.SerializeToString())[1]


def field(schema: Schema | None, name: str) -> Schema:
    assert schema is not None
    found = schema.field(name)
    assert found is not None
    return found.schema


def test_every_type_of_field_is_read(shop: Any) -> None:
    assert read(full(shop)) == FULL
    assert read(shop.Order()) == EMPTY


def test_messages_of_one_schema_become_columns_with_equal_values(shop: Any) -> None:
    data = [b"\0" + each.SerializeToString() for each in (full(shop), shop.Order(), full(shop))]
    _, rows = reader().read_all(data)
    assert isinstance(rows, Fields)
    assert list(rows) == [FULL, EMPTY, FULL]


def test_what_was_read_is_written_so_that_the_librarys_class_reads_it(shop: Any) -> None:
    for settings in (PLAIN, ProtobufSettings(full_names=True), ProtobufSettings(optional_fields=True)):
        schema, value = reader(settings).read(b"\0" + full(shop).SerializeToString())
        assert schema is not None
        file = compile_proto(proto_text(schema, settings), {})
        message = find_message(file, message_name(schema, settings))
        assert message is not None
        data = ProtobufWriter(schema, message, settings).write(value)
        assert data is not None
        assert shop.Order.FromString(data[1:]) == full(shop)


def test_fields_keep_their_numbers_types_and_symbols() -> None:
    schema = reader().read(b"\0")[0]
    assert schema is not None
    assert (schema.name, schema.type, schema.optional) == ("Order", Type.STRUCT, False)
    assert field(schema, "id") == replace(INT64, optional=True, parameters={names.TAG: "1"})
    assert field(schema, "big").parameters == {names.TYPE: "uint64", names.TAG: "15"}
    state = {names.ENUM: "State", f"{names.ENUM}.OPEN": "0", f"{names.ENUM}.CLOSED": "3", names.TAG: "6"}
    assert field(schema, "state") == Schema(Type.STRING, optional=True, name="State", parameters=state)
    assert field(schema, "payment_0").name == f"{names.UNION}.payment"
    assert [each.name for each in field(schema, "payment_0").fields] == ["card", "cash", "points"]
    assert field(schema, "lines").name == "lines"
    assert field(schema, "comment").fields[0].name == "value"


def test_names_have_the_package_with_enhanced_support() -> None:
    schema = reader(ProtobufSettings(full_names=True)).read(b"\0")[0]
    assert schema is not None
    assert schema.name == "shop.Order"
    assert field(schema, "state").name == "shop.Order.State"
    assert field(schema, "payment_0").name == f"{names.UNION}.shop.Order.payment"
    assert field(schema, "lines").name == "shop.Order.lines"


def test_an_empty_text_is_not_null(shop: Any) -> None:
    assert (read(shop.Order(note=""))["note"], read(shop.Order())["note"]) == ("", None)


def test_only_optional_fields_are_nullable_if_nullables_are_optional() -> None:
    schema = reader(ProtobufSettings(optional_fields=True)).read(b"\0")[0]
    assert not field(schema, "id").optional
    assert field(schema, "note").optional
    assert field(schema, "first").optional


def test_wrappers_are_nullable_primitives_if_nullables_are_wrappers(shop: Any) -> None:
    settings = ProtobufSettings(wrapper_fields=True)
    schema, value = reader(settings).read(b"\0" + full(shop).SerializeToString())
    assert value == {**FULL, "comment": "c"}
    assert field(schema, "comment") == replace(STRING, optional=True, parameters={names.TAG: "14"})
    assert not field(schema, "id").optional
    assert field(field(schema, "payment_0"), "points").parameters == {names.WRAPPER: "true", names.TAG: "5"}
    assert read(shop.Order(), settings) == EMPTY


def test_enums_may_be_numbers(shop: Any) -> None:
    assert read(shop.Order(state=3, history=[0]), ProtobufSettings(int_enums=True)) == {
        **EMPTY,
        "state": 3,
        "history": [0],
    }


def test_a_symbol_that_the_schema_does_not_have_is_named_as_in_java(shop: Any) -> None:
    assert read(shop.Order(state=9))["state"] == "UNKNOWN_ENUM_VALUE_State_9"


def test_fields_of_oneofs_may_be_fields_of_the_message(shop: Any) -> None:
    value = read(shop.Order(card=""), ProtobufSettings(flat_unions=True))
    assert (value["card"], value["cash"], value["points"], "payment_0" in value) == ("", None, None, False)


def test_names_of_oneofs_may_be_without_an_index(shop: Any) -> None:
    assert read(shop.Order(card="x"), ProtobufSettings(indexed_unions=False))["payment"]["card"] == "x"


def test_messages_that_are_not_set_may_be_structs_of_defaults(shop: Any) -> None:
    value = read(shop.Order(), ProtobufSettings(null_structs=True))
    assert value == {**EMPTY, "first": {"price": 0.0, "tags": []}, "comment": {"value": ""}}


PROTO2 = """
syntax = "proto2";
package shop;
message Old {
  required int32 id = 1;
  optional int32 count = 2 [default = 7];
  optional group Result = 3 { optional string url = 1; }
}
"""


def test_proto2_is_read_with_nulls_or_with_defaults() -> None:
    old = generated(PROTO2).Old(id=1, result={"url": "u"})
    assert read(old, PLAIN, PROTO2) == {"id": 1, "count": None, "result": {"url": "u"}}
    assert read(old, ProtobufSettings(proto2_optional=False), PROTO2)["count"] == 7


def test_texts_that_are_not_valid_in_utf8_are_replaced_in_proto2_and_fail_in_proto3() -> None:
    text = "message A { repeated string a = 1; }"
    assert reader(PLAIN, text).read(b"\0\x0a\x02a\xff")[1] == {"a": ["a\ufffd"]}
    with pytest.raises(DataError, match="its bytes do not fit its schema"):
        reader(PLAIN, f'syntax = "proto3"; {text}').read(b"\0\x0a\x02a\xff")


WRAPPER = 'syntax = "proto3"; package google.protobuf; message UInt64Value { uint64 value = 1; }'


def test_a_wrapper_as_a_whole_is_its_value_or_a_struct() -> None:
    data = b"\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    assert reader(PLAIN, WRAPPER).read(data) == (INT64, -1)
    assert reader(ProtobufSettings(raw_primitives=False), WRAPPER).read(data)[1] == {"value": -1}


JAVA = """
syntax = "proto3";
package shop;
import "confluent/type/decimal.proto";
option java_multiple_files = true;
message Row {
  int32 small = 1 [(confluent.field_meta) = { params: [ { key: "connect.type", value: "int8" } ] }];
  confluent.type.Decimal price = 2 [(confluent.field_meta) = { params: [ { value: "2", key: "scale" },
    { value: "9", key: "precision" } ] }];
  repeated .shop.Row.FooBarEntry foo_bar = 3 [json_name = "fooBar"];
  message FooBarEntry {
    option map_entry = true;
    string key = 1 [json_name = "key"];
    int32 value = 2 [json_name = "value"];
  }
  message Other { bool ok = 1; }
}
"""


def test_texts_that_java_registers_are_compiled() -> None:
    """These have Confluent's options without an import, and entries of maps as messages, which count in the indexes."""
    data = (
        b"\0\x08\x80\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x08\n\x02\x04\xd2\x10\x04\x18\x02\x1a\x05\n\x01a\x10\x05"
    )
    schema, value = reader(PLAIN, JAVA).read(data)
    assert value == {"small": -128, "price": Decimal("12.34"), "foo_bar": {"a": 5}}
    assert field(schema, "small").type is Type.INT8
    assert field(schema, "price").parameters == {"scale": "2", names.CONNECT_PRECISION: "9", names.TAG: "2"}
    keys, values = (
        replace(each, optional=True, parameters={names.TAG: n}) for each, n in ((STRING, "1"), (INT32, "2"))
    )
    assert field(schema, "foo_bar") == replace(
        map_of(keys, values), optional=True, name="foo_bar", parameters={names.TAG: "3"}
    )
    assert reader(PLAIN, JAVA).read(b"\x04\x00\x02\x08\x01")[1] == {"ok": True}


@pytest.mark.parametrize(
    ("text", "data", "words"),
    [
        (
            'syntax = "proto3"; message A { A a = 1; }',
            b"\0",
            "message A contains itself, but schemas of Kafka Connect cannot be recursive",
        ),
        (
            'syntax = "proto3"; message A { B b = 1; } message B { repeated A a = 1; }',
            b"\0",
            "message A contains itself",
        ),
        ('syntax = "proto3"; message A {}', b"\x02\x02", r"its schema has no message at \[1\]"),
        ('syntax = "proto3"; message A {}', b"\x04\x00\x00", r"its schema has no message at \[0, 0\]"),
        ('syntax = "proto3"; message A {}', b"\x02\xff\xff\xff\xff\xff\xff", "its message indexes are damaged"),
        ('syntax = "proto3"; message A {}', b"", "its message indexes are damaged"),
        ('syntax = "proto3"; message A {}', b"\x01\x00", "its message indexes are damaged"),
        ('syntax = "proto3"; message A { int32 a = 1; }', b"\0\x0a\x05a", "its bytes do not fit its schema"),
        (
            'syntax = "proto3"; import "google/type/date.proto"; message A { google.type.Date d = 1; }',
            b"\0\x0a\x00",
            "cannot read a message as Protobuf: a google.type.Date is not a complete, valid date",
        ),
    ],
)
def test_what_connect_cannot_have_fails_in_words(text: str, data: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        reader(PLAIN, text).read(data)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", None),
        ("{", "schema.proto:1:1: Expected top-level statement"),
        ('syntax = "proto3"; message A { Missing x = 1; }', '"Missing" is not defined'),
        ('syntax = "proto3"; import "other.proto"; message A {}', "other.proto: File not found"),
        ('syntax = "proto3"; message A {' * 500, "schema.proto"),
    ],
)
def test_a_text_that_protoc_does_not_accept_is_refused_in_its_words(text: str, words: str | None) -> None:
    if words is None:
        assert not compile_proto(text, {}).message_types_by_name
        return
    for _ in range(2):
        with pytest.raises(DataError, match=f"cannot read a Protobuf schema: .*{words}"):
            compile_proto(text, {})


@pytest.mark.parametrize("path", ["/etc/x.proto", "../x.proto", "a/../../x.proto", ""])
def test_a_reference_is_not_written_outside_of_its_folder(path: str) -> None:
    with pytest.raises(DataError, match="is not the path of a file to import"):
        compile_proto('syntax = "proto3";', {path: 'syntax = "proto3";'})
