"""Java's numbers: what its parsers take, and how its casts round and cut. The expectations are Java 17's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Type
from penstock.schema import INT8, STRING
from penstock_plugins.connect.literals.reader import parse_literal
from penstock_plugins.connect.number_casts import narrow, to_float32, to_float32s, truncate
from penstock_plugins.connect.numbers import (
    parse_big_decimal,
    parse_big_integer,
    parse_double,
    parse_doubles,
    parse_float,
    parse_floats,
    parse_integer,
    parse_integers,
)

plain_numbers = st.from_regex(r"[+-]?[0-9]{1,12}(\.[0-9]{0,12})?(e[+-]?[0-9]{1,2})?", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "number"),
    [("+5", 5), ("-0", 0), ("007", 7), ("٣५", 35), ("0" * 5000 + "127", 127), ("-" + "\u0660" * 30 + "128", -128)],
)
def test_an_integer_has_a_sign_and_digits_of_any_script(text: str, number: int) -> None:
    assert parse_integer(text, Type.INT8) == number


@pytest.mark.parametrize(
    "text", ["", "+", "1_0", " 1", "1 ", "1.0", "1e1", "\U0001d7d7", "²", "--1", "0x1", "128", "9" * 5000]
)
def test_a_text_that_is_no_integer_in_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"integer|range"):
        parse_integer(text, Type.INT8)


def test_many_integers_are_read_as_each_of_them() -> None:
    assert parse_integers(["1", "-2", "+3"], Type.INT8) == [1, -2, 3]
    assert parse_integers(["1", "٣"], Type.INT8) == [1, 3]
    for wrong in (["1", "128"], ["1", ""], ["1", "2-"], ["1", " 2"]):
        with pytest.raises(ValueError, match=r"."):
            parse_integers(wrong, Type.INT8)


def test_an_integer_without_bounds_has_any_length() -> None:
    assert parse_big_integer("-" + "9" * 5000) == 1 - 10**5000


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (" \t1.5\n", 1.5),
        ("1.", 1.0),
        (".5e1", 5.0),
        ("1f", 1.0),
        ("2.5D", 2.5),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("1e400", math.inf),
        ("-1e-400", 0.0),
        ("0x1p3", 8.0),
        ("-0x1.8P1f", -3.0),
        ("0x.8p1", 1.0),
        ("0x1p-99999999999999999999", 0.0),
        ("0x1p99999999999999999999", math.inf),
        ("0x1.fffffffffffff7ffp1023", 1.7976931348623157e308),
        ("0x0.00000000000008p-1022", 0.0),
    ],
)
def test_a_double_may_have_blanks_a_suffix_or_hex_digits(text: str, number: float) -> None:
    assert parse_double(text) == number


def test_not_a_number_is_written_in_one_way() -> None:
    assert math.isnan(parse_double("-NaN"))
    assert math.isnan(parse_float("NaN"))


@pytest.mark.parametrize(
    "text", ["", ".", "1e", "nan", "inf", "NaNf", "1_0", "٣", "\u00a01", "0x1", "0xp1", "0x.p1", "1fd", "e5"]
)
def test_a_text_that_is_no_double_is_refused(text: str) -> None:
    for read in (parse_double, parse_float):
        with pytest.raises(ValueError, match="not a number"):
            read(text)
    for read_all in (parse_doubles, parse_floats):
        with pytest.raises(ValueError, match=r"."):
            read_all([text])


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.000000059604644775390625", 1.0),
        ("1.00000005960464477539062500000000001", 1.0000001192092896),
        ("0x1.0000010000000000000000001p0", 1.0000001192092896),
        ("0x1.000001p0", 1.0),
        ("3.4028235677973366e38", 3.4028234663852886e38),
        ("3.4028235677973367e38", math.inf),
        ("0x1.fffffep127", 3.4028234663852886e38),
        ("0x1p-150", 0.0),
        ("0x1.0001p-150", 1.401298464324817e-45),
        ("0x1p-1000", 0.0),
        ("1e-60", 0.0),
    ],
)
def test_a_float_is_rounded_once(text: str, number: float) -> None:
    assert parse_float(text) == number
    assert parse_floats([text]) == [number]


@given(st.lists(plain_numbers, min_size=1, max_size=5))
def test_many_texts_are_read_as_each_of_them(texts: list[str]) -> None:
    assert parse_doubles(texts) == list(map(parse_double, texts))
    assert parse_floats(texts) == list(map(parse_float, texts))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e3", "1E+3"),
        ("-0.00", "0.00"),
        (".5", "0.5"),
        ("5.", "5"),
        ("\u0663.\u0665", "3.5"),
        ("1E2147483647", "1E+2147483647"),
        ("1e0000000000000005", "1E+5"),
    ],
)
def test_a_big_decimal_keeps_its_scale(text: str, number: str) -> None:
    assert str(parse_big_decimal(text)) == number


@pytest.mark.parametrize(
    "text", ["", ".", "NaN", "1_0", " 1", "\U0001d7d7", "1e", "1E2147483648", "1.5E-2147483648", "1f"]
)
def test_a_text_that_is_no_big_decimal_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"number|range"):
        parse_big_decimal(text)


@pytest.mark.parametrize(
    ("number", "kind", "cut"),
    [
        (300, Type.INT8, 44),
        (-129, Type.INT8, 127),
        (2**31, Type.INT32, -(2**31)),
        (5, Type.INT64, 5),
    ],
)
def test_narrowing_keeps_the_low_bits(number: int, kind: Type, cut: int) -> None:
    assert narrow(number, kind) == cut


@pytest.mark.parametrize(
    ("number", "kind", "cut"),
    [
        (1.9, Type.INT32, 1),
        (-1.9, Type.INT32, -1),
        (math.nan, Type.INT64, 0),
        (math.inf, Type.INT32, 2**31 - 1),
        (1e10, Type.INT8, -1),
        (-1e10, Type.INT16, 0),
        (1e30, Type.INT64, 2**63 - 1),
        (-math.inf, Type.INT64, -(2**63)),
        (300.7, Type.INT8, 44),
    ],
)
def test_a_float_is_cut_toward_zero_and_held_within_bounds(number: float, kind: Type, cut: int) -> None:
    assert truncate(number, kind) == cut


def test_an_integer_becomes_a_float_by_one_rounding() -> None:
    halfway = 2**60 + 2**36  # between two floats
    assert to_float32(halfway) == float(2**60)
    assert to_float32(halfway + 1) == float(2**60 + 2**37)
    assert to_float32s([1, halfway + 1]) == [1.0, float(2**60 + 2**37)]
    assert to_float32s([0.1, 1e39]) == [0.10000000149011612, math.inf]


def test_a_literal_beyond_the_exponents_of_java_is_a_text() -> None:
    for exponent in ("2147483648", "-2147483649", "9" * 30):
        assert parse_literal(f"1e{exponent}") == (STRING, f"1e{exponent}")
    assert parse_literal("0.0e-5")[0] == INT8
