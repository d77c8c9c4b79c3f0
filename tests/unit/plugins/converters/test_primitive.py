"""Numbers and truth values as Kafka's serializers write them: which classes are taken, and exactly how many bytes."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Converter, DataError, Fields, Float32, Instant, Int8, Int16, Int32, Int64, Schema
from penstock.schema import BOOLEAN, DATE, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, STRING
from penstock_plugins.converters.primitive import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)

SHORT, INTEGER, LONG = ShortConverter(), IntegerConverter(), LongConverter()
FLOAT, DOUBLE, TRUTH = FloatConverter(), DoubleConverter(), BooleanConverter()
ALL: list[Converter] = [SHORT, INTEGER, LONG, FLOAT, DOUBLE, TRUTH]


@pytest.mark.parametrize(
    ("plugin", "schema", "value", "data"),
    [
        (SHORT, INT16, -2, b"\xff\xfe"),
        (SHORT, None, Int16(5), b"\0\5"),
        (SHORT, STRING, Int16(5), b"\0\5"),
        (INTEGER, INT32, 1, b"\0\0\0\1"),
        (INTEGER, INT8, Int32(1), b"\0\0\0\1"),
        (LONG, None, -1, b"\xff" * 8),
        (LONG, STRING, 1, b"\0" * 7 + b"\1"),
        (LONG, INT16, Int64(1), b"\0" * 7 + b"\1"),
        (FLOAT, FLOAT32, 1.5, b"\x3f\xc0\0\0"),
        (FLOAT, FLOAT64, Float32(1.5), b"\x3f\xc0\0\0"),
        (FLOAT, FLOAT32, 1e300, b"\x7f\x80\0\0"),
        (DOUBLE, None, -0.0, b"\x80" + b"\0" * 7),
        (TRUTH, BOOLEAN, True, b"\1"),
        (TRUTH, None, False, b"\0"),
        (TRUTH, BOOLEAN, None, None),
        (SHORT, STRING, None, None),
    ],
)
def test_the_class_of_a_number_decides_and_its_schema_does_not(
    plugin: Converter, schema: Schema | None, value: Any, data: bytes | None
) -> None:
    assert plugin.from_connect("t", schema, value) == data
    assert plugin.from_connect_batch("t", schema, [value, value]) == [data, data]


@pytest.mark.parametrize(
    ("plugin", "schema", "value", "message"),
    [
        (SHORT, None, 5, r"to short \(was class java.lang.Long\)"),
        (SHORT, INT8, 5, r"to short \(was class java.lang.Byte\)"),
        (SHORT, INT16, True, r"java.lang.Boolean"),
        (INTEGER, INT32, "1", r"java.lang.String"),
        (INTEGER, DATE, Instant(0), r"to integer \(was class java.util.Date\)"),
        (LONG, INT32, 1, r"to long \(was class java.lang.Integer\)"),
        (LONG, None, 2**63, r"java.math.BigInteger"),
        (LONG, None, 1.0, r"java.lang.Double"),
        (FLOAT, None, 1.5, r"to float \(was class java.lang.Double\)"),
        (DOUBLE, FLOAT32, 1.5, r"to double \(was class java.lang.Float\)"),
        (DOUBLE, FLOAT64, 1, r"java.lang.Long"),
        (TRUTH, STRING, None, r"Invalid schema type for BooleanConverter: STRING"),
        (TRUTH, BOOLEAN, Int8(1), r"not compatible with objects of type class java.lang.Byte"),
    ],
)
def test_nothing_is_widened(plugin: Converter, schema: Schema | None, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        plugin.from_connect("t", schema, value)
    with pytest.raises(DataError, match=message):
        plugin.from_connect_batch("t", schema, [value])


def test_columns_of_rows_are_no_numbers() -> None:
    with pytest.raises(DataError, match=r"java\.util\.HashMap"):
        LONG.from_connect_batch("t", None, Fields({"a": [1]}, 1))


@pytest.mark.parametrize(
    ("plugin", "schema", "data", "value"),
    [
        (SHORT, INT16, b"\xff\xfe", -2),
        (INTEGER, INT32, b"\0\0\0\1", 1),
        (LONG, INT64, b"\xff" * 8, -1),
        (FLOAT, FLOAT32, b"\x3f\xc0\0\0", 1.5),
        (DOUBLE, FLOAT64, b"\x3f\xf8" + b"\0" * 6, 1.5),
        (TRUTH, BOOLEAN, b"\1", True),
        (TRUTH, BOOLEAN, b"\0", False),
    ],
)
def test_what_is_read_is_optional_and_so_is_a_tombstone(
    plugin: Converter, schema: Schema, data: bytes, value: object
) -> None:
    optional = schema.as_optional()
    assert plugin.to_connect("t", data) == (optional, value)
    assert plugin.to_connect("t", None) == (optional, None)
    assert plugin.to_connect_batch("t", [data, data]) == (optional, [value, value])
    assert plugin.to_connect_batch("t", [data, None]) == (optional, [value, None])


@pytest.mark.parametrize("plugin", ALL)
@pytest.mark.parametrize("data", [b"", b"\2", b"\0\1\2"])
def test_a_message_of_another_length_or_another_byte_is_refused(plugin: Converter, data: bytes) -> None:
    with pytest.raises(DataError, match="Failed to deserialize"):
        plugin.to_connect("t", data)
    with pytest.raises(DataError, match="Failed to deserialize"):
        plugin.to_connect_batch("t", [data])


def test_a_float_that_is_no_number_is_written_and_read() -> None:
    data = FLOAT.from_connect("t", FLOAT32, math.nan)
    assert data == b"\x7f\xc0\0\0"
    assert math.isnan(FLOAT.to_connect("t", data)[1])


def outcome(work: Any) -> object:
    try:
        return work()
    except DataError as e:
        return str(e)


values = (
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | st.builds(Int16, st.integers(0, 9))
    | st.builds(Float32, st.just(1.5))
)


@given(
    st.sampled_from([None, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING]),
    st.one_of(*(st.lists(v, max_size=4) for v in (values, st.integers(-9, 9), st.floats(allow_nan=False)))),
)
def test_a_batch_is_what_its_records_are(schema: Schema | None, batch: list[Any]) -> None:
    for plugin in ALL:
        each = outcome(lambda p=plugin: [p.from_connect("t", schema, v) for v in batch])
        assert outcome(lambda p=plugin: p.from_connect_batch("t", schema, batch)) == each
