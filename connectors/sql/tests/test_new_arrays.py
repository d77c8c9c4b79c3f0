"""A table that the sink creates takes the arrays that it was created for."""

from typing import Any

import pytest
from connectors.sql.tests.targets import Target

from penstock import Instant, Record, Schema, Type
from penstock.schema import BYTES, DATE, INT32, STRING, TIME, TIMESTAMP, array_of, decimal, struct

DAY = 86_400_000


def debezium(name: str, type_: Type = Type.INT64) -> Schema:
    return Schema(type_, name=f"io.debezium.time.{name}")


@pytest.mark.parametrize(
    ("items", "values", "stored"),
    [
        (BYTES, [b"\x00\xff", b"", b'"\\'], r'{"\\x00ff","\\x","\\x225c"}'),
        (TIME, [Instant(0), Instant(DAY - 1), Instant(DAY)], "{00:00:00,23:59:59.999,24:00:00}"),
        (DATE, [Instant(0), Instant(DAY)], "{1970-01-01,1970-01-02}"),
        (TIMESTAMP, [Instant(0)], '{"1970-01-01 00:00:00+00"}'),
        (decimal(2), [], "{}"),
        (STRING, ["a,b", 'c"d', "NULL", ""], '{"a,b","c\\"d","NULL",""}'),
        (debezium("Time", Type.INT32), [1, DAY], "{00:00:00.001,24:00:00}"),
        (debezium("MicroTime"), [1, DAY * 1000], "{00:00:00.000001,24:00:00}"),
        (debezium("NanoTime"), [1_000, DAY * 1_000_000], "{00:00:00.000001,24:00:00}"),
        (debezium("Date", Type.INT32), [1], "{1970-01-02}"),
        (debezium("Timestamp"), [1], '{"1970-01-01 00:00:00.001"}'),
        (debezium("MicroTimestamp"), [1], '{"1970-01-01 00:00:00.000001"}'),
        (debezium("NanoTimestamp"), [1_000], '{"1970-01-01 00:00:00.000001"}'),
        (debezium("ZonedTimestamp", Type.STRING), ["2026-01-01T00:00:00Z"], '{"2026-01-01 00:00:00+00"}'),
        (debezium("ZonedTime", Type.STRING), ["12:00:00+01:00"], "{12:00:00+01:00}"),
        (Schema(Type.STRING, name="io.debezium.data.Uuid"), ["00000000-0000-0000-0000-00000000000A"],
         "{00000000-0000-0000-0000-00000000000a}"),
    ],
)  # fmt: skip
def test_a_created_column_takes_the_arrays_that_it_was_created_for(
    database: Any, items: Schema, values: list[Any], stored: str
) -> None:
    schema = struct({"v": array_of(items.as_optional()).as_optional()})
    key = struct({"k": INT32})
    given = [values, [], None, [None]]
    batch = [
        Record(topic="t", key={"k": number}, key_schema=key, value={"v": value}, value_schema=schema)
        for number, value in enumerate(given)
    ]
    target = Target(database)
    assert target.write(*batch, auto_create="true") == []
    assert database.rows("SELECT v::text FROM t ORDER BY k") == [(stored,), ("{}",), (None,), ("{NULL}",)]
