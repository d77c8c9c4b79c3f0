"""Cast: what the conformance cases leave open, and that a column is cast as each of its values."""

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
    Int16,
    Int32,
    Int64,
    Record,
    RecordBatch,
    Schema,
    SchemaBuilderError,
    Type,
)
from penstock.fields import Fields, Same
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    struct,
)
from penstock.testing import TransformSuite
from penstock_plugins.connect.values import type_of
from penstock_plugins.transforms._cast_columns import cast_column
from penstock_plugins.transforms._cast_values import CASTABLE, cast
from penstock_plugins.transforms.cast import Cast

DAY = 86_400_000
ROW = struct(
    {"n": INT64, "t": STRING, "o": Schema(Type.INT32, optional=True), "d": Schema(Type.STRING, default="7")},
    name="Row",
    version=2,
)
RECORDS = [
    Record(topic="t", value={"n": 300, "t": "5", "o": None, "d": "6"}, value_schema=ROW, key="1", key_schema=STRING),
    Record(topic="t", value={"n": 1, "t": "-6", "o": 5, "d": None}, value_schema=ROW),
    Record(topic="t", value={"n": 2, "t": "no", "o": 5, "d": ""}, value_schema=ROW),
    Record(topic="t", value={"n": None, "t": "1", "o": 5, "d": ""}, value_schema=ROW),
    Record(topic="t", value=None, value_schema=ROW, key={"n": "1"}),
    Record(topic="t", value={"n": 2, "t": "7"}),
    Record(topic="t", value={"n": 2, "t": True}),
    Record(topic="t", value={"x": 1}, key={"n": 1.5, "t": Int16(300)}),
    Record(topic="t", value={}),
    Record(topic="t", value="7", value_schema=STRING),
    Record(topic="t", value=7),
    Record(topic="t", value=None, value_schema=INT8),
]


class TestCastOfFields(TransformSuite):
    plugin = Cast
    properties = {"spec": "n:int8,t:int32,d:string"}  # noqa: RUF012
    records = RECORDS


class TestCastOfFieldsOfKeys(TestCastOfFields):
    side = "key"


class TestCastWithNullsKept(TransformSuite):
    plugin = Cast
    properties = {"spec": "n:string,o:float64", "replace.null.with.default": "false"}  # noqa: RUF012
    records = RECORDS


class TestCastOfWholes(TransformSuite):
    plugin = Cast
    properties = {"spec": "int32"}  # noqa: RUF012
    records = RECORDS


class TestCastOfWholeKeys(TestCastOfWholes):
    side = "key"


def configured(spec: str, **texts: str) -> Cast:
    plugin = Cast()
    plugin.configure(Cast.Config.parse({"spec": spec} | texts))
    return plugin


numbers = st.integers(-(2**63), 2**63 - 1)
kinds: list[tuple[Schema | None, st.SearchStrategy[Any]]] = [
    (INT8, st.integers(-128, 127)),
    (INT64, numbers),
    (FLOAT32, st.floats(width=32)),
    (FLOAT64, st.floats()),
    (FLOAT64, st.floats(-1e5, 1e5)),
    (BOOLEAN, st.booleans()),
    (STRING, st.from_regex(r"-?[0-9]{1,3}", fullmatch=True)),
    (STRING, st.sampled_from(["true", "TRUE", "1", " 2", "1.5", "1f", "٣", "", "99999999999"])),
    (BYTES, st.binary(max_size=4)),
    (decimal(2), st.decimals(allow_nan=False, allow_infinity=False)),
    (DATE, st.integers(-5, 50_000).map(lambda d: Instant(d * DAY))),
    (TIME, st.integers(-5, DAY + 1).map(Instant)),
    (TIMESTAMP, numbers.map(Instant)),
    (TIMESTAMP, st.integers(0, 5_000_000_000_000).map(Instant)),
    (array_of(INT8), st.lists(st.integers(0, 5))),
    (None, numbers.map(Int64)),
    (None, st.integers(2**62, 2**64)),
    (None, st.floats(width=32).map(Float32)),
    (None, st.integers(-5, 5).map(Int8)),
    (None, st.sampled_from([1, 2.5, True, "3", b"x", None, Int32(5), [], {}, Instant(1), Decimal(1)])),
]


@st.composite
def columns(draw: st.DrawFn) -> tuple[Schema | None, list[Any]]:
    schema, values = draw(st.sampled_from(kinds))
    if draw(st.booleans()):
        schema = None
    if draw(st.booleans()):
        values = st.none() | values
    return schema, draw(st.lists(values, max_size=5))


def exactly(value: object) -> object:
    return type(value), repr(value)


@settings(max_examples=600, deadline=None)
@given(columns(), st.sampled_from(CASTABLE))
def test_a_column_is_cast_as_each_of_its_values(column: tuple[Schema | None, list[Any]], target: Type) -> None:
    schema, values = column
    try:
        expected = [exactly(cast(schema, target, v)) for v in values]
    except (DataError, TypeError):
        with pytest.raises((DataError, ValueError, TypeError)):
            cast_column(schema, target, list(values), frozenset(map(type, values)))
        return
    before = [exactly(v) for v in values]
    assert [exactly(v) for v in cast_column(schema, target, values, frozenset(map(type, values)))] == expected
    assert [exactly(v) for v in values] == before


def test_a_value_without_a_schema_reports_its_new_width() -> None:
    assert [type(cast(None, t, 1)) for t in CASTABLE] == [Int8, Int16, Int32, int, Float32, float, bool, str]
    assert [type(cast(INT64, t, 1)) for t in CASTABLE] == [int, int, int, int, float, float, bool, str]


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "00:00:00.000Z"),
        (DAY - 1, "23:59:59.999Z"),
        (-1, "23:59:59.999Z"),
        (DAY, "1970-01-02"),
        (DAY + 1, "1970-01-02T00:00:00.001Z"),
        (1_600_000_000_123, "2020-09-13T12:26:40.123Z"),
        (253_402_300_800_000, "10000-01-01"),
    ],
)
@pytest.mark.parametrize("schema", [DATE, TIME, TIMESTAMP])
def test_the_text_of_a_moment_depends_only_on_the_moment(schema: Schema, millis: int, text: str) -> None:
    assert cast(schema, Type.STRING, Instant(millis)) == text


def test_a_plain_float_under_a_float32_has_no_more_than_32_bits() -> None:
    assert cast(FLOAT32, Type.FLOAT64, 0.1) == 0.10000000149011612
    assert cast_column(FLOAT32, Type.FLOAT64, [0.1], frozenset({float})) == [0.10000000149011612]
    assert cast(FLOAT32, Type.STRING, 0.1) == "0.1"


def test_both_zeros_keep_their_sign() -> None:
    assert [cast(FLOAT32, Type.STRING, v) for v in (0.0, -0.0)] == ["0.0", "-0.0"]
    assert [cast(FLOAT64, Type.STRING, v) for v in (0.0, -0.0)] == ["0.0", "-0.0"]


def test_an_error_does_not_show_the_value() -> None:
    with pytest.raises(DataError) as e:
        cast(STRING, Type.INT32, "secret")
    assert "secret" not in str(e.value)
    assert "secret" not in str(e.value.__cause__)


def test_a_logical_default_cannot_stay_under_its_name() -> None:
    schema = Schema(Type.INT64, name=TIMESTAMP.name, version=1, default=Instant(5))
    with pytest.raises(SchemaBuilderError, match="named"):
        configured("string").apply(Record(topic="t", value=Instant(1), value_schema=schema))


def test_a_struct_with_a_default_is_refused() -> None:
    row = Schema(Type.STRUCT, fields=ROW.fields, default={"n": 1, "t": "", "o": 1, "d": ""})
    with pytest.raises(DataError, match="default"):
        configured("n:int8").apply(RECORDS[0].replace(value_schema=row))


def test_a_whole_value_keeps_what_its_schema_is_called() -> None:
    schema = Schema(Type.INT64, optional=True, name="Id", version=3, doc="d", parameters={"a": "b"}, default=300)
    made = configured("int8").apply(Record(topic="t", value=129, value_schema=schema))
    assert made.value == -127
    assert made.value_schema == Schema(
        Type.INT8, optional=True, name="Id", version=3, doc="d", parameters={"a": "b"}, default=44
    )


def test_a_named_date_that_is_none_is_the_fault_of_the_data_s_class() -> None:
    with pytest.raises(TypeError, match="Instant"):
        configured("int8").apply(Record(topic="t", value=5, value_schema=TIMESTAMP))


def test_a_column_of_one_value_is_cast_once() -> None:
    batch = RecordBatch(length=2, topic="t", value=Fields({"n": Same(300), "t": ["1", "2"]}, 2))
    made = configured("n:int8,t:int64,z:string").apply_batch(batch)
    assert made.fields is not None
    assert made.fields.columns == {"n": Same(44), "t": [1, 2], "z": Same(None)}


def test_maps_of_different_fields_are_cast_together() -> None:
    batch = RecordBatch(length=2, topic="t", value=[{"n": 300}, {"t": "x"}])
    assert configured("n:int8").apply_batch(batch).value == [{"n": 44}, {"t": "x", "n": None}]
    assert batch.value == [{"n": 300}, {"t": "x"}]


@pytest.mark.parametrize(
    ("spec", "targets"),
    [
        ("int8", {None: Type.INT8}),
        ("a:int8", {"a": Type.INT8}),
        (" a : Int8 , b:STRING", {"a": Type.INT8, "b": Type.STRING}),
        (":int8", {"": Type.INT8}),
        ("a:int8,a:string", {"a": Type.STRING}),
        ("a:int8:", {"a": Type.INT8}),
    ],
)
def test_a_spec_names_fields_or_the_whole(spec: str, targets: dict[str | None, Type]) -> None:
    whole = None in targets
    record = configured(spec).apply(Record(topic="t", value=1 if whole else {"": 1, "a": 1, "b": 1}))
    assert record is not None
    types = {name: type_of(value) for name, value in ({None: record.value} if whole else record.value).items()}
    assert {name: kind for name, kind in types.items() if kind is not Type.INT64} == targets


@pytest.mark.parametrize("spec", ["", "a", "a:", ":", "a:int8,"])
def test_a_spec_that_cannot_be_read_is_refused(spec: str) -> None:
    with pytest.raises(ConfigError, match="spec"):
        configured(spec)
