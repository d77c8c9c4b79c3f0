"""Moments at and beyond the ends of Python's calendar, as texts and as Debezium's numbers."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock import Record, Schema, Type
from penstock.schema import INT64, struct
from penstock.testing import run_writer
from penstock_sql.sink import SqlSink

TOKYO = {"db.timezone": "Asia/Tokyo"}
ZONED = Schema(Type.STRING, name="io.debezium.time.ZonedTimestamp", version=1)
LAST = "9999-12-31T23:59:59Z"
FIRST = "0001-01-01T00:00:00+14:00"
BEYOND = "+10000-01-01T04:59:59Z"
BEFORE = "-0044-03-15T12:00:00.5Z"


def record(value: Any, schema: Schema | None, key: int = 1) -> Record:
    of = None if schema is None else struct({"id": INT64, "x": schema})
    return Record(topic="moments", value={"id": key, "x": value}, value_schema=of)


def write(database: Any, values: list[tuple[Any, Schema | None]], **more: str) -> list[str]:
    records = [record(value, schema, key) for key, (value, schema) in enumerate(values)]
    return [str(error) for _, error in run_writer(SqlSink, {**database.properties, **more}, [records])]


@pytest.mark.parametrize("schema", [None, ZONED])
@pytest.mark.parametrize(
    ("value", "local", "instant", "day"),
    [
        (LAST, "10000-01-01 08:59:59", "9999-12-31 23:59:59+00", "10000-01-01"),
        (FIRST, "0001-12-31 19:18:59 BC", "0001-12-31 10:00:00+00 BC", "0001-12-31 BC"),
        (BEYOND, "10000-01-01 13:59:59", "10000-01-01 04:59:59+00", "10000-01-01"),
        (BEFORE, "0045-03-15 21:18:59.5 BC", "0045-03-15 12:00:00.5+00 BC", "0045-03-15 BC"),
        ("+294247-01-10T04:00:25.200Z", "infinity", "infinity", "infinity"),
        ("-290308-12-21T19:59:27.600Z", "-infinity", "-infinity", "-infinity"),
        ("infinity", "infinity", "infinity", "infinity"),
        ("2026-01-01T24:00:00Z", "2026-01-02 09:00:00", "2026-01-02 00:00:00+00", "2026-01-02"),
    ],
)
def test_texts_of_any_year_are_written_to_postgresql(
    database: Any, value: str, schema: Schema | None, local: str, instant: str, day: str
) -> None:
    database.run("CREATE TABLE moments (x timestamp, y timestamptz, z date)")
    of = None if schema is None else struct(dict.fromkeys("xyz", schema))
    moment = Record(topic="moments", value=dict.fromkeys("xyz", value), value_schema=of)
    assert run_writer(SqlSink, {**database.properties, **TOKYO}, [[moment]]) == []
    database.run(f"ALTER DATABASE {database.name} SET timezone = 'UTC'")
    assert database.rows("SELECT x::text, y::text, z::text FROM moments") == [(local, instant, day)]


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("", 9_223_372_036_825_200_000, "infinity"),
        ("Micro", 9_223_372_036_825_200_000, "infinity"),
        ("Micro", -9_223_372_036_832_400_000, "-infinity"),
        ("Micro", 253_402_300_800_000_001, "10000-01-01 00:00:00.000001"),
        ("", -62_135_596_800_001, "0001-12-31 23:59:59.999 BC"),
        ("Nano", 9_223_372_036_854_775_807, "2262-04-11 23:47:16.854776"),
    ],
)
def test_timestamps_of_debezium_of_any_year_are_written_to_postgresql(
    database: Any, unit: str, value: int, text: str
) -> None:
    schema = Schema(Type.INT64, name=f"io.debezium.time.{unit}Timestamp", version=1)
    database.run("CREATE TABLE moments (id BIGINT, x TIMESTAMP)")
    assert write(database, [(value, schema)], **TOKYO) == []
    assert database.rows("SELECT x::text FROM moments") == [(text,)]


@pytest.mark.parametrize(
    ("value", "text"), [(2_147_483_647, "infinity"), (2_932_897, "10000-01-01"), (-719_163, "0001-12-31 BC")]
)
def test_dates_of_debezium_of_any_year_are_written_to_postgresql(database: Any, value: int, text: str) -> None:
    database.run("CREATE TABLE moments (id BIGINT, x DATE)")
    assert write(database, [(value, Schema(Type.INT32, name="io.debezium.time.Date", version=1))]) == []
    assert database.rows("SELECT x::text FROM moments") == [(text,)]


FAR: list[tuple[Any, Schema | None]] = [
    (LAST, None),
    (LAST, ZONED),
    (FIRST, None),
    (BEYOND, ZONED),
    (BEFORE, None),
    ("infinity", None),
    (9_223_372_036_825_200_000, Schema(Type.INT64, name="io.debezium.time.MicroTimestamp", version=1)),
    (9_223_372_036_825_200_000, Schema(Type.INT64, name="io.debezium.time.Timestamp", version=1)),
    (2_147_483_647, Schema(Type.INT32, name="io.debezium.time.Date", version=1)),
]
"""What has no place in a column by the clocks of Tokyo."""


def test_a_year_that_mariadb_has_not_hands_back_its_record(maria: Any) -> None:
    maria.run("CREATE TABLE moments (id BIGINT, x DATETIME)")
    refused = write(maria, [*FAR, ("9999-12-31T14:59:59Z", None), ("2026-01-01T24:00:00Z", None)], **TOKYO)
    assert len(refused) == len(FAR)
    assert all("outside the years 1 to 9999" in error for error in refused)
    found = maria.rows("SELECT CAST(x AS CHAR) FROM moments ORDER BY id")
    assert found == [("9999-12-31 23:59:59",), ("2026-01-02 09:00:00",)]


def test_a_value_outside_of_mariadbs_timestamp_range_hands_back_its_record(maria: Any) -> None:
    maria.run("CREATE TABLE moments (id BIGINT, x TIMESTAMP NULL)")
    refused = write(maria, [*FAR, ("2026-01-01T24:00:00", None)], **TOKYO)
    assert len(refused) == len(FAR)
    assert maria.rows("SELECT CAST(x AS CHAR) FROM moments") == [("2026-01-01 15:00:00",)]


def test_a_year_that_sqlite_has_not_hands_back_its_record(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE moments (id BIGINT, x DATETIME)")
    records = [record(value, schema) for value, schema in [*FAR, ("9999-12-31T14:59:59Z", None)]]
    refused = run_writer(SqlSink, {"connection.url": f"jdbc:sqlite:{file}", **TOKYO}, [records])
    assert len(refused) == len(FAR)
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT x FROM moments").fetchall() == [("9999-12-31 23:59:59.000000",)]
