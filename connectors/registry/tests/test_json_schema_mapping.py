"""Schemas and values at the edges of what JSON Schema and Connect can represent."""

import json
import math
from decimal import Decimal
from typing import Any

import pytest

from penstock import DataError, Float32, Instant, Schema
from penstock.schema import (
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIME_NAME,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock_registry.json_schema.from_schema import json_schema_text
from penstock_registry.json_schema.reader import JsonReader
from penstock_registry.json_schema.settings import JsonSettings
from penstock_registry.json_schema.to_schema import connect_schema
from penstock_registry.json_schema.types import parse_json_schema
from penstock_registry.json_schema.validation import RecordValidator
from penstock_registry.json_schema.writer import JsonWriter
from penstock_registry.references import Reference

PLAIN = JsonSettings()
STRICT = JsonSettings(optional_unless_required=True)
TIME_OF_DAY = {"type": "integer", "connect.type": "int32", "title": TIME_NAME}
TEXT = {"type": "string"}
NUMBER = {"type": "number"}
PRICE = {**NUMBER, "title": decimal(2).name, "connect.type": "bytes", "connect.parameters": {"scale": "2"}}


def written(schema: Schema, value: Any, settings: JsonSettings = PLAIN) -> str:
    data = JsonWriter(schema, settings, None).write(value)
    assert data is not None
    return data.decode()


def read(schema: Any, text: str, settings: JsonSettings = PLAIN) -> Any:
    return JsonReader(parse_json_schema(json.dumps(schema)), settings, None, None).read(text.encode())[1]


def obj(**properties: Any) -> Any:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        (STRING, 5, r"at \$: string is expected, not int"),
        (STRING, None, r"at \$: null is not allowed"),
        (STRING, "\ud800", "a lone surrogate"),
        (INT8, 128, "the number is too large for int8"),
        (INT64, True, "int64 is expected, not bool"),
        (FLOAT64, 1, "float64 is expected, not int"),
        (struct({"a": array_of(struct({"b": INT32}))}), {"a": [{"b": 1}, {"b": "x"}]}, r"at \$\.a\[1\]\.b: int32"),
        (struct({"a": INT32}), {}, r"at \$\.a: null is not allowed"),
        (struct({"a": INT32}), [], r"at \$: a struct is expected, not list"),
        (map_of(STRING, INT32), {"secret": "x"}, r"at \$\{\}: int32 is expected, not str"),
        (map_of(INT32, INT32), {1: "x"}, r"at \$\{\}: int32"),
        (DATE, Instant(1), "a Date is expected, not an Instant with a time of day"),
        (DATE, 5, "an Instant is expected for a Date, not int"),
        (decimal(2), Decimal(1), "a Decimal with scale 2 is expected"),
    ],
)
def test_a_value_that_does_not_fit_fails_with_its_place_and_without_the_value(
    schema: Schema, value: Any, words: str
) -> None:
    with pytest.raises(DataError, match=words) as failure:
        written(schema, value)
    assert "secret" not in str(failure.value)


@pytest.mark.parametrize(
    ("schema", "text", "words"),
    [
        (TEXT, "5", r"at \$: a string is expected, not an integer"),
        (TEXT, "null", "null is not allowed"),
        (obj(a={"type": "integer"}), '{"a":1.5}', r"at \$\.a: an integer is expected, not a number"),
        (obj(a={"type": "integer"}), '{"a":1e400}', r"at \$\.a: an integer is expected, not a number"),
        (
            obj(a={"type": "integer", "connect.type": "int8"}),
            '{"a":300}',
            r"at \$\.a: the number is out of the range of int8",
        ),
        (TIME_OF_DAY, "86400001", r"out of the range of int32 \(.*Time\)"),
        (obj(a={"type": "boolean"}), '{"a":"secret"}', r"at \$\.a: a boolean is expected, not a string"),
        (obj(a=obj(b=TEXT)), '{"a":{"b":[]}}', r"at \$\.a\.b: a string is expected, not an array"),
        (obj(a=TEXT), "{}", r"at \$\.a: the property is missing.* use\.optional\.for\.nonrequired=true"),
        (obj(a=TEXT), "[]", r"at \$: an object is expected, not an array"),
        ({"type": "array", "items": TEXT}, '["x",{}]', r"at \$\[1\]: a string"),
        ({"type": "string", "connect.type": "bytes"}, '"*"', "the string is not Base64"),
        (PRICE, "1.234", "the number has more than 2 digits after the point"),
        (PRICE, "1e999999999", "the number has more than 10000 digits"),
        ({"oneOf": [TEXT, obj(a=TEXT)]}, '{"secret":1}', "the union has no schema for this value, an object"),
        ({"enum": [1, 2]}, "1", "a string is expected, not an integer"),
    ],
)
def test_a_message_that_does_not_fit_fails_with_its_place_and_without_the_value(
    schema: Any, text: str, words: str
) -> None:
    with pytest.raises(DataError, match=words) as failure:
        read(schema, text)
    assert "secret" not in str(failure.value)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, r"a part of it \(\{\} or true\) allows any value"),
        (True, "allows any value"),
        (False, "'false' on its own has no counterpart"),
        ({"type": "null"}, "'null' on its own has no counterpart"),
        ({"not": TEXT}, "'not' on its own has no counterpart"),
        ({"type": "array"}, r"an array has no schema for its elements \(items\)"),
        ({"type": "object", "connect.type": "map"}, r"a map has no schema for its values \(additionalProperties\)"),
        ({"type": "boolean", "enum": [True]}, "a combination of enum, boolean has no counterpart"),
        (
            {"type": "integer", "connect.type": "int7"},
            "connect.type of a number is 'int7', which is not one of int8, int16",
        ),
        ({"type": "text"}, "KeyError: 'text'"),
        ({"type": "string", "title": TIME_NAME}, "names a logical type that is not stored as string"),
        ({**PRICE, "connect.parameters": {}}, "the parameter 'scale' of its schema is missing"),
        ([], "cannot read a JSON Schema"),
        (obj(a={"$ref": "#/definitions/a"}), "the reference #/definitions/a cannot be resolved; register"),
        (obj(a={"$ref": "http://example.com/a.json"}), "the reference http://example.com/a.json cannot be resolved"),
        (obj(next={"oneOf": [{"type": "null"}, {"$ref": "#"}]}), "the definition # contains itself"),
        ({"$ref": "#"}, "the definition # contains itself"),
        ({"type": "array", "items": {"$ref": "#"}}, "the definition # contains itself"),
        (
            {
                "allOf": [{"$ref": "#/definitions/a"}],
                "definitions": {"a": obj(b={"allOf": [{"$ref": "#/definitions/a"}]})},
            },
            "the definition #/definitions/a contains itself",
        ),
        (
            {
                "allOf": [{"$ref": "#/definitions/a"}, obj(c=TEXT)],
                "definitions": {"a": obj(b={"allOf": [{"$ref": "#/definitions/a"}, obj(c=TEXT)]})},
            },
            "the definition of allOf contains itself",
        ),
        ({"allOf": [{"$ref": "#"}]}, "the definition # contains itself"),
    ],
)
def test_a_schema_without_a_counterpart_is_refused_in_words(schema: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        connect_schema(parse_json_schema(json.dumps(schema)), PLAIN)


def test_a_schema_that_is_nested_too_deeply_is_refused() -> None:
    text = '{"type":"array","items":' * 5_000 + "true" + "}" * 5_000
    with pytest.raises(DataError, match="cannot read a JSON Schema"):
        connect_schema(parse_json_schema(text), PLAIN)


def test_a_property_without_an_index_takes_none_from_another() -> None:
    schema = obj(b={**TEXT, "connect.index": 1}, a=TEXT, z={**TEXT, "connect.index": 0})
    found = connect_schema(parse_json_schema(json.dumps(schema)), PLAIN)
    assert {f.name for f in found.fields} == {"a", "b", "z"}


def test_properties_that_are_not_required_may_be_missing_if_asked() -> None:
    schema = {**obj(a=TEXT, b=TEXT), "required": ["a"]}
    assert read(schema, '{"a":"x"}', STRICT) == {"b": None, "a": "x"}
    with pytest.raises(DataError, match=r"at \$\.a: the property is missing"):
        read(schema, '{"b":"x"}', STRICT)


def test_a_property_with_a_single_alternative_may_be_missing_if_asked() -> None:
    assert read(obj(a={"oneOf": [TEXT]}), "{}", STRICT) == {"a": None}


def test_a_definition_may_be_used_several_times() -> None:
    color = {"type": "string", "enum": ["RED"]}
    both = {"allOf": [obj(a={"$ref": "#/definitions/color"}), obj(b={"$ref": "#/definitions/color"})]}
    schema = {
        **obj(x={"$ref": "#/definitions/both"}, y={"$ref": "#/definitions/both"}),
        "definitions": {"color": color, "both": both},
    }
    value = {"a": "RED", "b": "RED"}
    assert read(schema, json.dumps({"x": value, "y": value})) == {"x": value, "y": value}


def test_a_default_replaces_null_in_both_directions() -> None:
    schema = struct({"a": Schema(STRING.type, optional=True, default="d")})
    assert written(schema, {"a": None}) == '{"a":"d"}'
    assert written(schema, {"a": None}, JsonSettings(null_stays=True)) == '{"a":null}'
    of = json.loads(json_schema_text(schema, PLAIN))
    assert read(of, '{"a":null}') == read(of, "{}") == {"a": "d"}


def test_an_invalid_default_has_no_effect() -> None:
    schema = connect_schema(parse_json_schema('{"type":"integer","default":"x"}'), PLAIN)
    assert (schema.type, schema.default) == ("int64", None)


def test_numbers_that_json_does_not_have_are_strings() -> None:
    schema = array_of(FLOAT64)
    text = written(schema, [math.inf, -math.inf, math.nan])
    assert text == '["Infinity","-Infinity","NaN"]'
    first, second, third = read({"type": "array", "items": NUMBER}, text)
    assert (first, second) == (math.inf, -math.inf)
    assert math.isnan(third)


def test_floats_have_the_digits_of_their_precision() -> None:
    nearest = 0.10000000149011612
    assert written(array_of(FLOAT32), [nearest, Float32(16777216.0), -0.0, 1e-45]) == "[0.1,16777216.0,-0.0,1e-45]"
    assert written(FLOAT64, nearest) == "0.10000000149011612"


def test_floats_of_32_bits_are_read_as_such() -> None:
    of = {**NUMBER, "connect.type": "float32"}
    assert read(of, "0.1") == 0.10000000149011612
    assert read(of, "-1e39") == -math.inf


def test_a_decimal_that_is_a_number_has_the_scale_of_the_schema() -> None:
    assert read(PRICE, "12") == Decimal("12.00")
    assert str(read(PRICE, "12.5")) == "12.50"
    assert str(read({"oneOf": [{"type": "null"}, obj(p=PRICE)]}, '{"p":0.1}')["p"]) == "0.10"


def test_bytes_of_a_union_are_read() -> None:
    union = {"oneOf": [{"type": "integer"}, {"type": "string", "connect.type": "bytes"}]}
    assert list(read(union, '"AP8="').values()) == [None, b"\0\xff"]
    assert written(BYTES, b"\0\xff") == '"AP8="'


def test_the_keys_of_a_map_are_read_as_what_they_are() -> None:
    schema = map_of(INT32, OPTIONAL_STRING)
    text = written(schema, {1: "a", 2: None})
    assert text == '[{"key":1,"value":"a"},{"key":2,"value":null}]'
    assert read(json.loads(json_schema_text(schema, PLAIN)), text) == {1: "a", 2: None}


@pytest.mark.parametrize(
    ("schema", "document", "words"),
    [
        (obj(a=TEXT), {"a": "secret"}, None),
        (obj(a={"type": "integer"}), {"a": "secret"}, r"at \$\.a: the value violates 'type'"),
        ({**obj(a=TEXT), "required": ["a", "b"]}, {"a": "secret"}, r"at \$: the value violates 'required'"),
        (
            {**obj(a=TEXT), "additionalProperties": False},
            {"secret": "x"},
            r"at \$: the value violates 'additionalProperties'",
        ),
        ({"type": "object", "additionalProperties": TEXT}, {"secret": 1}, r"at \$\{\}: the value violates 'type'"),
        (obj(a={"type": "array", "items": TEXT}), {"a": ["x", 5]}, r"at \$\.a\[1\]: the value violates 'type'"),
        (obj(a={"oneOf": [{"type": "null"}, obj(b=TEXT)]}), {"a": {"b": 5}}, r"at \$\.a"),
        (obj(a={"$ref": "other.json"}), {"a": 5}, r"at \$\.a: the value violates 'type'"),
        (obj(a={"$ref": "missing.json"}), {"a": 5}, "the reference missing.json cannot be resolved"),
        (
            obj(a={"$ref": "http://example.com/a.json"}),
            {"a": 5},
            "the reference http://example.com/a.json cannot be resolved",
        ),
    ],
)
def test_records_are_compared_with_their_schema(schema: Any, document: Any, words: str | None) -> None:
    validator = RecordValidator(json.dumps(schema), [Reference("other.json", json.dumps(TEXT))])
    if words is None:
        validator.check(document)
    else:
        with pytest.raises(DataError, match=words) as failure:
            validator.check(document)
        assert "secret" not in str(failure.value)
