"""Schemas to Spark's types and back, values to what Spark takes and back: no session is needed for any of it."""

import datetime as dt
from decimal import Decimal
from traceback import format_exception
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from penstock import ConnectError, DataError, Fields, Instant, Same, Schema, Type
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock.spark import arrow_table, from_spark, to_arrow, to_spark
from penstock_plugins.connectors.spark.ddl import parse_ddl
from penstock_plugins.connectors.spark.rows import portions

PLAIN = [INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES, DATE, TIMESTAMP, decimal(3)]
RICH = struct(
    {
        "at": TIME,
        "days": array_of(DATE.as_optional(), optional=True),
        "tags": map_of(STRING, INT64.as_optional()),
        "inner": struct({"x": INT8.as_optional()}, name="Inner", version=3),
        "named": Schema(Type.STRING, name="Colour", doc="of the hat", parameters={"a": "b"}, default="red"),
        "price": decimal(4, optional=True),
    }
)


@pytest.mark.parametrize("schema", PLAIN, ids=lambda s: s.name or s.type)
def test_every_type_has_one_and_comes_back(schema: Schema) -> None:
    for found in (schema, array_of(schema), map_of(STRING, schema.as_optional()), struct({"a": schema})):
        assert from_spark(to_spark(found)) == found


def test_what_a_spark_type_cannot_say_comes_back_from_its_metadata() -> None:
    kind = to_spark(RICH)
    assert from_spark(kind) == RICH
    assert isinstance(kind, t.StructType)
    assert kind["named"].metadata["comment"] == "of the hat"
    assert kind["price"].metadata == {}


def test_metadata_of_a_column_that_was_changed_since_does_not_count() -> None:
    kind = to_spark(RICH)
    assert isinstance(kind, t.StructType)
    changed = t.StructType([t.StructField("named", t.LongType(), nullable=False, metadata=kind["named"].metadata)])
    assert from_spark(changed) == struct({"named": INT64})
    broken = t.StructType([t.StructField("a", t.LongType(), metadata={"penstock.schema": "{"})])
    assert from_spark(broken) == struct({"a": INT64.as_optional()})


def test_a_type_without_an_equivalent_is_rejected() -> None:
    with pytest.raises(DataError, match="cannot convert Spark type interval day to second"):
        from_spark(t.DayTimeIntervalType())
    with pytest.raises(DataError, match="supported scales are 0 to 38"):
        to_spark(decimal(39))


def test_arrow_types_are_those_that_spark_derives() -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    kind = to_spark(RICH)
    assert isinstance(kind, t.StructType)
    plain = t.StructType([t.StructField(f.name, f.dataType, f.nullable) for f in kind.fields])
    assert from_arrow_schema(to_arrow(RICH)).simpleString() == plain.simpleString()
    assert all(to_arrow(schema) == to_arrow(struct({"a": schema})).field("a").type for schema in PLAIN)


def test_values_become_a_table() -> None:
    shape = struct(
        {
            "day": DATE,
            "days": array_of(DATE),
            "at": TIMESTAMP,
            "time": TIME,
            "price": decimal(2),
            "map": map_of(STRING, INT64),
            "inner": struct({"d": DATE.as_optional()}),
            "none": STRING.as_optional(),
        }
    )
    row = {
        "day": Instant(86_400_000),
        "days": [Instant(-86_400_000)],
        "at": Instant(5),
        "time": Instant(7),
        "price": Decimal("1.5"),
        "map": {"a": 1},
        "inner": {"d": None},
        "none": None,
    }
    table = arrow_table(shape, [row])
    assert table.schema == to_arrow(shape)
    assert table.to_pylist() == [
        {
            "day": dt.date(1970, 1, 2),
            "days": [dt.date(1969, 12, 31)],
            "at": dt.datetime(1970, 1, 1, 0, 0, 0, 5000, tzinfo=dt.UTC),
            "time": 7,
            "price": Decimal("1.50"),
            "map": [("a", 1)],
            "inner": {"d": None},
            "none": None,
        }
    ]
    assert arrow_table(shape, []).num_rows == 0
    rows = [row, {**row, "day": Instant(0), "none": "x"}]
    columns = Fields.of(rows)
    assert columns is not None
    assert arrow_table(shape, columns) == arrow_table(shape, rows)
    same = columns.having({**columns.columns, "time": Same(Instant(7))})
    assert arrow_table(shape, same) == arrow_table(shape, rows)
    other_order = Fields.of([dict(reversed(r.items())) for r in rows])
    assert other_order is not None
    assert arrow_table(shape, other_order) == arrow_table(shape, rows)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (INT8, 1234, "field 'a' to Arrow: a value of type int does not fit int8"),
        (INT64, 1234 << 70, "field 'a' to Arrow: a value of type int does not fit int64"),
        (INT64, "1234 Main St", "field 'a' to Arrow: a value of type str does not fit int64"),
        (STRING, b"\xff1234", "field 'a' to Arrow: a value of type bytes does not fit string"),
        (DATE, Instant(1234), "field 'a' to Arrow: a value of type Instant does not fit date32[day]"),
        (array_of(INT64), ["1234"], "field 'a' to Arrow: a value of type list does not fit list<"),
        (STRING, None, "field 'a' to Arrow: it is required, but null or missing"),
    ],
)
def test_a_value_that_does_not_fit_is_a_data_error_that_contains_no_value(
    schema: Schema, value: Any, message: str
) -> None:
    fitting = {INT8: 1, INT64: 1, STRING: "x", DATE: Instant(0)}.get(schema, [])
    shape, rows = struct({"ok": STRING, "a": schema}), [{"ok": "x", "a": fitting}, {"ok": "x", "a": value}]
    for given in (rows, Fields.of(rows)):
        assert given is not None
        with pytest.raises(DataError) as caught:
            arrow_table(shape, given)
        assert f"cannot convert {message}" in str(caught.value)
        assert "1234" not in "".join(format_exception(caught.value))


def test_a_row_that_is_not_a_struct_is_a_data_error_that_contains_no_value() -> None:
    with pytest.raises(DataError, match="cannot convert a value of type str to Arrow: its schema is a struct"):
        arrow_table(struct({"a": INT8}), ["1234"])  # type: ignore[list-item]


SHAPE = parse_ddl(
    "id bigint, at timestamp, naive timestamp_ntz, day date, blob binary, tags array<date>, m map<string,date>, "
    "inner struct<a:date,b:int>, price decimal(10,2)"
)
ROW = (
    1,
    dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    dt.datetime(1970, 1, 1, 0, 0, 1),  # noqa: DTZ001
    dt.date(1970, 1, 2),
    bytearray(b"b"),
    [dt.date(1970, 1, 1), None],
    {"k": dt.date(1970, 1, 1)},
    (None, 3),
    Decimal("1.50"),
)
VALUE = {
    "id": 1,
    "at": Instant(0),
    "naive": Instant(1000),
    "day": Instant(86_400_000),
    "blob": b"b",
    "tags": [Instant(0), None],
    "m": {"k": Instant(0)},
    "inner": {"a": None, "b": 3},
    "price": Decimal("1.50"),
}


def test_rows_of_every_form_become_the_same_values() -> None:
    row = t.Row(**dict(zip(SHAPE.fieldNames()[::-1], ROW[::-1], strict=True)))
    for given in (ROW, list(ROW), row):
        (values,) = portions([given], SHAPE, 10)
        assert values == [VALUE]
        assert type(values[0]["at"]) is Instant
        assert type(values[0]["blob"]) is bytes


def test_arrow_batches_become_the_same_values() -> None:
    table = arrow_table(from_spark(SHAPE), [{**VALUE, "naive": Instant(1000)}] * 3)
    (batch,) = table.to_batches()
    assert [len(found) for found in portions([batch], SHAPE, 2)] == [2, 1]
    shuffled = batch.select(SHAPE.fieldNames()[::-1])
    assert [row for found in portions([shuffled], SHAPE, 2) for row in found] == [VALUE] * 3


def test_rows_of_another_shape_are_refused() -> None:
    for rows in ([(1, 2)], ["x"], [t.Row(a=1)], [pa.RecordBatch.from_pylist([{"a": 1}])]):
        with pytest.raises(DataError, match=r"cannot convert a (row|batch) of the data source"):
            list(portions(rows, parse_ddl("id bigint"), 10))
    assert list(portions([], SHAPE, 10)) == []


@pytest.mark.parametrize(
    ("ddl", "kind"),
    [
        ("a int", "struct<a:int>"),
        ("a: int, `b c` STRING NOT NULL COMMENT 'it''s'", None),
        ("struct<a:array<map<string,int>>,b:struct<>>", "struct<a:array<map<string,int>>,b:struct<>>"),
        (
            "a decimal, b dec(5), c numeric(5,2), d varchar(10)",
            "struct<a:decimal(10,0),b:decimal(5,0),c:decimal(5,2),d:string>",
        ),
        ("struct int", "struct<struct:int>"),
    ],
)
def test_ddl_is_read_without_a_session(ddl: str, kind: str | None) -> None:
    if kind is None:
        with pytest.raises(ConnectError):
            parse_ddl(ddl)  # Spark's SQL doubles no quotes in comments either
        ddl, kind = ddl.replace("''", "\\'"), "struct<a:int,b c:string>"
        assert parse_ddl(ddl)["b c"].metadata == {"comment": "it's"}
    assert parse_ddl(ddl).simpleString() == kind


@pytest.mark.parametrize("ddl", ["a", "a foo", "a array<int", "a int b", "a int,", "a int)", "a § int"])
def test_ddl_that_is_none_is_refused(ddl: str) -> None:
    with pytest.raises(ConnectError, match="cannot parse schema"):
        parse_ddl(ddl)
