"""What becomes of a configuration of Debezium's JDBC sink, and of Debezium's change events."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock import ConfigError, ConnectError, Record, Schema, Type
from penstock.schema import INT64, OPTIONAL_STRING, STRING, struct
from penstock.testing import run_writer
from penstock.testing._making import make, parsed
from penstock_sql.sink.debezium.connector import DebeziumSqlSink

URL = {"connection.url": "jdbc:sqlite:nowhere.db"}
KEYED = {
    "insert.mode": "upsert",
    "primary.key.mode": "record_key",
    "primary.key.fields": "id",
    "delete.enabled": "true",
}
ROW = struct({"id": INT64, "name": OPTIONAL_STRING})
OPTIONAL_ROW = ROW.as_optional()
EVENT = struct({"before": OPTIONAL_ROW, "after": OPTIONAL_ROW, "source": struct({"table": STRING}), "op": STRING})
KEY = struct({"id": INT64})


def event(op: str, number: int, name: str | None = None, *, schema: bool = True) -> Record:
    after = {"id": number, "name": name} if name is not None else None
    value = {"before": None, "after": after, "source": {"table": "orders"}, "op": op}
    key = {"id": number}
    schemas: Any = {"key_schema": KEY, "value_schema": EVENT} if schema else {}
    return Record(topic="shop.public.orders", key=key, value=value, **schemas)


def write(database: Any, batch: list[Record], **properties: str) -> list[str]:
    given = {name.replace("__", "."): value for name, value in properties.items()}
    own = {name.replace(".user", ".username"): value for name, value in database.properties.items()}
    return [str(error) for _, error in run_writer(DebeziumSqlSink, {**own, **given}, [batch])]


def problems(properties: dict[str, str]) -> list[str]:
    try:
        config = parsed(DebeziumSqlSink, properties)
    except ConfigError as e:
        return [str(p) for p in e.problems]
    return [str(p) for p in make(DebeziumSqlSink).validate(config)]


@pytest.mark.parametrize("schema", [True, False])
def test_change_events_become_the_rows_after_them(database: Any, schema: bool) -> None:
    database.run("CREATE TABLE shop_public_orders (id BIGINT PRIMARY KEY, name TEXT)")
    events = [
        event("r", 1, "a", schema=schema),
        event("c", 2, "b", schema=schema),
        event("u", 1, "a2", schema=schema),
        event("d", 2, schema=schema),
        Record(topic="shop.public.orders", key={"id": 2}, key_schema=KEY if schema else None, value=None),
        event("c", 3, "c", schema=schema),
        event("t", 0, schema=schema),
    ]
    assert write(database, events, **KEYED) == []
    assert database.rows("SELECT id, name FROM shop_public_orders ORDER BY id") == [(1, "a2"), (3, "c")]


def test_flattened_records_are_taken_and_deletions_passed_over_unless_they_are_enabled(database: Any) -> None:
    flat = Record(topic="orders", key=1, key_schema=INT64, value={"id": 1, "name": "a"}, value_schema=ROW)
    tombstone = Record(topic="orders", key=1, key_schema=INT64, value=None)
    given = {**KEYED, "delete.enabled": "false", "schema.evolution": "basic"}
    assert write(database, [flat, tombstone, event("d", 1)], **given) == []
    assert database.rows("SELECT id, name FROM orders") == [(1, "a")]


def test_a_table_is_made_with_the_types_that_the_events_name(database: Any) -> None:
    micros = Schema(Type.INT64, name="io.debezium.time.MicroTimestamp")
    fields = {
        "id": INT64,
        "at": micros,
        "day": Schema(Type.INT32, name="io.debezium.time.Date"),
        "clock": Schema(Type.INT64, name="io.debezium.time.MicroTime"),
        "zoned": Schema(Type.STRING, name="io.debezium.time.ZonedTimestamp"),
        "doc": Schema(Type.STRING, name="io.debezium.data.Json"),
        "price": struct(
            {"scale": Schema(Type.INT32), "value": Schema(Type.BYTES)}, name="io.debezium.data.VariableScaleDecimal"
        ),
    }
    at = 1_700_000_000_123_456
    value = {
        "id": 1, "at": at, "day": 19_675, "clock": 3_600_000_001, "zoned": "2023-11-14T22:13:20.5Z", "doc": '{"a": 1}',
        "price": {"scale": 2, "value": (-950).to_bytes(2, signed=True)},
    }  # fmt: skip
    record = Record(topic="orders", value=value, value_schema=struct(fields))
    # The time is the one that stood in the source's table, whatever the zone of the configuration.
    assert write(database, [record], schema__evolution="basic", use__time__zone="Asia/Tokyo") == []
    moment = datetime.datetime.fromisoformat("2023-11-14 22:13:20")
    (found,) = database.rows("SELECT at, day, clock, zoned AT TIME ZONE 'UTC', doc, price FROM orders")
    assert found == (
        moment.replace(microsecond=123_456), moment.date(), datetime.time(1, 0, 0, 1), moment.replace(microsecond=500_000),
        {"a": 1}, Decimal("-9.50"),
    )  # fmt: skip
    database.run("CREATE TABLE raw (at BIGINT)")
    raw = Record(topic="raw", value={"at": at}, value_schema=struct({"at": micros}))
    assert write(database, [raw]) == []
    assert database.rows("SELECT at FROM raw") == [(at,)]


def test_fields_are_chosen_by_topic_and_name(database: Any) -> None:
    database.run("CREATE TABLE orders (id INT, name TEXT)")
    record = Record(topic="orders", value={"id": 1, "name": "a"}, value_schema=ROW)
    chosen = {"field.exclude.list": "orders:name,others:id"}
    assert write(database, [record], **chosen) == []
    assert write(database, [record], **{"field.include.list": "orders:name"}) == []
    assert database.rows("SELECT id, name FROM orders ORDER BY id") == [(1, None), (None, "a")]


def test_messages_name_the_properties_that_the_user_has(database: Any) -> None:
    with pytest.raises(ConnectError, match=r"change collection\.name\.format, or set schema\.evolution: basic"):
        write(database, [event("c", 1, "a")], **KEYED)


def test_older_names_are_taken(database: Any) -> None:
    database.run("CREATE TABLE copies (id INT, name TEXT)")
    assert write(database, [event("c", 1, "a")], **{"table.name.format": "copies", "database.time_zone": "UTC"}) == []
    assert database.rows("SELECT id, name FROM copies") == [(1, "a")]


def test_unsupported_properties_are_refused_together_with_reasons() -> None:
    refused = {
        "collection.naming.strategy": "com.example.Mine",
        "quote.identifiers": "false",
    }
    found = problems({**URL, **refused})
    assert sorted(text.partition(": ")[0] for text in found) == sorted(refused)
    assert any("Java classes are not supported" in text for text in found)
    found = problems(
        {**URL, "truncate.enabled": "true", "delete.enabled": "true", "collection.name.format": "${source.table}"}
    )
    assert [text.partition(": ")[0] for text in found] == [
        "delete.enabled",
        "truncate.enabled",
        "collection.name.format",
    ]
    assert "String must be one of" in problems({**URL, "primary.key.mode": "record_header"})[0]


def test_what_holds_anyway_passes() -> None:
    held = {
        "quote.identifiers": "true",
        "use.reduction.buffer": "true",
        "table.naming.strategy": "io.debezium.connector.jdbc.naming.DefaultTableNamingStrategy",
        "truncate.enabled": "false",
    }
    assert problems({**URL, **held}) == []
