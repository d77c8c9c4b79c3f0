"""MaskField: what the conformance cases leave open, and that a column is masked as each of its values."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    ConfigError,
    DataError,
    Float32,
    Instant,
    Int8,
    Int32,
    Record,
    RecordBatch,
    Schema,
    Type,
)
from penstock.fields import Fields, Same
from penstock.schema import BYTES, FLOAT32, INT8, INT64, STRING, TIMESTAMP, array_of, decimal, map_of, struct
from penstock.testing import TransformSuite, exactly
from penstock_plugins.transforms.mask_field import MaskField

ROW = struct(
    {"n": INT8, "t": Schema(Type.STRING, default="d"), "o": Schema(Type.FLOAT32, optional=True, default=1.5)},
    name="Row",
)
RECORDS = [
    Record(topic="t", value={"n": 5, "t": "x", "o": None}, value_schema=ROW, key={"n": "k"}),
    Record(topic="t", value={"n": 6, "t": None, "o": 2.5}, value_schema=ROW, key={"n": 2**70, "t": []}),
    Record(topic="t", value={"n": 6, "t": "y", "o": 2.5}, value_schema=ROW),
    Record(topic="t", value={"n": None, "t": "x", "o": 2.5}, value_schema=ROW),
    Record(topic="t", value={"n": Int32(5), "t": None, "x": True}),
    Record(topic="t", value={"n": Float32(5), "t": {"a": 1}, "x": True}),
    Record(topic="t", value={"n": 7, "t": b"x"}),
    Record(topic="t", value={}, key=None),
    Record(topic="t", value=None, value_schema=ROW),
    Record(topic="t", value="text", value_schema=STRING),
]


class TestMaskField(TransformSuite):
    plugin = MaskField
    properties = {"fields": "n,t,o"}  # noqa: RUF012
    records = RECORDS


class TestMaskFieldOfKeys(TestMaskField):
    side = "key"


class TestMaskFieldWithAReplacement(TransformSuite):
    plugin = MaskField
    properties = {"fields": "n,t", "replacement": "300.5"}  # noqa: RUF012
    records = RECORDS


class TestMaskFieldWithNullsKept(TransformSuite):
    plugin = MaskField
    properties = {"fields": "t,o", "replace.null.with.default": "false"}  # noqa: RUF012
    records = RECORDS


def configured(fields: str = "a", **texts: str) -> MaskField:
    plugin = MaskField()
    plugin.configure(MaskField.Config.parse({"fields": fields} | texts))
    return plugin


def masked(value: object, schema: Schema | None = None, **texts: str) -> Any:
    row = None if schema is None else struct({"a": schema})
    made = configured(**texts).apply(Record(topic="t", value={"a": value}, value_schema=row))
    assert made.value_schema is row
    return made.value["a"]


@pytest.mark.parametrize(
    ("value", "schema", "nothing"),
    [
        (5, None, 0),
        (Int8(5), None, Int8(0)),
        (2**70, None, 0),
        (5, INT8, 0),
        (1.5, None, 0.0),
        (True, None, False),
        (Float32(1.5), None, Float32(0)),
        (1.5, FLOAT32, 0.0),
        ("x", STRING, ""),
        (Decimal("1.50"), None, Decimal(0)),
        (Decimal("1.50"), decimal(2), Decimal(0)),
        (Instant(5), TIMESTAMP, Instant(0)),
        ([1], array_of(INT8), []),
        ({"a": 1}, None, {}),
        ({"a": 1}, map_of(STRING, INT8), {}),
    ],
)
def test_a_value_is_masked_with_nothing_of_its_type(value: object, schema: Schema | None, nothing: object) -> None:
    assert exactly(masked(value, schema)) == exactly(nothing)


@pytest.mark.parametrize(
    ("value", "schema", "text", "mask"),
    [
        (5, INT8, "300", 44),
        (Int8(5), None, "-1.9", Int8(-1)),
        (5, None, "1e3", 1000),
        (5, INT64, "1e64", 0),
        (2**70, None, "٣", 3),
        (1.5, None, "1e400", float("inf")),
        (1.5, FLOAT32, "0.1", 0.10000000149011612),
        ("x", STRING, "**", "**"),
        (Decimal(1), decimal(2), "5.0", Decimal("5.0")),
    ],
)
def test_a_replacement_is_read_for_the_type_of_the_value(
    value: object, schema: Schema | None, text: str, mask: object
) -> None:
    assert exactly(masked(value, schema, replacement=text)) == exactly(mask)


@pytest.mark.parametrize(("value", "schema"), [(b"x", BYTES), (b"x", None), ({"n": 1}, struct({"n": INT8}))])
def test_bytes_and_structs_cannot_be_masked(value: object, schema: Schema | None) -> None:
    with pytest.raises(DataError, match="Cannot mask"):
        masked(value, schema)


@pytest.mark.parametrize("value", [True, Instant(1), [1], {"a": 1}, b"x"])
def test_a_replacement_is_only_for_numbers_and_texts(value: object) -> None:
    with pytest.raises(DataError, match="replace"):
        masked(value, replacement="1")


@pytest.mark.parametrize("value", [1, Int8(1), 1.5, Float32(1), Decimal(1), 2**70])
def test_a_replacement_that_is_no_number_fails_for_a_number(value: object) -> None:
    assert masked("x", replacement="NaN") == "NaN"
    with pytest.raises(DataError, match="to a number"):
        masked(value, replacement="NaN")


def test_a_masked_list_is_no_other_records_list() -> None:
    plugin = configured()
    first, second = (plugin.apply(Record(topic="t", value={"a": [1]})).value["a"] for _ in range(2))
    first.append(5)
    assert second == []


def test_a_masked_column_without_nulls_is_one_value() -> None:
    batch = RecordBatch(length=2, topic="t", value=Fields({"a": ["x", "y"], "b": [1, None]}, 2))
    made = configured("a,b,c").apply_batch(batch)
    assert made.fields is not None
    assert made.fields.columns == {"a": Same(""), "b": [0, None], "c": Same(None)}


cells: st.SearchStrategy[Any] = st.sampled_from(
    [None, 1, 2**70, Int8(1), 1.5, Float32(1), True, "x", Decimal("1.0"), Instant(5), [1], {}, b""]
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from(["a", "b"]), cells), min_size=1, max_size=4),
    st.sampled_from([{}, {"replacement": "7.5"}, {"replacement": "x"}]),
)
def test_masking_a_batch_is_masking_each_record(rows: list[dict[str, Any]], texts: dict[str, str]) -> None:
    plugin = configured("a", **texts)
    batch = RecordBatch.of([Record(topic="t", value=row) for row in rows])
    try:
        expected = [plugin.apply(r) for r in batch.records()]
    except DataError:
        with pytest.raises(DataError):
            plugin.apply_batch(batch)
        return
    assert exactly(list(plugin.apply_batch(batch).records())) == exactly(expected)


@pytest.mark.parametrize("fields", ["", "a,", "a,a", ","])
def test_fields_are_named_once_each(fields: str) -> None:
    with pytest.raises(ConfigError, match="fields"):
        configured(fields)


def test_a_replacement_may_be_what_java_takes_for_no_blank() -> None:
    assert masked("x", replacement="\u2028") == "\u2028"
