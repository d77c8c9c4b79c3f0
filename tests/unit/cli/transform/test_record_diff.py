"""What has changed of a record, in lines."""

from decimal import Decimal
from typing import Any

import pytest

from penstock import Float32, Header, Instant, Int8, Record, Schema
from penstock.schema import BYTES, DATE, INT32, INT64, STRING, TIME, TIMESTAMP, array_of, decimal, map_of, struct
from penstock_runtime.trial.record_diff import changed_parts, changes
from penstock_runtime.trial.record_format import plain, type_text, value_text


def record(value: Any = None, schema: Schema | None = None, **more: Any) -> Record:
    return Record(topic="t", value=value, value_schema=schema, **more)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"a": "1"}, ['~ value.a  1 -> "1"']),
        ({"a": 1}, {"a": 1.0}, ["~ value.a  1 -> 1.0"]),
        ({"a": 1}, {"a": True}, ["~ value.a  1 -> true"]),
        ({"a": 1}, {"a": Int8(1)}, ["~ value.a  1 -> 1 (int8)"]),
        ({"a": {"b": 1}}, {"a.b": 1}, ["- value.a", "+ value.`a.b`  1"]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["~ value.a.b  1 -> 2"]),
        (1, {"x": 1}, ['~ value  1 -> {"x": 1}']),
        ({"x": 1}, None, ['~ value  {"x": 1} -> null']),
        ({"x": "y" * 200}, {"x": ""}, [f'~ value.x  "{"y" * 159}... (202 characters) -> ""']),
    ],
)
def test_values_are_compared_field_by_field_and_with_their_types(before: Any, after: Any, expected: list[str]) -> None:
    assert changes(record(before), record(after)) == expected


def test_topic_partition_and_timestamp_are_reported() -> None:
    old, new = record(), Record(topic="a b\n", value=None, partition=3, timestamp=5)
    assert changes(old, new) == ['~ topic  t -> "a b\\n"', "~ partition  null -> 3", "~ timestamp  null -> 5"]
    assert changed_parts(old, new) == ["topic", "partition", "timestamp"]


def test_a_new_field_is_reported_with_its_type_and_once() -> None:
    old = record({"a": 1}, struct({"a": INT64}))
    new = record({"a": 1, "at": Instant(0)}, struct({"a": INT64, "at": TIMESTAMP}))
    assert changes(old, new) == ['+ value.at  "1970-01-01T00:00:00.000Z" (Timestamp)']
    assert changed_parts(old, new) == ["value", "valueSchema"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (INT64, STRING, "~ schema of value  int64 -> string"),
        (struct({"a": INT64}), struct({"a": INT32}), "~ schema of value.a  int64 -> int32"),
        (
            struct({"a": INT64}),
            struct({"a": INT64}, name="N", version=2),
            "~ schema of value  required -> required (name N, version 2)",
        ),
        (struct({"a": INT64}).as_optional(), struct({"a": INT64}), "~ schema of value  optional -> required"),
        (struct({"a": INT64}), struct({"b": INT64}), "- schema of value.a"),
        (struct({"a": INT64, "b": INT64}), struct({"b": INT64, "a": INT64}), "~ schema of value  {"),
        (None, INT64, "~ schema of value  none -> int64"),
    ],
)
def test_schemas_are_compared_field_by_field(before: Schema | None, after: Schema | None, expected: str) -> None:
    old, new = record(None, before), record(None, after)
    assert changes(old, new)[0].startswith(expected)
    assert changed_parts(old, new) == ["valueSchema"]


def test_the_key_has_lines_of_its_own() -> None:
    old, new = record(key={"a": 1}), record(key=None)
    assert changes(old, new) == ['~ key  {"a": 1} -> null']
    assert changed_parts(old, new) == ["key"]


def test_headers_come_and_go() -> None:
    a, b, c = Header("a", 1), Header("b", "x", STRING), Header("c.d", None)
    assert changes(record(headers=(a, b)), record(headers=(b, c))) == ["- header a  1", "+ header `c.d`  null"]
    assert changes(record(headers=(a,)), record(headers=(a, b))) == ['+ header b  "x" (string)']
    assert changes(record(headers=(a, b)), record(headers=(b, a))) == ["~ headers  in another order"]
    assert changed_parts(record(headers=(a,)), record()) == ["headers"]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (DATE, Instant(86_400_000), "1970-01-02"),
        (TIME, Instant(5), "00:00:00.005"),
        (TIMESTAMP, Instant(-1), "1969-12-31T23:59:59.999Z"),
        (TIMESTAMP, Instant(10**15), 10**15),
        (decimal(2), Decimal("1.20"), "1.20"),
        (BYTES, b"\x00\xff", "AP8="),
        (map_of(INT32, DATE), {1: Instant(0)}, [[1, "1970-01-01"]]),
        (array_of(TIME), [Instant(0)], ["00:00:00.000"]),
        (struct({"d": DATE}), {"d": Instant(0)}, {"d": "1970-01-01"}),
        (None, float("nan"), "NaN"),
        (None, float("-inf"), "-Infinity"),
    ],
)
def test_values_that_json_does_not_have_are_texts(schema: Schema | None, value: Any, expected: Any) -> None:
    assert plain(schema, value) == expected


def test_types_that_only_python_knows_are_reported_with_the_value() -> None:
    assert value_text(None, Float32(0.5)) == "0.5 (float32)"
    assert value_text(None, b"") == '"" (bytes)'
    assert value_text(None, Decimal(1)) == '"1" (Decimal)'
    assert value_text(None, 5) == "5"


def test_a_schema_is_reported_in_short() -> None:
    inner = struct({"n": decimal(2, optional=True), "l": array_of(map_of(STRING, INT32))}, name="N")
    assert type_text(inner) == "struct{n: Decimal(2)?, l: array<map<string, int32>>} (name N)"
