"""Debezium's placeholder for a large value that was not changed."""

import base64
import uuid
from hashlib import md5
from typing import Any

import pytest
from connectors.sql.tests.targets import Target

from penstock import Record, Schema
from penstock.schema import BYTES, INT32, INT64, STRING, array_of, map_of, struct
from penstock.testing import run_writer
from penstock_sql.sink import SqlSink
from penstock_sql.sink.debezium.connector import DebeziumSqlSink

GONE = "__debezium_unavailable_value"
KEYED = {
    "insert.mode": "upsert",
    "primary.key.mode": "record_key",
    "primary.key.fields": "id",
    "delete.enabled": "true",
}
SOURCE = struct({"table": STRING})


def event(key: int, schema: Schema | None = None, op: str = "u", **fields: Any) -> Record:
    after = {"id": key, **fields}
    value = {"before": None, "after": after if op != "d" else None, "source": {"table": "t"}, "op": op}
    if schema is None:
        return Record(topic="t", key={"id": key}, value=value)
    row = struct({"id": INT64, **{field.name: field.schema for field in schema.fields}}).as_optional()
    envelope = struct({"before": row, "after": row, "source": SOURCE, "op": STRING})
    return Record(topic="t", key={"id": key}, key_schema=struct({"id": INT64}), value=value, value_schema=envelope)


def write(target: Target, *batch: Record, **properties: str) -> list[str]:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    own = {name.replace(".user", ".username"): value for name, value in target.database.properties.items()}
    return [str(error) for _, error in run_writer(DebeziumSqlSink, {**own, **KEYED, **given}, [list(batch)])]


@pytest.mark.parametrize("mode", ["upsert", "update"])
@pytest.mark.parametrize("null", ["", "NOT NULL"])
def test_a_column_whose_value_is_unavailable_keeps_what_is_stored(target: Target, mode: str, null: str) -> None:
    target.make(f"id INT PRIMARY KEY, doc TEXT {null}, n INT {null}")
    target.database.run("INSERT INTO t VALUES (1, 'long', 1), (2, 'other', 2)")
    batch = [event(1, doc=GONE, n=2), event(2, doc="new", n=3), event(2, doc=GONE, n=4)]
    assert write(target, *batch, insert_mode=mode) == []
    assert target.rows("id, doc, n") == [(1, "long", 2), (2, "new", 4)]


def test_unavailable_values_in_a_batch_keep_the_last_value_of_each_column(target: Target) -> None:
    target.make("id INT PRIMARY KEY, a TEXT NOT NULL, b TEXT NOT NULL, n INT")
    batch = [
        event(1, op="c", a="a1", b="b1", n=1), event(1, a=GONE, b="b2", n=2), event(2, op="c", a="a1", b="b1", n=1),
        event(1, a="a3", b=GONE, n=3), event(1, a=GONE, b=GONE, n=4), event(2, op="d"), event(3, op="c", a="x", b="y", n=1),
        event(2, op="c", a="a2", b="b2", n=2), event(2, a=GONE, b="b3", n=3), event(3, a=GONE, b=GONE, n=5),
    ]  # fmt: skip
    assert write(target, *batch) == []
    assert target.rows("id, a, b, n") == [(1, "a3", "b2", 4), (2, "a2", "b3", 3), (3, "x", "y", 5)]


def test_a_row_that_is_not_there_has_no_value_to_keep(target: Target) -> None:
    target.make("id INT PRIMARY KEY, a TEXT, b TEXT NOT NULL")
    assert len(write(target, event(1, a=GONE, b="b"), event(2, a="a", b=GONE), event(3, a="a", b="b"))) == 1
    assert target.rows("id, a, b") == [(1, None, "b"), (3, "a", "b")]


def test_only_a_row_whose_other_columns_are_refused_is_handed_back(target: Target) -> None:
    target.make("id INT PRIMARY KEY, doc TEXT NOT NULL, n INT CHECK (n < 10)")
    target.database.run("INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2)")
    batch = [event(1, doc=GONE, n=5), event(1, doc=GONE, n=99), event(2, doc=GONE, n=98), event(2, doc="new", n=3)]
    assert len(write(target, *batch)) == 2
    assert target.rows("id, doc, n") == [(1, "one", 5), (2, "new", 3)]


def test_an_insert_hands_back_a_record_whose_value_is_unavailable(target: Target) -> None:
    target.make("id INT PRIMARY KEY, doc TEXT, n INT")
    (error,) = write(
        target, event(1, doc="a", n=1), event(2, doc=GONE, n=2), event(3, doc="c", n=3), insert_mode="insert"
    )
    assert "the value of doc is unavailable" in error
    assert target.rows("id, doc, n") == [(1, "a", 1), (3, "c", 3)]


def test_another_placeholder_of_the_source_is_reported_by_its_property(target: Target) -> None:
    target.make("id INT PRIMARY KEY, doc TEXT")
    target.database.run("INSERT INTO t VALUES (1, 'long'), (2, 'long')")
    batch = [event(1, doc="n/a"), event(2, doc=GONE)]
    assert write(target, *batch, unavailable_value_placeholder="n/a") == []
    assert target.rows("id, doc") == [(1, "long"), (2, GONE)]


def test_records_that_were_flattened_keep_what_is_stored_in_sqlsink_too(target: Target) -> None:
    target.make("k INT PRIMARY KEY, doc TEXT NOT NULL, n INT")
    target.database.run("INSERT INTO t VALUES (1, 'long', 1)")
    assert target.write(Record(topic="t", key=1, value={"doc": GONE, "n": 2})) == []
    assert target.rows("doc, n") == [("long", 2)]
    given = {**target.database.properties, "table.name.format": "t"}
    ((_, error),) = run_writer(SqlSink, given, [[Record(topic="t", value={"k": 2, "doc": GONE, "n": 2})]])
    assert "the value of doc is unavailable" in str(error)


RAW = GONE.encode()
TYPES: dict[str, tuple[str, str, Schema, Any]] = {
    "bytes": ("BYTEA", "'hi'", BYTES, RAW),
    "base64": ("TEXT", "'hi'", STRING, base64.b64encode(RAW).decode()),
    "hex": ("TEXT", "'hi'", STRING, RAW.hex()),
    "json": ("JSONB", "'{}'", Schema(STRING.type, name="io.debezium.data.Json"), GONE),
    "texts": ("TEXT[]", "'{a}'", array_of(STRING), [GONE]),
    "numbers": ("INT[]", "'{1}'", array_of(INT32), list(RAW)),
    "large": ("BIGINT[]", "'{1}'", array_of(INT64), list(RAW)),
    "raws": ("BYTEA[]", "'{a}'", array_of(BYTES), [RAW]),
    "uuids": ("UUID[]", "'{}'", array_of(STRING), [str(uuid.UUID(bytes=md5(RAW).digest(), version=3))]),
    "pairs": ("JSONB", "'{}'", map_of(STRING, STRING), {GONE: GONE}),
    "hstore": ("JSONB", "'{}'", STRING, f'{{"{GONE}":"{GONE}"}}'),
}


@pytest.mark.parametrize("schema", [True, False])
def test_each_type_has_the_placeholder_as_debezium_writes_it(database: Any, schema: bool) -> None:
    target = Target(database)
    target.make("id INT PRIMARY KEY, n INT, " + ", ".join(f"{name} {of} NOT NULL" for name, (of, *_) in TYPES.items()))
    stored = ", ".join(value for _, value, *_ in TYPES.values())
    database.run(f"INSERT INTO t VALUES (1, 0, {stored})")
    before = target.rows(", ".join(TYPES))
    values: dict[str, Any] = {name: value for name, (*_, value) in TYPES.items()}
    if schema:
        record = event(1, struct({"n": INT32, **{name: of for name, (_, _, of, _) in TYPES.items()}}), n=7, **values)
    else:  # as JSON has bytes
        text = base64.b64encode(RAW).decode()
        record = event(1, n=7, **{**values, "bytes": text, "raws": [text]})
    assert write(target, record) == []
    assert target.rows(", ".join(TYPES)) == before
    assert database.rows("SELECT n FROM t") == [(7,)]


def test_bytes_keep_what_is_stored(target: Target) -> None:
    target.make(f"id INT PRIMARY KEY, raw {'BYTEA' if target.kind == 'postgresql' else 'BLOB'} NOT NULL, n INT")
    fields = struct({"raw": BYTES, "n": INT32})
    assert write(target, event(1, fields, raw=b"hi", n=1), event(1, fields, raw=RAW, n=2)) == []
    assert target.rows("raw, n") == [(b"hi", 2)]
