"""Values as each database stores them, where the types and conventions of two systems meet."""

import datetime
import itertools
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock import Instant, Record, Schema, Type
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    map_of,
    struct,
)
from penstock.testing import run_writer
from penstock_plugins.converters.json.converter import JsonConverter
from penstock_sql.sink import SqlSink

DAY = Instant(20_540 * 86_400_000)  # 2026-03-28
MOMENT = Instant(DAY + 3 * 3_600_000)  # 03:00 in UTC, which is the evening before in New York
CLOCK = Instant(3_600_001)
NEW_YORK = {"db.timezone": "America/New_York"}
TIMES = {"day": DATE, "clock": TIME, "at": TIMESTAMP}


class SqliteFile:
    """A file of SQLite with what the other databases of these tests have."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.properties = {"connection.url": f"jdbc:sqlite:{path}"}

    def run(self, statement: str) -> None:
        with closing(sqlite3.connect(self._path)) as shop:
            shop.execute(statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self._path)) as shop:
            return shop.execute(statement).fetchall()


@pytest.fixture
def lite(tmp_path: Path) -> SqliteFile:
    """An empty file of SQLite."""
    return SqliteFile(tmp_path / "shop.db")


@pytest.fixture(params=["database", "maria", "lite"])
def any_database(request: Any) -> Any:
    """An empty database of PostgreSQL, of MariaDB, of SQLite."""
    return request.getfixturevalue(request.param)


def write(database: Any, *records: Record, **properties: str) -> list[str]:
    """Write one batch; the errors of the records that were handed back."""
    given = {**database.properties, **{name.replace("_", "."): value for name, value in properties.items()}}
    return [str(error) for _, error in run_writer(SqlSink, given, [list(records)])]


def bare(**value: Any) -> Record:
    return Record(topic="orders", value=value)


def typed(fields: Mapping[str, Schema], **value: Any) -> Record:
    return Record(topic="orders", value=value, value_schema=struct(fields))


def from_json(*texts: str, schemas: bool) -> list[Record]:
    """Records as JsonConverter reads them, in one batch."""
    converter = JsonConverter()
    converter.configure(JsonConverter.Config.parse({"schemas.enable": str(schemas).lower()}), is_key=False)
    made, values = converter.to_connect_batch("orders", [text.encode() for text in texts])
    of = made if isinstance(made, list) else [made] * len(texts)
    return [Record(topic="orders", value=values[n], value_schema=of[n]) for n in range(len(texts))]


def through_json(record: Record) -> Record:
    """A record as the converter of a source writes it and that of a sink reads it."""
    converter = JsonConverter()
    converter.configure(JsonConverter.Config.parse({}), is_key=False)
    schema, value = converter.to_connect("t", converter.from_connect("t", record.value_schema, record.value))
    return record.replace(value=value, value_schema=schema)


BIG = 10**21
UNSIGNED = 2**64 - 1


def test_integers_beyond_64_bits_are_stored_as_they_are_in_the_message(database: Any) -> None:
    database.run(
        "CREATE TABLE orders (wei NUMERIC, note TEXT, doc JSONB, many NUMERIC[], size DOUBLE PRECISION, small BIGINT)"
    )
    value = {"wei": BIG, "note": UNSIGNED, "doc": {"a": [-BIG]}, "many": [UNSIGNED, 1], "size": BIG, "small": 7}
    assert write(database, *from_json(json.dumps(value), '{"small": 18446744073709551615}', schemas=False))[1:] == []
    assert database.rows("SELECT wei, note, doc, many, size, small FROM orders") == [
        (BIG, str(UNSIGNED), {"a": [-BIG]}, [UNSIGNED, 1], float(BIG), 7)
    ]


def test_integers_beyond_64_bits_are_stored_by_mariadb_where_the_column_holds_them(maria: Any) -> None:
    maria.run(
        "CREATE TABLE orders (wei DECIMAL(30), note TEXT, doc JSON, whole BIGINT UNSIGNED, size DOUBLE, small BIGINT)"
    )
    value = {"wei": BIG, "note": UNSIGNED, "doc": {"a": [-BIG]}, "whole": UNSIGNED, "size": BIG, "small": 7}
    others = [{"small": UNSIGNED}, {"whole": BIG}, {"wei": 10**40}]
    refused = write(maria, *from_json(json.dumps(value), *map(json.dumps, others), schemas=False))
    assert len(refused) == 3
    assert maria.rows("SELECT wei, note, doc, whole, size, small FROM orders") == [
        (BIG, str(UNSIGNED), f'{{"a": [-{BIG}]}}', UNSIGNED, float(BIG), 7)
    ]


def test_integers_beyond_64_bits_are_handed_back_by_sqlite_where_the_column_would_round_them(lite: Any) -> None:
    lite.run("CREATE TABLE orders (wei NUMERIC, note TEXT, whole INTEGER, size REAL, doc JSON)")
    value = {"wei": BIG, "note": UNSIGNED, "size": 2**64, "whole": 7, "doc": [UNSIGNED]}
    others = [{"wei": UNSIGNED}, {"whole": UNSIGNED}, {"size": UNSIGNED}]
    refused = write(lite, *from_json(json.dumps(value), *map(json.dumps, others), schemas=False))
    assert len(refused) == 3
    assert all("more than 64 bits" in error for error in refused)
    assert lite.rows("SELECT wei, note, whole, size, doc FROM orders") == [
        (float(BIG), str(UNSIGNED), 7, float(2**64), f"[{UNSIGNED}]")
    ]


def test_an_unsigned_integer_under_a_schema_of_64_bits_is_stored_or_handed_back(any_database: Any) -> None:
    any_database.run("CREATE TABLE orders (note VARCHAR(30), small BIGINT)")
    schema = {"type": "struct", "fields": [{"field": n, "type": "int64", "optional": True} for n in ("note", "small")]}
    payloads = [{"note": UNSIGNED, "small": 7}, {"note": 1, "small": UNSIGNED}]
    texts = [json.dumps({"schema": schema, "payload": payload}) for payload in payloads]
    assert len(write(any_database, *from_json(*texts, schemas=True))) == 1
    assert any_database.rows("SELECT note, small FROM orders") == [(str(UNSIGNED), 7)]


def test_numbers_beyond_every_float_are_stored_as_they_are_in_the_message_or_handed_back(any_database: Any) -> None:
    at_mariadb, lite = hasattr(any_database, "reading"), isinstance(any_database, SqliteFile)
    wide = "DECIMAL(65)" if at_mariadb else "NUMERIC"
    any_database.run(f"CREATE TABLE orders (id INT, n {wide}, f DOUBLE PRECISION, w BIGINT, doc JSON, note TEXT)")
    texts = [
        '{"id": 1, "n": 1e400}', '{"id": 2, "n": -1E+999}', '{"id": 3, "f": 1e400}', '{"id": 4, "w": 1e400}',
        '{"id": 5, "doc": {"a": [1e400]}}', '{"id": 6, "note": -1E999}', '{"id": 7, "f": 1e308, "n": 1.5e2}',
        '{"id": 8, "n": 1e2147483647}', '{"id": 9, "doc": [1e308]}',
    ]  # fmt: skip
    refused = write(any_database, *from_json(*texts, schemas=False))
    stored = {6: "-1E+999", 7: None, 9: None}
    if not (at_mariadb or lite):
        stored |= {1: None, 2: None}
        assert any_database.rows("SELECT n FROM orders WHERE id < 3 ORDER BY id") == [(10**400,), (-(10**999),)]
    assert len(refused) == len(texts) - len(stored)
    assert dict(any_database.rows("SELECT id, note FROM orders")) == stored
    assert [float(each) for each in any_database.rows("SELECT f, n FROM orders WHERE id = 7")[0]] == [1e308, 150.0]


def test_numbers_beyond_a_float_of_its_schema_are_stored_as_they_are_in_the_message(any_database: Any) -> None:
    any_database.run("CREATE TABLE orders (note VARCHAR(30), size DOUBLE PRECISION)")
    kinds = {"note": "double", "size": "float"}
    schema = {"type": "struct", "fields": [{"field": name, "type": kind} for name, kind in kinds.items()]}
    text = f'{{"schema": {json.dumps(schema)}, "payload": {{"note": 1e309, "size": -1e39}}}}'
    assert write(any_database, *from_json(text, schemas=True)) == []
    assert any_database.rows("SELECT note, size FROM orders") == [("1E+309", -1e39)]


def test_numbers_beyond_every_float_are_stored_in_arrays(database: Any) -> None:
    database.run("CREATE TABLE orders (many NUMERIC[])")
    assert write(database, *from_json('{"many": [1e400, 0.5]}', schemas=False)) == []
    assert database.rows("SELECT many FROM orders") == [([10**400, Decimal("0.5")],)]


def test_a_key_beyond_64_bits_is_another_key_than_its_low_bits(database: Any) -> None:
    database.run("CREATE TABLE orders (id NUMERIC PRIMARY KEY)")
    records = from_json('{"id": 0}', '{"id": 18446744073709551616}', schemas=False)
    assert write(database, *records, insert_mode="upsert", pk_mode="record_value", pk_fields="id") == []
    assert database.rows("SELECT id FROM orders ORDER BY id") == [(0,), (2**64,)]


FLOATS = {"id": FLOAT64, "wide": FLOAT64, "narrow": FLOAT32, "note": FLOAT64}
ODD = [float("nan"), float("inf"), float("-inf")]


def odd_floats() -> list[Record]:
    rows = [typed(FLOATS, id=float(n), wide=odd, narrow=odd, note=odd) for n, odd in enumerate(ODD)]
    return [through_json(each) for each in [*rows, typed(FLOATS, id=9.0, wide=0.0, narrow=0.0, note=0.0)]]


def test_nan_and_infinity_of_json_with_schemas_are_stored_as_they_are(database: Any) -> None:
    database.run("CREATE TABLE orders (id FLOAT8, wide FLOAT8, narrow FLOAT4, note TEXT)")
    assert write(database, *odd_floats()) == []
    words = ["NaN", "Infinity", "-Infinity"]
    found = database.rows("SELECT wide::text, narrow::text, note FROM orders WHERE id < 9 ORDER BY id")
    assert found == [(word, word, word) for word in words]
    database.run("CREATE TABLE whole (id FLOAT8, wide BIGINT, narrow FLOAT4, note TEXT)")
    assert len(write(database, *odd_floats()[:3], table_name_format="whole")) == 3


def test_nan_and_infinity_of_json_with_schemas_are_handed_back_by_mariadb(maria: Any) -> None:
    maria.run("CREATE TABLE orders (id DOUBLE, wide DOUBLE, narrow FLOAT, note TEXT)")
    refused = write(maria, *odd_floats())
    assert len(refused) == 3
    assert maria.rows("SELECT id, wide FROM orders") == [(9.0, 0.0)]


def test_nan_is_handed_back_by_sqlite_and_infinity_stored(lite: Any) -> None:
    lite.run("CREATE TABLE orders (id REAL, wide REAL, narrow REAL, note TEXT)")
    (refused,) = write(lite, *odd_floats())
    assert "cannot store NaN: SQLite would store null" in refused
    infinity = float("inf")
    assert lite.rows("SELECT wide, narrow, note FROM orders WHERE id < 9 ORDER BY id") == [
        (infinity, infinity, "Infinity"),
        (-infinity, -infinity, "-Infinity"),
    ]


def test_nan_within_json_is_handed_back(any_database: Any) -> None:
    any_database.run("CREATE TABLE orders (doc JSON)")
    fields = {"doc": map_of(STRING, FLOAT64)}
    refused = write(any_database, typed(fields, doc={"a": float("nan")}), typed(fields, doc={"a": 1.5}))
    assert len(refused) == 1
    assert "cannot write infinity or NaN as JSON" in refused[0]
    assert len(any_database.rows("SELECT doc FROM orders")) == 1


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "UTC"])
@pytest.mark.parametrize("schema", [DATE, Schema(Type.INT32, name="io.debezium.time.Date")])
def test_a_day_has_no_zone(any_database: Any, zone: str, schema: Schema) -> None:
    column = "DATETIME" if "mariadb" in any_database.properties["connection.url"] else "TIMESTAMP"
    any_database.run(f"CREATE TABLE orders (day DATE, local {column}, note VARCHAR(99))")
    value = DAY if schema is DATE else 20_540
    fields = {"day": schema, "local": schema, "note": schema}
    assert write(any_database, typed(fields, day=value, local=value, note=value), db_timezone=zone) == []
    ((day, local, note),) = any_database.rows("SELECT day, local, note FROM orders")
    assert str(day) == "2026-03-28"
    assert str(local) in ("2026-03-28 00:00:00", "2026-03-28 00:00:00.000000")
    assert note == "2026-03-28"


@pytest.mark.parametrize("schema", [DATE, Schema(Type.INT32, name="io.debezium.time.Date")])
def test_a_day_in_a_column_with_a_zone_begins_by_the_clocks_of_the_configuration(
    database: Any, maria: Any, schema: Schema
) -> None:
    value = DAY if schema is DATE else 20_540
    for each, column in ((database, "TIMESTAMPTZ"), (maria, "TIMESTAMP")):
        each.run(f"CREATE TABLE orders (at {column})")
        assert write(each, typed({"at": schema}, at=value), db_timezone="America/New_York") == []
    assert database.rows("SELECT at AT TIME ZONE 'UTC' FROM orders")[0][0].isoformat() == "2026-03-28T04:00:00"
    assert maria.rows("SELECT at FROM orders")[0][0].isoformat() == "2026-03-28T04:00:00"


@pytest.mark.parametrize(("zone", "day"), [("America/New_York", 27), ("Asia/Tokyo", 28), ("UTC", 28)])
@pytest.mark.parametrize("schema", [TIMESTAMP, None])
def test_a_timestamp_is_of_the_same_day_in_a_column_of_days(
    any_database: Any, zone: str, day: int, schema: Schema | None
) -> None:
    column = "DATETIME" if "mariadb" in any_database.properties["connection.url"] else "TIMESTAMP"
    any_database.run(f"CREATE TABLE orders (day DATE, local {column})")
    value = {"day": MOMENT, "local": MOMENT}
    record = bare(**value) if schema is None else typed({"day": schema, "local": schema}, **value)
    assert write(any_database, record, db_timezone=zone) == []
    ((date, local),) = any_database.rows("SELECT day, local FROM orders")
    assert str(date) == f"2026-03-{day}"
    assert str(local).startswith(f"2026-03-{day} ")


def test_a_timestamp_of_debezium_is_of_the_same_day_in_a_column_of_days(any_database: Any) -> None:
    column = "DATETIME(6)" if "mariadb" in any_database.properties["connection.url"] else "TIMESTAMP"
    zoned = "TIMESTAMP(6)" if "mariadb" in any_database.properties["connection.url"] else "TIMESTAMPTZ"
    any_database.run(f"CREATE TABLE orders (day DATE, local {column}, note VARCHAR(99), at {zoned})")
    micro = Schema(Type.INT64, name="io.debezium.time.MicroTimestamp")
    value = MOMENT * 1000 + 5
    names = ("day", "local", "note", "at")
    record = typed(dict.fromkeys(names, micro), **dict.fromkeys(names, value))
    assert write(any_database, record, db_timezone="America/New_York") == []
    ((day, local, note),) = any_database.rows("SELECT day, local, note FROM orders")
    assert [str(day), str(local)] == ["2026-03-28", "2026-03-28 03:00:00.000005"]
    assert note == "2026-03-28T03:00:00.000005"
    if "postgresql" in any_database.properties["connection.url"]:
        assert any_database.rows("SELECT at AT TIME ZONE 'UTC' = local FROM orders") == [(True,)]
    elif "mariadb" in any_database.properties["connection.url"]:
        assert any_database.rows("SELECT at = local FROM orders") == [(1,)]


def test_texts_have_what_days_times_and_moments_have(any_database: Any) -> None:
    any_database.run("CREATE TABLE orders (day VARCHAR(99), clock VARCHAR(99), at VARCHAR(99))")
    record = typed(TIMES, day=DAY, clock=CLOCK, at=MOMENT)
    assert write(any_database, record, db_timezone="America/New_York") == []
    assert any_database.rows("SELECT day, clock, at FROM orders") == [
        ("2026-03-28", "01:00:00.001000", "2026-03-28T03:00:00+00:00")
    ]


@pytest.mark.parametrize(
    ("name", "column"), [("clock", "DATE"), ("clock", "TIMESTAMP"), ("day", "TIME"), ("at", "TIME")]
)
def test_what_a_column_of_time_needs_and_a_value_lacks_is_handed_back(
    any_database: Any, name: str, column: str
) -> None:
    any_database.run(f"CREATE TABLE orders (c {column})")
    value = {"clock": CLOCK, "day": Instant(0), "at": Instant(5)}[name]
    assert len(write(any_database, typed({"c": TIMES[name]}, c=value))) == 1
    assert any_database.rows("SELECT c FROM orders") == []


def test_days_beyond_those_of_python_are_days_in_every_column_of_postgresql(database: Any) -> None:
    database.run("CREATE TABLE orders (day DATE, local TIMESTAMP, at TIMESTAMPTZ, note TEXT)")
    schemas = dict.fromkeys(("day", "local", "at", "note"), DATE)
    far = Instant(3_000_000 * 86_400_000)
    end = Instant((2**31 - 1) * 86_400_000)
    records = [typed(schemas, **dict.fromkeys(schemas, value)) for value in (far, end)]
    moments = dict.fromkeys(("day", "local"), TIMESTAMP)
    records.append(typed(moments, **dict.fromkeys(moments, Instant(far + 3_600_000))))
    assert write(database, *records, db_timezone="America/New_York") == []
    assert database.rows(
        "SELECT day::text, local::text, (at AT TIME ZONE 'America/New_York')::text, note FROM orders"
    ) == [
        ("10183-09-21", "10183-09-21 00:00:00", "10183-09-21 00:00:00", "10183-09-21"),
        ("infinity",) * 4,
        ("10183-09-20", "10183-09-20 21:00:00", None, None),
    ]


def test_arrays_hold_what_columns_of_their_items_hold(database: Any) -> None:
    database.run(
        "CREATE TABLE orders (raws BYTEA[], days DATE[], locals TIMESTAMP[], clocks TIME[], ats TIMESTAMPTZ[], notes TEXT[],"
        " flags BIT(9)[])"
    )
    bits = Schema(Type.BYTES, name="io.debezium.data.Bits", parameters={"length": "9"})
    fields = {
        "raws": array_of(BYTES), "days": array_of(DATE), "locals": array_of(TIMESTAMP), "clocks": array_of(TIME),
        "ats": array_of(TIMESTAMP), "notes": array_of(DATE), "flags": array_of(bits),
    }  # fmt: skip
    value = {
        "raws": [b"\0\\\"", None], "days": [DAY], "locals": [MOMENT], "clocks": [CLOCK], "ats": [MOMENT], "notes": [DAY],
        "flags": [b"\x55\x01"],
    }  # fmt: skip
    assert write(database, typed(fields, **value), db_timezone="America/New_York") == []
    (found,) = database.rows("SELECT raws, days, locals, clocks, ats, notes, flags::text FROM orders")
    evening = datetime.datetime.fromisoformat("2026-03-27T23:00:00")
    day = datetime.date(2026, 3, 28)
    assert found == (
        [b"\0\\\"", None], [day], [evening], [datetime.time(1, 0, 0, 1000)],
        [datetime.datetime.fromisoformat("2026-03-28T03:00:00+00:00")], ["2026-03-28"], "{101010101}",
    )  # fmt: skip


def test_base64_in_an_array_of_bytes_is_read_as_in_a_column_of_bytes(database: Any) -> None:
    database.run("CREATE TABLE orders (raws BYTEA[])")
    refused = write(
        database,
        bare(raws=["aGk=", None, ""]),
        bare(raws=[["aA=="], ["aQ=="]]),
        bare(raws=["no base64!"]),
        bare(raws=[1]),
    )
    assert len(refused) == 2
    assert "it is not Base64" in refused[0]
    assert database.rows("SELECT raws FROM orders") == [([b"hi", None, b""],), ([[b"h"], [b"i"]],)]


def bits_of(length: int) -> Schema:
    return Schema(Type.BYTES, name="io.debezium.data.Bits", parameters={"length": str(length)})


@pytest.mark.parametrize(
    ("value", "length", "column", "stored"),
    [
        (b"\x02\x01", 16, "BIT(16)", "0000000100000010"),
        (b"\x55\x01", 9, "BIT(9)", "101010101"),
        (b"\x55\x01", 9, "BIT VARYING(20)", "101010101"),
        (b"\x05", 2**31 - 1, "BIT VARYING", "00000101"),
        (b"\x02\x01", 16, "TEXT", "0000000100000010"),
        (b"\x02\x01", 16, "INT", "258"),
        (b"\x02\x01", 16, "BYTEA", "\\x0201"),
    ],
)
def test_bits_of_debezium_are_read_with_the_lowest_byte_first(
    database: Any, value: bytes, length: int, column: str, stored: str
) -> None:
    database.run(f"CREATE TABLE orders (c {column})")
    assert write(database, typed({"c": bits_of(length)}, c=value)) == []
    assert database.rows("SELECT c::text FROM orders") == [(stored,)]


@pytest.mark.parametrize(
    ("value", "length", "column", "stored"),
    [
        (b"\x02\x01", 16, "BIT(16)", b"\x01\x02"),
        (b"\x55\x01", 9, "BIT(9)", b"\x01\x55"),
        (b"\xff" * 8, 64, "BIT(64)", b"\xff" * 8),
        (b"\x02\x01", 16, "INT", 258),
        (b"\x02\x01", 16, "TEXT", "0000000100000010"),
        (b"\x02\x01", 16, "BLOB", b"\x02\x01"),
    ],
)
def test_bits_of_debezium_are_read_with_the_lowest_byte_first_into_mariadb(
    maria: Any, value: bytes, length: int, column: str, stored: Any
) -> None:
    maria.run(f"CREATE TABLE orders (c {column})")
    assert write(maria, typed({"c": bits_of(length)}, c=value)) == []
    assert maria.rows("SELECT c FROM orders") == [(stored,)]


@pytest.mark.parametrize(
    ("column", "stored"), [("BIT(16)", 258), ("INTEGER", 258), ("TEXT", "0000000100000010"), ("BLOB", b"\x02\x01")]
)
def test_bits_of_debezium_are_numbers_in_sqlite(lite: Any, column: str, stored: Any) -> None:
    lite.run(f"CREATE TABLE orders (c {column})")
    assert write(lite, typed({"c": bits_of(16)}, c=b"\x02\x01")) == []
    assert lite.rows("SELECT c FROM orders") == [(stored,)]


def test_booleans_numbers_and_texts_become_bits(database: Any, maria: Any) -> None:
    for each in (database, maria):
        each.run("CREATE TABLE orders (one BIT(1), four BIT(4))")
        batch = [
            typed({"one": BOOLEAN}, one=True),
            bare(one=False),
            bare(four=5),
            bare(four="0101"),
            bare(four=b"\x05"),
        ]
        assert write(each, *batch) == []
    assert database.rows("SELECT one::text, four::text FROM orders") == [
        ("1", None),
        ("0", None),
        (None, "0101"),
        (None, "0101"),
        (None, "0101"),
    ]
    assert maria.rows("SELECT one, four FROM orders") == [
        (b"\1", None),
        (b"\0", None),
        (None, b"\5"),
        (None, b"\5"),
        (None, b"\5"),
    ]


@pytest.mark.parametrize("value", ["VQE=", 16, -1, 1.5, b"\x10", "٣"])
def test_what_is_no_bits_or_too_many_is_handed_back(database: Any, maria: Any, value: Any) -> None:
    for each in (database, maria):
        each.run("CREATE TABLE orders (four BIT(4))")
        assert len(write(each, bare(four=value), bare(four=1))) == 1
        assert len(each.rows("SELECT four FROM orders")) == 1


def test_maps_and_json_of_debezium_become_hstore(database: Any) -> None:
    database.run("CREATE EXTENSION hstore")
    database.run("CREATE TABLE orders (id INT, tags HSTORE)")
    of_json = Schema(Type.STRING, name="io.debezium.data.Json")
    odd = {"a": '"x"\\=>', "b": None, 'k"\\': "", "NULL": "NULL"}
    batch = [
        typed({"tags": of_json}, tags=json.dumps(odd)),
        typed({"tags": map_of(STRING, STRING.as_optional())}, tags=odd),
        bare(tags=odd),
        bare(tags={"n": 1, "t": True, "deep": {"a": [1]}, "f": 1.5}),
        bare(tags='{"n": 1.50, "big": 18446744073709551616}'),
        bare(tags="a=>1, b=>NULL"),
        bare(tags={}),
    ]
    assert write(database, *batch) == []
    found = [json.loads(text) for (text,) in database.rows("SELECT hstore_to_json(tags)::text FROM orders")]
    assert found == [
        odd,
        odd,
        odd,
        {"n": "1", "t": "true", "deep": '{"a": [1]}', "f": "1.5"},
        {"n": "1.50", "big": "18446744073709551616"},
        {"a": "1", "b": None},
        {},
    ]


@pytest.mark.parametrize(
    "value", ["1_000", "٣", "\u200312", "12\u00a0", "1 2", "", "1e", "0x10", "NaN", "Infinity", "1e999999999", "1e20"]
)
@pytest.mark.parametrize("column", ["INT", "BIGINT UNSIGNED", "YEAR"])
def test_a_text_that_mariadb_does_not_read_as_a_whole_number_is_handed_back(
    maria: Any, column: str, value: str
) -> None:
    maria.run(f"CREATE TABLE orders (c {column})")
    (refused,) = write(maria, bare(c=value), bare(c="12"))
    assert "is not a whole number" in refused
    assert len(maria.rows("SELECT c FROM orders")) == 1


def test_texts_of_whole_numbers_are_taken_by_mariadb(maria: Any) -> None:
    maria.run("CREATE TABLE orders (c BIGINT UNSIGNED)")
    texts = ["+12", "-0", "12.0", "1e3", "12.", "007", " 12", "12 \t\n\v\f\r", "18446744073709551615"]
    assert write(maria, *(bare(c=text) for text in texts)) == []
    assert [c for (c,) in maria.rows("SELECT c FROM orders")] == [12, 0, 12, 1000, 12, 7, 12, 12, UNSIGNED]


def test_a_decimal_of_debezium_with_a_fraction_is_handed_back_for_a_column_of_whole_numbers(maria: Any) -> None:
    maria.run("CREATE TABLE orders (c INT)")
    schema = struct({"scale": Schema(Type.INT32), "value": BYTES}, name="io.debezium.data.VariableScaleDecimal")
    values = [{"scale": scale, "value": b"\x5f"} for scale in (0, 1)]
    assert len(write(maria, *(typed({"c": schema}, c=value) for value in values))) == 1
    assert maria.rows("SELECT c FROM orders") == [(Decimal(95),)]


HOUR = 3_600_000_000
LONG_TIMES = [-838 * HOUR - 1, -HOUR, 24 * HOUR, 838 * HOUR + 59]


def debezium_times(name: str, type_: Type, divisor: float) -> list[Record]:
    schema = Schema(type_, name=f"io.debezium.time.{name}")
    return [
        typed({"id": INT64, "at": schema}, id=n, at=int(micros / divisor)) for n, micros in enumerate([0, *LONG_TIMES])
    ]


@pytest.mark.parametrize(("name", "divisor"), [("MicroTime", 1), ("NanoTime", 0.001)])
def test_a_time_of_more_than_a_day_is_stored_where_the_column_has_it(maria: Any, name: str, divisor: float) -> None:
    maria.run("CREATE TABLE orders (id BIGINT, at TIME(6))")
    assert write(maria, *debezium_times(name, Type.INT64, divisor)) == []
    assert maria.rows("SELECT CAST(at AS CHAR) FROM orders ORDER BY id") == [
        ("00:00:00.000000",), ("-838:00:00.000001",), ("-01:00:00.000000",), ("24:00:00.000000",), ("838:00:00.000059",),
    ]  # fmt: skip


def test_a_time_of_more_than_a_day_is_handed_back_where_the_column_has_none(database: Any) -> None:
    database.run("CREATE TABLE orders (id BIGINT, at TIME)")
    assert len(write(database, *debezium_times("MicroTime", Type.INT64, 1))) == 3
    assert database.rows("SELECT id, at::text FROM orders ORDER BY id") == [(0, "00:00:00"), (3, "24:00:00")]


def test_a_time_of_more_than_a_day_is_written_out_in_a_column_of_text(any_database: Any) -> None:
    any_database.run("CREATE TABLE orders (id BIGINT, at VARCHAR(30))")
    assert write(any_database, *debezium_times("Time", Type.INT32, 1000)) == []
    assert [text for _, text in any_database.rows("SELECT id, at FROM orders ORDER BY id")] == [
        "00:00:00", "-838:00:00", "-01:00:00", "24:00:00", "838:00:00",
    ]  # fmt: skip


@pytest.mark.parametrize("type_", ["DATE", "TIMESTAMP"])
def test_a_time_of_a_day_in_a_column_with_a_date_is_handed_back(any_database: Any, type_: str) -> None:
    any_database.run(f"CREATE TABLE orders (id BIGINT, at {type_} NULL)")
    refused = write(any_database, *debezium_times("MicroTime", Type.INT64, 1))
    assert len(refused) == 5
    assert all("cannot write a time of day into" in error for error in refused)


CLOCKS = [
    "2026-01-01T25:00:00Z",
    "2026-01-01T99:99:99Z",
    "2026-01-01 12:60:00",
    "2026-01-01T12:00:61",
    "2026-01-01T30:00",
]


@pytest.mark.parametrize("type_", ["TIMESTAMP", "DATE"])
def test_a_clock_that_does_not_exist_is_handed_back(any_database: Any, type_: str) -> None:
    any_database.run(f"CREATE TABLE orders (id BIGINT, at {type_} NULL)")
    texts = [*CLOCKS, "2026-01-01T12:00:00-99:00", "2026-01-01T24:00:01Z"]
    bad = [bare(id=2, at=text) for text in texts]
    refused = write(any_database, bare(id=1, at="2026-01-01"), *bad, bare(id=3, at="2026-01-03"))
    assert len(refused) == len(texts)
    assert not any(text in error for text in texts for error in refused)
    assert any_database.rows("SELECT id FROM orders ORDER BY id") == [(1,), (3,)]


def test_a_year_or_number_with_thousands_of_digits_does_not_affect_other_records(any_database: Any) -> None:
    any_database.run("CREATE TABLE orders (id BIGINT, at TIMESTAMP NULL, n NUMERIC)")
    year = f"{'9' * 5000}-01-01T00:00:00Z"
    schema = Schema(
        Type.STRUCT,
        name="io.debezium.data.VariableScaleDecimal",
        fields=struct({"scale": INT32, "value": BYTES}).fields,
    )
    raw = (10**5000).to_bytes(3000, signed=True)
    long = typed({"id": INT64, "n": schema}, id=4, n={"scale": 0, "value": raw})
    write(any_database, bare(id=1), bare(id=2, at=year), bare(id=3), long)
    assert [row for row in any_database.rows("SELECT id FROM orders ORDER BY id") if row[0] % 2] == [(1,), (3,)]


def test_a_text_of_deep_json_stops_no_other_record(database: Any) -> None:
    database.run("CREATE EXTENSION IF NOT EXISTS hstore")
    database.run("CREATE TABLE orders (id BIGINT, h hstore)")
    deep = '{"a":' + "[" * 200_000 + "]" * 200_000 + "}"
    assert len(write(database, bare(id=1), bare(id=2, h=deep), bare(id=3))) == 1
    assert database.rows("SELECT id FROM orders ORDER BY id") == [(1,), (3,)]


@pytest.mark.parametrize("name", [None, "io.debezium.time.ZonedTimestamp"])
def test_a_moment_as_a_text_has_the_same_day_in_every_column(any_database: Any, name: str | None) -> None:
    days = {
        "2026-03-28T03:00:00Z": 27,
        "2026-03-28T03:00:00+09:00": 27,
        "2026-03-28T23:30:00-05:00": 29,
        "2026-03-28T24:00:00Z": 28,
        "2026-03-28T12:00:00Z": 28,
        "2026-03-28T03:00:00": 28,
        "2026-03-28": 28,
    }
    any_database.run("CREATE TABLE orders (id BIGINT, d DATE, l TIMESTAMP NULL)")
    schema = Schema(Type.STRING, name=name)
    records = [typed({"id": INT64, "d": schema, "l": schema}, id=n, d=text, l=text) for n, text in enumerate(days)]
    assert write(any_database, *records, db_timezone="America/New_York") == []
    found = any_database.rows("SELECT d, l FROM orders ORDER BY id")
    wanted = [f"2026-03-{day}" for day in days.values()]
    assert [str(stored) for stored, _ in found] == wanted
    if not hasattr(any_database, "reading"):  # TIMESTAMP of MariaDB is in UTC
        assert [str(moment)[:10] for _, moment in found] == wanted


FRACTIONS = {  # digits of a second: as PostgreSQL stores them, as MariaDB does
    "1234564": ("123456", "123456"),
    "1234567": ("123457", "123456"),
    "123456499": ("123456", "123456"),
    "1234565": ("123456", "123456"),  # PostgreSQL takes the even one of two that are as near
    "1234575": ("123458", "123457"),
}


@pytest.mark.parametrize("name", [None, "io.debezium.time.ZonedTimestamp"])
@pytest.mark.parametrize("at", ["postgresql", "mariadb"])
def test_fractions_of_microseconds_are_rounded_or_truncated_like_the_database(
    request: Any, at: str, name: str | None
) -> None:
    database = request.getfixturevalue("database" if at == "postgresql" else "maria")
    types = ["TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPTZ[]"] if at == "postgresql" else ["DATETIME(6)", "TIMESTAMP(6)"]
    years = ["2026", "+10026"] if at == "postgresql" else ["2026"]
    columns = {f"c{n}": each for n, each in enumerate(types)}
    database.run(f"CREATE TABLE orders (id INT, {', '.join(f'{column} {of} NULL' for column, of in columns.items())})")
    schema = Schema(Type.STRING, name=name)
    schemas = {column: array_of(schema) if of.endswith("[]") else schema for column, of in columns.items()}
    records = []
    for n, (year, zone, digits) in enumerate(itertools.product(years, ("", "Z", "+02:00"), FRACTIONS)):
        text = f"{year}-03-28T12:00:00.{digits}{zone}"
        values = {column: [text] if of.endswith("[]") else text for column, of in columns.items()}
        records.append(typed({"id": INT64, **schemas}, id=n, **values))
    assert write(database, *records) == []
    wanted = [of[at == "mariadb"] for _ in range(3 * len(years)) for of in FRACTIONS.values()]
    for column in columns:
        found = database.rows(f"SELECT CAST({column} AS CHAR(40)) FROM orders ORDER BY id")
        assert [text.partition(":00.")[2][:6] for (text,) in found] == wanted, column


def test_the_last_moment_of_a_day_is_of_one_day_in_every_column(database: Any) -> None:
    database.run("CREATE TABLE orders (d DATE, l TIMESTAMP, i TIMESTAMPTZ)")
    for zone in ("", "Z"):
        text = f"2026-03-28T23:59:59.9999996{zone}"
        assert write(database, typed(dict.fromkeys("dli", STRING), d=text, l=text, i=text)) == []
    assert database.rows("SELECT DISTINCT d::text, l::date::text, (i AT TIME ZONE 'UTC')::date::text FROM orders") == [
        ("2026-03-29",) * 3
    ]


@pytest.mark.parametrize(
    ("fixture", "kind", "wanted"),
    [("database", "TIMESTAMP", "00:00:00.001235"), ("maria", "DATETIME(6)", "00:00:00.001234")],
)
def test_nanoseconds_of_debezium_are_rounded_or_cut_likewise(
    request: Any, fixture: str, kind: str, wanted: str
) -> None:
    database = request.getfixturevalue(fixture)
    database.run(f"CREATE TABLE orders (at {kind}, clock TIME(6))")
    at = Schema(Type.INT64, name="io.debezium.time.NanoTimestamp")
    clock = Schema(Type.INT64, name="io.debezium.time.NanoTime")
    assert write(database, typed({"at": at, "clock": clock}, at=1_234_567, clock=1_234_567)) == []
    ((moment, time),) = database.rows("SELECT CAST(at AS CHAR(40)), CAST(clock AS CHAR(40)) FROM orders")
    assert (moment.strip()[11:], time.strip()) == (wanted, wanted)
