"""Numbers, values and dates as Java 17 prints them."""

import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Float32, Instant, Int8, Schema
from penstock.schema import FLOAT32, FLOAT64, INT64, OPTIONAL_STRING, STRING, array_of, map_of
from penstock.schema import struct as struct_of
from penstock_java_compat.calendar import civil, millis_of
from penstock_java_compat.floats import _double_text, double_text, float_text, plain_range
from penstock_plugins.connect.text import java_text, java_texts, utf8_text

NAN = float("nan")
INFINITE = float("inf")


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (1e-3, "0.001"),
        (9.99e-4, "9.99E-4"),
        (2e23, "1.9999999999999998E23"),
        (1e23, "9.999999999999999E22"),
        (8.41e21, "8.409999999999999E21"),
        (5e-324, "4.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (NAN, "NaN"),
        (-INFINITE, "-Infinity"),
    ],
)
def test_a_double_has_the_digits_of_java_17(number: float, shown: str) -> None:
    assert double_text(number) == shown


@settings(max_examples=400)
@given(
    st.floats(2.0**-1030, 2.0**-15)
    | st.floats(1e7, 2.0**52)
    | st.integers(10**7, 2**52).map(float)
    | st.decimals(Decimal(10**7), Decimal(10**12), places=2).map(float),
    st.sampled_from([1, -1]),
)
def test_the_short_way_to_the_e_form_gives_the_digits_of_the_long_one(number: float, sign: int) -> None:
    assert double_text(sign * number) == _double_text(sign * number)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0.1, "0.1"),
        (16777216.0, "1.6777216E7"),
        (1.4e-45, "1.4E-45"),
        (1.17549435e-38, "1.17549435E-38"),
        (3.4028234663852886e38, "3.4028235E38"),
        (1e39, "Infinity"),
        (7.324554590953076e25, "7.3245545E25"),
    ],
)
def test_a_float_has_the_digits_of_java_17(number: float, shown: str) -> None:
    assert float_text(number) == shown


@settings(max_examples=500)
@given(st.floats(1e-3, 1e7, exclude_max=True) | st.integers(0, 10**9).map(lambda n: n / 1000))
def test_in_the_plain_range_java_and_python_print_the_same(number: float) -> None:
    if plain_range(number) and number:
        assert _double_text(number) == repr(number)


@pytest.mark.parametrize("power", range(-9, 24))
def test_powers_of_two_are_no_exception_in_the_plain_range(power: int) -> None:
    assert _double_text(2.0**power) == repr(2.0**power)


@given(st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_every_double_is_read_back_from_its_text(number: float) -> None:
    assert struct.pack(">d", float(double_text(number))) == struct.pack(">d", number)


@pytest.mark.parametrize(
    ("schema", "value", "shown"),
    [
        (None, [1, None, "a"], "[1, null, a]"),
        (None, {"a": 1, "b": None}, "{a=1, b=null}"),
        (None, True, "true"),
        (struct_of({"a": STRING, "b": OPTIONAL_STRING}), {"a": "x", "b": None}, "Struct{a=x}"),
        (None, Decimal("1E+3"), "1E+3"),
        (None, Decimal("-0.00"), "0.00"),
        (None, Instant(0), "Thu Jan 01 00:00:00 UTC 1970"),
        (None, Int8(3), "3"),
        (FLOAT32, 0.1, "0.1"),
        (None, Float32(16777216.0), "1.6777216E7"),
        (array_of(FLOAT32), [1e10], "[1.0E10]"),
        (map_of(STRING, INT64), {}, "{}"),
        (struct_of({}), {}, "Struct{}"),
    ],
)
def test_a_value_has_its_java_text(schema: Schema | None, value: object, shown: str) -> None:
    assert java_text(schema, value) == shown


scalars = st.text(max_size=3) | st.integers(-9, 9) | st.booleans() | st.none()


names = st.sampled_from(["a", "b", "%", "%s", ",", "Struct{"])


@given(
    st.lists(names, unique=True, max_size=3).flatmap(
        lambda names: st.lists(st.fixed_dictionaries(dict.fromkeys(names, scalars)) | scalars, max_size=3)
    )
)
def test_the_texts_of_a_batch_are_those_of_its_values(values: list[Any]) -> None:
    assert java_texts(None, values) == [java_text(None, v) for v in values]
    rows = [v for v in values if isinstance(v, dict)]
    schema = struct_of(dict.fromkeys(rows[0], OPTIONAL_STRING)) if rows else STRING
    assert java_texts(schema, rows) == [java_text(schema, v) for v in rows]


_LEAVES = {OPTIONAL_STRING: st.text(max_size=2), FLOAT64: st.sampled_from([0.0, 1.5, 1e9]), INT64: st.integers(-3, 3)}


@st.composite
def _structs(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, st.SearchStrategy[Any]]:
    kind = draw(st.sampled_from([*_LEAVES, "struct", "map", "array"][: None if depth else len(_LEAVES)]))
    if isinstance(kind, Schema):
        return kind, _LEAVES[kind] | st.none()
    if kind == "struct":
        parts = {name: draw(_structs(depth - 1)) for name in draw(st.lists(names, unique=True, max_size=3))}
        full = st.fixed_dictionaries({name: values for name, (_, values) in parts.items()})
        return struct_of({name: schema for name, (schema, _) in parts.items()}), full | full | st.none()
    schema, values = draw(_structs(depth - 1))
    if kind == "map":
        return map_of(STRING, schema), st.dictionaries(names, values, max_size=2)
    return array_of(schema), st.lists(values, max_size=2)


@settings(max_examples=400)
@given(st.data())
def test_the_texts_of_nested_values_with_nulls_are_those_of_each(data: st.DataObject) -> None:
    schema, values = data.draw(_structs())
    batch = data.draw(st.lists(values, max_size=4))
    for of in (schema, None):
        assert java_texts(of, batch) == [java_text(of, value) for value in batch]


def test_the_calendar_turns_julian_before_15_october_1582() -> None:
    assert civil(millis_of(1582, 10, 15) - 1)[:3] == (1582, 10, 4)
    assert java_text(None, Instant(millis_of(1582, 10, 4))) == "Thu Oct 04 00:00:00 UTC 1582"


@given(st.integers(-(10**15), 10**15))
def test_a_moment_is_found_again_from_its_calendar_fields(millis: int) -> None:
    assert millis_of(*civil(millis)) == millis


def test_the_bytes_of_a_surrogate_become_one_replacement() -> None:
    assert utf8_text(b"a\xed\xa0\x80b\xff") == "a\ufffdb\ufffd"
