"""What becomes of records in PostgreSQL."""

import datetime
import sqlite3
import uuid
from collections.abc import Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock import ConnectError, Instant, Record, Schema, Type
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock.testing import run_writer
from penstock_sql.sink import SqlSink

UPSERT = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id", "delete.enabled": "true"}
CREATE = {"auto.create": "true", "auto.evolve": "true"}


def row(value: Any, key: Any = None, topic: str = "orders") -> Record:
    return Record(topic=topic, key=key, value=value)


def write(database: Any, *batches: list[Record], **properties: str) -> list[str]:
    """Write batches; the errors of the records that were handed back."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return [str(error) for _, error in run_writer(SqlSink, {**database.properties, **given}, list(batches))]


def with_schema(value: Mapping[str, Any], key: Any = None, **fields: Schema) -> Record:
    key_schema = None if key is None else INT64
    return Record(topic="orders", key=key, key_schema=key_schema, value=value, value_schema=struct(fields))


def test_maps_without_a_schema_take_the_types_of_the_table(database: Any) -> None:
    database.run(
        "CREATE TABLE orders (id INT, price NUMERIC, at TIMESTAMPTZ, day DATE, clock TIME, local TIMESTAMP, raw BYTEA,"
        " doc JSONB, tags TEXT[], code UUID, done BOOLEAN, note TEXT, size DOUBLE PRECISION)"
    )
    code = uuid.uuid4()
    value = {
        "id": 1, "price": "9.50", "at": 1_700_000_000_000, "day": 19_675, "clock": 3_600_000, "local": 1_700_000_000_000,
        "raw": "aGk=", "doc": {"a": [1, None]}, "tags": ["x", 'y"\\,', None], "code": str(code), "done": True,
        "note": {"free": "text"}, "size": 1.5,
    }  # fmt: skip
    assert write(database, [row(value)], db_timezone="Europe/Berlin") == []
    (found,) = database.rows("SELECT * FROM orders")
    moment = datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.UTC)
    assert found == (
        1, Decimal("9.50"), moment, moment.date(), datetime.time(1), moment.replace(tzinfo=None, hour=23),
        b"hi", {"a": [1, None]}, ["x", 'y"\\,', None], code, True, '{"free": "text"}', 1.5,
    )  # fmt: skip


def test_a_missing_table_is_created_by_the_schema_and_widened_by_a_later_one(database: Any) -> None:
    fields = {
        "id": INT64, "small": INT8, "price": decimal(2), "day": DATE, "clock": TIME, "at": TIMESTAMP, "raw": BYTES,
        "tags": array_of(STRING), "map": map_of(STRING, INT32), "done": BOOLEAN,
    }  # fmt: skip
    value = {
        "id": 1, "small": 2, "price": Decimal("9.50"), "day": Instant(86_400_000), "clock": Instant(1), "at": Instant(1),
        "raw": b"\0\xff", "tags": ["a"], "map": {"k": 1}, "done": False,
    }  # fmt: skip
    first = with_schema(value, **fields)
    second = with_schema({**value, "rate": 0.5}, **fields, rate=FLOAT64)
    assert write(database, [first], [second], auto_create="true", auto_evolve="true") == []
    types = database.rows(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = 'orders' "
        "ORDER BY ordinal_position"
    )
    assert types == [
        ("id", "bigint", "NO"), ("small", "smallint", "NO"), ("price", "numeric", "NO"), ("day", "date", "NO"),
        ("clock", "time without time zone", "NO"), ("at", "timestamp with time zone", "NO"), ("raw", "bytea", "NO"),
        ("tags", "ARRAY", "NO"), ("map", "jsonb", "NO"), ("done", "boolean", "NO"), ("rate", "double precision", "YES"),
    ]  # fmt: skip
    assert database.rows("SELECT price, raw, tags, map, rate FROM orders ORDER BY rate NULLS FIRST") == [
        (Decimal("9.50"), b"\0\xff", ["a"], {"k": 1}, None),
        (Decimal("9.50"), b"\0\xff", ["a"], {"k": 1}, 0.5),
    ]


def test_an_upsert_leaves_the_last_state_of_each_key_and_a_tombstone_deletes(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, name TEXT, size INT)")
    batch = [
        row({"name": "a", "size": 1}, key=1),
        row({"name": "b"}, key=2),
        row(None, key=1),
        row({"name": "c", "size": 3}, key=3),
        row({"size": 9}, key=2),  # other fields: the name stays
        row(None, key=3),
        row({"name": "again"}, key=1),  # after the deletion: no size
        row({"name": "b2"}, key=2),
    ]
    assert write(database, batch, **{k.replace(".", "_"): v for k, v in UPSERT.items()}) == []
    assert database.rows("SELECT id, name, size FROM orders ORDER BY id") == [(1, "again", None), (2, "b2", 9)]


def test_an_update_changes_rows_that_are_there_and_adds_none(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, name TEXT)")
    database.run("INSERT INTO orders VALUES (1, 'a')")
    batch = [row({"id": 1, "name": "b"}), row({"id": 2, "name": "c"})]
    assert write(database, batch, insert_mode="update", pk_mode="record_value", pk_fields="id") == []
    assert database.rows("SELECT id, name FROM orders") == [(1, "b")]


def test_the_place_in_kafka_can_be_the_primary_key(database: Any) -> None:
    records = [with_schema({"name": "a"}, name=STRING), with_schema({"name": "b"}, name=STRING)]
    assert write(database, records, insert_mode="upsert", pk_mode="kafka", auto_create="true") == []
    found = database.rows("SELECT __connect_topic, __connect_partition, __connect_offset, name FROM orders ORDER BY 3")
    assert found == [("orders", 0, 0, "a"), ("orders", 0, 1, "b")]


def test_rows_that_are_refused_are_handed_back_and_the_others_of_the_batch_are_there(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY CHECK (id <> 7), name TEXT NOT NULL)")
    batch = [row({"id": n, "name": f"n{n}"}) for n in range(10)]
    batch[3] = row({"id": 3, "name": None})
    batch[5] = row({"id": "five", "name": "x"})
    batch[8] = row({"id": 8, "name": "nul\0"})
    refused = write(database, batch)
    assert [error.split(": ")[0] for error in refused] == ["cannot write the row to table orders"] * 4
    assert "null value in column" in refused[0]
    assert "invalid input syntax for type integer" in refused[1]
    assert "check constraint" in refused[2]
    assert "NUL" in refused[3]
    assert database.rows("SELECT id FROM orders ORDER BY id") == [(n,) for n in (0, 1, 2, 4, 6, 9)]


def test_if_the_last_row_of_a_key_is_refused_the_previous_one_is_stored(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, size INT CHECK (size < 10))")
    batch = [row({"size": 1}, key=1), row({"size": 2}, key=1), row({"size": 99}, key=1), row({"size": 5}, key=2)]
    refused = write(database, batch, **{k.replace(".", "_"): v for k, v in UPSERT.items()})
    assert len(refused) == 1
    assert database.rows("SELECT id, size FROM orders ORDER BY id") == [(1, 2), (2, 5)]


def test_a_constraint_that_is_checked_at_the_end_refuses_only_its_row(database: Any) -> None:
    database.run("CREATE TABLE customers (id INT PRIMARY KEY)")
    database.run("INSERT INTO customers VALUES (1)")
    database.run("CREATE TABLE orders (customer INT REFERENCES customers DEFERRABLE INITIALLY DEFERRED)")
    refused = write(database, [row({"customer": n}) for n in (1, 2, 1)])
    assert len(refused) == 1
    assert "foreign key" in refused[0]
    assert database.rows("SELECT customer FROM orders") == [(1,), (1,)]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (row(None, key=1), "cannot build a row: the record has no value"),
        (row("text"), "neither struct nor map, but a str; wrap it in a struct"),
        (row({}), "no field of the record becomes a column"),
        (row({"id": 1, "nme": "x"}), "has no column nme, but name; add it"),
        (row({"id": b"x"}), "invalid input syntax"),
    ],
)
def test_a_record_that_is_no_row_is_handed_back_with_the_reason(database: Any, record: Record, words: str) -> None:
    database.run("CREATE TABLE orders (id INT, name TEXT)")
    (error,) = write(database, [row({"id": 0}), record])[-1:]
    assert words in error
    assert database.rows("SELECT id FROM orders") == [(0,)]


def test_names_are_never_read_as_sql(database: Any) -> None:
    evil = 'x" (id INT); DROP TABLE orders; --'
    field = "a'; DROP TABLE orders; -- %s %(x)s \"$1"
    database.run("CREATE TABLE orders (id INT)")
    record = Record(
        topic=evil, key=None, value={field: 1, "é ü": "z"}, value_schema=struct({field: INT32, "é ü": OPTIONAL_STRING})
    )
    wider = Record(topic=evil, key=None, value={field: 2, "%": 3}, value_schema=struct({field: INT32, "%": INT32}))
    given = {"table_name_format": '"${topic}"', "auto_create": "true", "auto_evolve": "true"}
    upsert = {"insert_mode": "upsert", "pk_mode": "record_value", "pk_fields": field}
    assert write(database, [record], [record, wider], **given, **upsert) == []
    name = '"' + evil.replace('"', '""') + '"'
    assert database.rows(f"SELECT count(*) FROM {name}") == [(2,)]
    assert database.rows("SELECT count(*) FROM orders") == [(0,)]


def test_a_name_that_the_database_would_cut_is_refused(database: Any) -> None:
    long = "n" * 64
    (error,) = write(database, [with_schema({long: 1}, **{long: INT32})], auto_create="true")
    assert "longer than 63 bytes" in error


def test_a_missing_table_stops_the_task_and_says_what_to_do(database: Any) -> None:
    with pytest.raises(ConnectError, match=r"table orders: it does not exist; create it, change table\.name\.format"):
        write(database, [row({"id": 1})])


def test_records_go_to_the_table_and_schema_of_their_topic(database: Any) -> None:
    database.run("CREATE SCHEMA shop")
    database.run("CREATE TABLE shop.orders (id INT)")
    database.run('CREATE TABLE "shop.orders" (id INT)')
    assert write(database, [row({"id": 1}, topic="shop.orders")]) == []
    assert write(database, [row({"id": 2}, topic="shop.orders")], table_name_format='"${topic}"') == []
    assert database.rows("SELECT id FROM shop.orders") == [(1,)]
    assert database.rows('SELECT id FROM "shop.orders"') == [(2,)]
    with pytest.raises(ConnectError, match=r"one dot separates the schema"):
        raise ConnectError(write(database, [row({"id": 2}, topic="a.b.c")])[0])


def test_a_column_that_was_dropped_meanwhile_is_noticed(database: Any) -> None:
    from penstock.testing._sink_life import SinkLife

    database.run("CREATE TABLE orders (id INT, name TEXT)")
    properties = {**database.properties, **CREATE}
    with SinkLife(SqlSink, properties) as life:
        value, schema = {"id": 1, "name": "a"}, struct({"id": INT32, "name": Schema(Type.STRING, optional=True)})
        records = [Record(topic="orders", value=value, value_schema=schema)]
        life.write(life.following(records))
        database.run("ALTER TABLE orders DROP COLUMN name")
        life.write(life.following(records))
        life.commit()
    assert database.rows("SELECT id, name FROM orders ORDER BY name NULLS FIRST") == [(1, None), (1, "a")]


KEYED = {"insert_mode": "upsert", "pk_mode": "record_key", "pk_fields": "id", "delete_enabled": "true"}


def test_keys_that_are_the_same_for_the_database_are_the_same(database: Any) -> None:
    key = "0000000a-0000-0000-0000-00000000000b"
    database.run("CREATE TABLE orders (id UUID PRIMARY KEY, n INT)")
    batch = [row({"n": 1}, key=key), row({"n": 2}, key=key.upper())]
    assert write(database, batch, **KEYED) == []
    assert database.rows("SELECT n FROM orders") == [(2,)]
    assert write(database, [row({"n": 3}, key=key), row(None, key=key.upper())], **KEYED) == []
    assert database.rows("SELECT n FROM orders") == []


def test_no_record_reaches_the_offsets_of_connectors(database: Any) -> None:
    value = {"connector": "victim", "topic": "t", "part": 0, "next": 9, "handed_back": "", "start_id": ""}
    (error,) = write(database, [row(value, topic="penstock_offsets")])
    assert "stores the connectors' offsets" in error


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (row({"name": "cut \ud83d"}, key=1), "not valid Unicode"),
        (row({"name": "a"}, key=[1]).replace(key_schema=array_of(INT32)), "cannot use a list as a primary key"),
        (row({"name": "a"}, key=None), "has no key"),
        (row({"cut \ud83d": 1}, key=1), "has no column"),
    ],
)
def test_a_record_that_no_database_can_take_is_handed_back(database: Any, record: Record, words: str) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, name TEXT)")
    (error,) = write(database, [row({"name": "good"}, key=0), record], **KEYED)
    assert words in error
    assert database.rows("SELECT id FROM orders") == [(0,)]


def test_a_thousand_rows_of_one_key_may_be_refused(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY, n INT CHECK (n < 0))")
    assert len(write(database, [row({"n": n}, key=1) for n in range(1200)], **KEYED)) == 1200


def test_every_other_row_of_a_thousand_upserts_may_be_refused_and_the_tasks_connection_holds(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT PRIMARY KEY CHECK (id % 2 = 0), n INT)")
    assert len(write(database, [row({"n": n}, key=n) for n in range(1000)], **KEYED)) == 500
    assert database.rows("SELECT count(*), sum(n) FROM orders") == [(500, sum(range(0, 1000, 2)))]


def test_a_topic_that_is_too_long_for_a_table_is_handed_back(database: Any) -> None:
    record = Record(topic="t" * 70, value={"id": 1}, value_schema=struct({"id": INT32}))
    (error,) = write(database, [record], auto_create="true")
    assert "longer than 63 bytes" in error


def test_messages_hold_no_values_of_records(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT, day DATE)")
    database.run(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF NEW.id = 5 THEN RAISE EXCEPTION '%', 'S3C' || 'RET'; END IF; RETURN NEW; END $$"
    )
    database.run("CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION refuse()")
    batch = [row({"id": "S3CRET", "day": None}), row({"id": 1, "day": "S3CRET"}), row({"id": 5, "day": None})]
    errors = write(database, batch)
    assert len(errors) == 3
    assert "S3CRET" not in "".join(errors)


def test_timestamp_texts_use_their_own_zone_or_else_the_configured_one(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT, local TIMESTAMP, at TIMESTAMPTZ)")
    texts = ["2023-11-14T22:13:20Z", "2023-11-15T00:13:20+02:00", "2023-11-14T23:13:20"]
    batch = [row({"id": n, "local": text, "at": text}) for n, text in enumerate(texts)]
    assert write(database, batch, db_timezone="Europe/Berlin") == []
    found = database.rows("SELECT DISTINCT local::text, extract(epoch FROM at)::bigint FROM orders")
    assert found == [("2023-11-14 23:13:20", 1_700_000_000)]


def test_a_tombstone_makes_no_table(database: Any) -> None:
    record = Record(topic="orders", key=1, key_schema=INT64, value=None)
    assert write(database, [record], [with_schema({"name": "a"}, 1, name=STRING)], auto_create="true", **KEYED) == []
    assert database.rows("SELECT id, name FROM orders") == [(1, "a")]


def test_an_identity_that_is_always_generated_takes_the_keys_of_records(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT)")
    assert write(database, [row({"name": "a"}, key=7)], **KEYED) == []
    assert database.rows("SELECT id, name FROM orders") == [(7, "a")]


def test_domains_take_what_their_types_take(database: Any) -> None:
    database.run("CREATE DOMAIN raw AS BYTEA; CREATE DOMAIN word AS TEXT")
    database.run("CREATE TABLE orders (raw RAW, word WORD)")
    assert write(database, [row({"raw": "aGk=", "word": True})]) == []
    assert database.rows("SELECT raw, word FROM orders") == [(b"hi", "true")]


def test_a_tombstone_deletes_also_where_its_batch_made_the_table(database: Any) -> None:
    tombs = {n: Record(topic="orders", key=n, key_schema=INT64, value=None) for n in (1, 2)}
    rows = {n: with_schema({"name": "a"}, n, name=STRING) for n in (2, 3)}
    assert write(database, [tombs[1], rows[2], rows[3], tombs[2]], auto_create="true", **KEYED) == []
    assert database.rows("SELECT id FROM orders") == [(3,)]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_infinity_and_years_beyond_those_of_python_come_back_as_they_were_read(database: Any, zone: str) -> None:
    from penstock.testing import run_source
    from penstock_sql.source import SqlSource

    columns = "at TIMESTAMPTZ, local TIMESTAMP, day DATE, ats TIMESTAMPTZ[], days DATE[]"
    database.run(f"CREATE SCHEMA other; CREATE TABLE orders (id INT PRIMARY KEY, {columns})")
    database.run(f"CREATE TABLE other.orders (id INT PRIMARY KEY, {columns})")
    texts = (
        "infinity", "-infinity", "4714-11-25 00:00:00 BC", "0044-03-15 12:00:00.123 BC", "0001-12-31 23:59:59 BC",
        "0001-01-01 00:00:00", "2026-07-01 00:00:00.001", "9999-12-31 23:59:59.999", "10000-01-01 00:00:00",
        "12000-02-29 12:00:00", "294276-12-30 00:00:00",
    )  # fmt: skip
    for number, text in enumerate(texts):
        many = f"ARRAY['{text}'::"
        database.run(
            f"INSERT INTO orders VALUES ({number}, '{text}', '{text}', '{text}', {many}timestamptz], {many}date])"
        )
    given = {"mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "t.", "db.timezone": zone}
    records = run_source(SqlSource, {**database.properties, **given, "table.whitelist": "public.orders"})
    assert write(database, records, db_timezone=zone, table_name_format="other.orders") == []
    assert database.rows("SELECT count(*) FROM other.orders") == [(len(texts),)]
    assert database.rows("SELECT o.id FROM orders o JOIN other.orders t ON o.id = t.id WHERE o::text <> t::text") == []


def test_infinity_without_a_schema_is_taken(database: Any) -> None:
    database.run("CREATE TABLE orders (at TIMESTAMPTZ, local TIMESTAMP, day DATE)")
    ends = [
        {"at": 9_223_372_036_825_200_000, "local": 9_223_372_036_825_200_000, "day": 2**31 - 1},
        {"at": -9_223_372_036_832_400_000, "local": -9_223_372_036_832_400_000, "day": -(2**31)},
    ]
    assert write(database, [row(end) for end in ends]) == []
    assert database.rows("SELECT at::text, local::text, day::text FROM orders ORDER BY at DESC") == [
        ("infinity",) * 3,
        ("-infinity",) * 3,
    ]


def test_a_moment_that_postgresql_does_not_have_is_handed_back(database: Any) -> None:
    database.run("CREATE TABLE orders (at TIMESTAMPTZ)")
    refused = write(
        database, [row({"at": 9_300_000_000_000_000}), row({"at": 9_223_372_036_825_199_999}), row({"at": 0})]
    )
    assert len(refused) == 2
    assert all("out of range" in error and "9" not in error for error in refused)
    assert database.rows("SELECT count(*) FROM orders") == [(1,)]


def test_a_moment_outside_of_the_years_1_to_9999_is_handed_back_by_sqlite(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.execute("CREATE TABLE orders (at DATETIME, day DATE)")
    batch = [row({"at": 9_223_372_036_825_200_000}), row({"at": 0}), row({"day": 2**31 - 1})]
    refused = run_writer(SqlSink, {"connection.url": f"jdbc:sqlite:{tmp_path}/shop.db"}, [batch])
    assert [str(error).split(" outside")[0] for _, error in refused] == [
        "Column at: cannot write a date or timestamp",
        "Column day: cannot write a date or timestamp",
    ]
