"""Texts of .proto files for Connect's schemas, as Confluent's converter registers them."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from penstock import DataError, RetriableError, Schema, Type
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock_registry.protobuf import names
from penstock_registry.protobuf.compiler import compile_proto
from penstock_registry.protobuf.config import ProtobufConverterConfig
from penstock_registry.protobuf.from_schema import proto_text
from penstock_registry.protobuf.reader import ProtobufReader
from penstock_registry.protobuf.settings import ProtobufSettings

PLAIN = ProtobufSettings()
HEAD = 'syntax = "proto3";\n'


def tagged(schema: Schema, number: int, **parameters: str) -> Schema:
    more = {f"io.confluent.connect.protobuf.{name}": value for name, value in parameters.items()}
    return replace(schema, parameters={**(schema.parameters or {}), **more, names.TAG: str(number)})


def enum(name: str, **symbols: int) -> Schema:
    numbers = {f"{names.ENUM}.{symbol}": str(number) for symbol, number in symbols.items()}
    return Schema(Type.STRING, name=name, parameters={names.ENUM: name.rpartition(".")[2], **numbers})


UNION = struct(
    {"card": tagged(OPTIONAL_STRING, 2), "cash": tagged(INT64.as_optional(), 3)},
    name=f"{names.UNION}.payment",
    optional=True,
)

CASES = {
    "numbers follow the order of fields": (
        struct({"id": INT64, "name": OPTIONAL_STRING, "ok": BOOLEAN, "x": FLOAT64, "b": BYTES}, name="shop.Order"),
        PLAIN,
        HEAD
        + "package shop;\n\nmessage Order {\n  int64 id = 1;\n  string name = 2;\n  bool ok = 3;\n  double x = 4;\n"
        "  bytes b = 5;\n}\n",
    ),
    "a struct without a name or fields": (struct({}), PLAIN, HEAD + "\nmessage ConnectDefault1 {}\n"),
    "numbers that were read stay": (
        struct({"a": tagged(INT32, 7), "b": tagged(INT64, 3, Type="sfixed64")}, name="A"),
        PLAIN,
        HEAD + "\nmessage A {\n  int32 a = 7;\n  sfixed64 b = 3;\n}\n",
    ),
    "small integers keep their type in an option": (
        struct({"a": INT8, "b": array_of(INT16)}, name="A"),
        PLAIN,
        HEAD + "\nmessage A {\n"
        '  int32 a = 1 [(confluent.field_meta) = {\n    params: [\n      {\n        key: "connect.type",\n'
        '        value: "int8"\n      }\n    ]\n  }];\n'
        '  repeated int32 b = 2 [(confluent.field_meta) = {\n    params: [\n      {\n        key: "connect.type",\n'
        '        value: "int16"\n      }\n    ]\n  }];\n}\n',
    ),
    "logical types are messages": (
        struct({"d": DATE, "t": TIME, "at": TIMESTAMP, "again": DATE}, name="A"),
        PLAIN,
        HEAD + '\nimport "google/type/date.proto";\nimport "google/type/timeofday.proto";\n'
        'import "google/protobuf/timestamp.proto";\n\nmessage A {\n  google.type.Date d = 1;\n'
        "  google.type.TimeOfDay t = 2;\n  google.protobuf.Timestamp at = 3;\n  google.type.Date again = 4;\n}\n",
    ),
    "decimals keep precision and scale": (
        struct({"d": replace(decimal(2), parameters={"scale": "2", names.CONNECT_PRECISION: "10"})}, name="A"),
        PLAIN,
        HEAD + '\nimport "confluent/type/decimal.proto";\n\nmessage A {\n'
        "  confluent.type.Decimal d = 1 [(confluent.field_meta) = {\n    params: [\n      {\n"
        '        value: "10",\n        key: "precision"\n      },\n      {\n        value: "2",\n        key: "scale"\n'
        "      }\n    ]\n  }];\n}\n",
    ),
    "nullable fields may be optional": (
        struct({"a": OPTIONAL_STRING, "b": STRING, "c": array_of(STRING, optional=True)}, name="A"),
        ProtobufSettings(optional_fields=True),
        HEAD + "\nmessage A {\n  optional string a = 1;\n  string b = 2;\n  repeated string c = 3;\n}\n",
    ),
    "nullable fields may be wrappers": (
        struct({"a": OPTIONAL_STRING, "b": STRING, "c": INT64.as_optional()}, name="A"),
        ProtobufSettings(wrapper_fields=True),
        HEAD + '\nimport "google/protobuf/wrappers.proto";\n\nmessage A {\n  google.protobuf.StringValue a = 1;\n'
        "  string b = 2;\n  google.protobuf.Int64Value c = 3;\n}\n",
    ),
    "structs and maps are messages inside": (
        struct({"a": struct({"x": INT32}, name="shop.In"), "m": map_of(STRING, struct({"y": INT32}))}, name="shop.A"),
        PLAIN,
        HEAD + "package shop;\n\nmessage A {\n  In a = 1;\n  repeated ConnectDefault1Entry m = 2;\n\n"
        "  message In {\n    int32 x = 1;\n  }\n"
        "  message ConnectDefault1Entry {\n    string key = 1;\n    ConnectDefault2 value = 2;\n  \n"
        "    message ConnectDefault2 {\n      int32 y = 1;\n    }\n  }\n}\n",
    ),
    "a map has the name that it had": (
        struct({"x_y": replace(map_of(STRING, INT32), name="x_y")}, name="A"),
        PLAIN,
        HEAD
        + "\nmessage A {\n  repeated XYEntry x_y = 1;\n\n  message XYEntry {\n    string key = 1;\n    int32 value = 2;\n"
        "  }\n}\n",
    ),
    "a message does not have the name of its field": (
        struct({"item": struct({"x": INT32}, name="item")}, name="A"),
        PLAIN,
        HEAD + "\nmessage A {\n  itemMessage item = 1;\n\n  message itemMessage {\n    int32 x = 1;\n  }\n}\n",
    ),
    "equal types are defined once": (
        struct({"a": struct({"x": INT32}, name="In"), "b": array_of(struct({"x": INT32}, name="In"))}, name="A"),
        PLAIN,
        HEAD + "\nmessage A {\n  In a = 1;\n  repeated In b = 2;\n\n  message In {\n    int32 x = 1;\n  }\n}\n",
    ),
    "enums have their symbols": (
        struct({"color": enum("shop.Color", RED=0, BLUE=5)}, name="A"),
        PLAIN,
        HEAD + "\nmessage A {\n  Color color = 1;\n\n  enum Color {\n    RED = 0;\n    BLUE = 5;\n  }\n}\n",
    ),
    "unions are oneofs": (
        struct({"payment_0": UNION, "id": tagged(INT64, 1)}, name="A"),
        PLAIN,
        HEAD
        + "\nmessage A {\n  int64 id = 1;\n\n  oneof payment {\n    string card = 2;\n    int64 cash = 3;\n  }\n}\n",
    ),
    "fields of a oneof are neither optional nor wrappers": (
        struct({"payment_0": UNION}, name="A"),
        ProtobufSettings(optional_fields=True, wrapper_fields=True),
        HEAD + "\nmessage A {\n  oneof payment {\n    string card = 2;\n    int64 cash = 3;\n  }\n}\n",
    ),
    "names are made valid": (
        struct({"order-id": INT64, "2nd": STRING, "_x": INT32}, name="my-shop.or der"),
        ProtobufSettings(scrub=True),
        HEAD + "package my_shop;\n\nmessage or_der {\n  int64 order_id = 1;\n  string x2nd = 2;\n  int32 x_x = 3;\n}\n",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_text_of_a_schema_is_that_of_confluents_converter_and_compiles(case: str) -> None:
    schema, settings, text = CASES[case]
    assert proto_text(schema, settings) == text
    assert len(compile_proto(text, {}).message_types_by_name) == 1


def test_a_primitive_is_one_of_the_wrappers_of_google() -> None:
    text = proto_text(STRING, PLAIN)
    assert text == proto_text(INT8, PLAIN)
    assert text.startswith(HEAD + 'package google.protobuf;\n\noption java_package = "com.google.protobuf";\n')
    assert list(compile_proto(text, {}).message_types_by_name)[4:8] == [
        "Int32Value",
        "UInt32Value",
        "BoolValue",
        "StringValue",
    ]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (DATE, "cannot write org.apache.kafka.connect.data.Date as a whole"),
        (array_of(STRING), "cannot write the type array as a whole"),
        (map_of(STRING, STRING), "cannot write the type map as a whole"),
        (struct({"a": array_of(array_of(STRING))}), "field 'a': an array of array has no type in Protobuf"),
        (struct({"a": struct({"b": array_of(map_of(STRING, STRING))})}), "field 'a.b': an array of map has no type"),
        (struct({"a-b": INT32}), r"field 'a-b': the name 'a-b' is not valid in Protobuf.*scrub\.invalid\.names=true"),
        (struct({"a": INT32}, name="my-shop.A"), "the name 'my-shop' is not valid"),
        (
            struct({"a": struct({"x": INT32}, name="In"), "b": struct({"y": INT32}, name="In")}),
            "field 'b': two different types have the name In",
        ),
        (struct({"a": INT32, "b": tagged(INT32, 1)}), "'a' and 'b' of ConnectDefault1 have the same number 1"),
        (
            struct({"a": replace(INT32, parameters={names.TAG: "x"})}),
            f"the parameter {names.TAG} of the field 'a' is not a number",
        ),
        (
            struct({"u": struct({"a": INT32}, name=f"{names.UNION}.u")}),
            "field 'u': the field 'a' of a oneof has no number; set the parameter",
        ),
        (
            struct({"u": struct({"a": tagged(array_of(INT32), 1)}, name=f"{names.UNION}.u")}),
            "field 'u': the field 'a' of a oneof is an array",
        ),
    ],
)
def test_a_schema_that_protobuf_cannot_have_is_refused_with_the_path_of_the_field(schema: Schema, words: str) -> None:
    with pytest.raises(DataError, match=words):
        proto_text(schema, PLAIN)


def test_records_wait_while_protoc_cannot_be_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    text = 'syntax = "proto3"; message Waits { int32 x = 1; }'
    with pytest.raises(RetriableError, match="cannot run protoc: FileNotFoundError") as failed:
        compile_proto(text, {})
    assert failed.value.outage
    monkeypatch.undo()
    assert list(compile_proto(text, {}).message_types_by_name) == ["Waits"]


@pytest.mark.parametrize(
    ("depth", "fields", "cause"),
    [(60, "{0} a = 1; {0} b = 2;", "has more than 100000 fields"), (2000, "{0} a = 1;", "it is nested too deeply")],
)
def test_a_text_that_unfolds_without_end_is_refused(depth: int, fields: str, cause: str) -> None:
    inner = "".join(f"message A{i} {{ {fields.format(f'A{i + 1}')} }}" for i in range(depth))
    file = compile_proto(f'syntax = "proto3"; {inner} message A{depth} {{ int32 x = 1; }}', {})
    settings = ProtobufConverterConfig.parse({"schema.registry.url": "http://h"}).settings
    with pytest.raises(DataError, match=cause):
        ProtobufReader(file, settings, None).read(b"\0")
