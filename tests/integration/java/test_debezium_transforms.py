"""Debezium's transforms in the JVM, in chains with Penstock's: compared with Kafka Connect. Penstock's at a Python sink."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from connectors.sql.tests.conftest import Database

from penstock_cli.embedded import EmbeddedKafka

from ..connect_worker import ConnectWorker
from ..reading import Reader, create, read_all
from ..running import Processes, manifest, new_name, until
from .capture import CLASS, capture, json_converters
from .plugins import debezium, folder_of

_RUN: Final = "__debezium.context.runId"
"""A header with a random id of each run of a connector."""
_UNWRAP: Final = {
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "transforms.unwrap.add.fields": "op,table,source.db",
    "transforms.unwrap.add.headers": "op",
}
TOPICS: Final = {"shop.orders": 7, "outbox.event.order": 3, "outbox.event.customer": 1}
"""The topics and their records."""


def connectors(database: Database, side: str) -> Iterator[tuple[str, dict[str, str]]]:
    names = {"slot_name": f"rows_{side}", "publication_name": f"rows_{side}"}
    rows = {
        **capture(database, "shop", table_include_list=r"public.orders_\d", **names),
        **json_converters(schemas=True),
        **_UNWRAP,
        "transforms": "route,unwrap,origin",
        "transforms.route.type": "io.debezium.transforms.ByLogicalTableRouter",
        "transforms.route.topic.regex": r"shop\.public\.orders_(\d)",
        "transforms.route.topic.replacement": "shop.orders",
        "transforms.route.key.field.name": "shard",
        "transforms.route.key.field.regex": r"shop\.public\.orders_(\d)",
        "transforms.route.key.field.replacement": "$1",
        "transforms.origin.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.origin.static.field": "origin",
        "transforms.origin.static.value": "shop",
        "transforms.origin.predicate": "tombstone",
        "transforms.origin.negate": "true",
        "predicates": "tombstone",
        "predicates.tombstone.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
    }
    yield "rows", rows
    names = {"slot_name": f"outbox_{side}", "publication_name": f"outbox_{side}"}
    outbox = {
        **capture(database, "boxes", table_include_list="public.outbox", tombstones_on_delete="false", **names),
        **json_converters(schemas=False),
        "transforms": "outbox",
        "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
        "transforms.outbox.table.expand.json.payload": "true",
        "transforms.outbox.table.fields.additional.placement": "type:header:eventType,version:envelope",
    }
    yield "outbox", outbox


def change(database: Database) -> None:
    for shard in (1, 2):
        table = f"orders_{shard}"
        database.run(f"CREATE TABLE {table} (id int PRIMARY KEY, item text, price numeric(8, 2), at timestamptz)")
        database.run(f"ALTER TABLE {table} REPLICA IDENTITY FULL")
        database.run(
            f"INSERT INTO {table} VALUES ({shard}, 'pump', 9.5, '2026-01-01T00:00:00Z'), (7, NULL, NULL, NULL)"
        )
    database.run(
        "CREATE TABLE outbox (id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, version int, "
        "payload jsonb)"
    )


def change_more(database: Database) -> None:
    database.run("UPDATE orders_1 SET item = 'valve' WHERE id = 1")
    database.run("DELETE FROM orders_2 WHERE id = 7")
    database.run("INSERT INTO orders_2 VALUES (8, 'last', 1, NULL)")
    for number, (kind, payload) in enumerate(
        [
            ("order", '{"n": 1, "tags": ["a"]}'),
            ("customer", '{"name": "Ada"}'),
            ("order", '{"n": 2}'),
            ("order", "null"),
        ]
    ):
        database.run(
            f"INSERT INTO outbox VALUES ('00000000-0000-0000-0000-00000000000{number}', '{kind}', 'k{number}', 'Made', "
            f"{number}, '{payload}')"
        )
    database.run("DELETE FROM outbox")  # which the router drops


def records(servers: str, topic: str) -> list[tuple[object, ...]]:
    """Keys, values and headers by partition, in order."""
    found = sorted(read_all(servers, topic), key=lambda r: r.partition)
    return [(r.key, r.value, tuple((name, b"" if name == _RUN else value) for name, value in r.headers)) for r in found]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_records_of_debeziums_transforms_are_those_of_kafka_connect(
    kafka_on: Callable[[str], EmbeddedKafka], database: Database, processes: Processes, tmp_path: Path
) -> None:
    brokers = [kafka_on("beside"), kafka_on("own")]
    for broker in brokers:
        broker.start()
    theirs, ours = (broker.bootstrap_servers for broker in brokers)
    archive = debezium("postgres")
    change(database)
    for servers in (theirs, ours):
        for topic in TOPICS:
            create(servers, topic)
    worker = {"plugin_path": str(folder_of(archive)), "exactly_once_source_support": "enabled"}
    with ConnectWorker(theirs, tmp_path / "connect", **worker) as connect:
        for name, config in connectors(database, "connect"):
            connect.do("POST", "/connectors", {"name": name, "config": {"connector.class": CLASS, **config}})
        manifests = [manifest(name, CLASS, config) for name, config in connectors(database, "penstock")]
        run = processes.run(manifests, ours, "--plugin-path", str(archive))
        slots = "SELECT 1 FROM pg_replication_slots WHERE active AND database = current_database() HAVING count(*) = 4"
        until(lambda: database.rows(slots), seconds=90, what=run.last_words)
        change_more(database)
        for servers in (theirs, ours):
            for topic, count in TOPICS.items():
                with Reader(servers, topic) as reader:
                    reader.count(count)
        run.stop()
    for topic, count in TOPICS.items():
        assert records(ours, topic) == records(theirs, topic)
        assert len(records(ours, topic)) == count


def envelope(op: str, before: object, after: object) -> bytes:
    row = {"type": "struct", "optional": True, "name": "s.public.orders.Value", "fields": [
        {"field": "id", "type": "int32", "optional": False},
        {"field": "item", "type": "string", "optional": True},
    ]}  # fmt: skip
    source = {"type": "struct", "optional": False, "name": "io.debezium.connector.postgresql.Source", "fields": [
        {"field": "db", "type": "string", "optional": False},
        {"field": "table", "type": "string", "optional": False},
    ]}  # fmt: skip
    schema = {"type": "struct", "optional": False, "name": "s.public.orders.Envelope", "version": 2, "fields": [
        {**row, "field": "before"},
        {**row, "field": "after"},
        {**source, "field": "source"},
        {"field": "op", "type": "string", "optional": False},
        {"field": "ts_ms", "type": "int64", "optional": True},
    ]}  # fmt: skip
    payload: Mapping[str, Any] = {
        "before": before, "after": after, "source": {"db": "shop", "table": "orders"}, "op": op, "ts_ms": 5,
    }  # fmt: skip
    return json.dumps({"schema": schema, "payload": payload}).encode()


def test_a_python_sink_takes_change_events_through_penstocks_form_of_debeziums_transform(
    kafka: str, processes: Processes, topic: str, tmp_path: Path
) -> None:
    create(kafka, topic)
    producer = Producer({"bootstrap.servers": kafka})
    producer.produce(topic, envelope("c", None, {"id": 1, "item": "pump"}))
    producer.produce(topic, envelope("u", {"id": 1, "item": "pump"}, {"id": 1, "item": "valve"}))
    producer.produce(topic, envelope("d", {"id": 1, "item": "valve"}, None))
    assert producer.flush(30) == 0
    rows = tmp_path / "rows.db"
    config = {
        "topics": topic,
        "connection.url": f"jdbc:sqlite:{rows}",
        "table.name.format": "orders",
        "auto.create": "true",
        **json_converters(schemas=True),
        **_UNWRAP,
        "transforms": "unwrap",
    }
    run = processes.run([manifest(new_name(), "SqlSink", config)], kafka)
    until(lambda: len(stored(rows)) == 3, what=run.last_words)
    run.stop()
    assert stored(rows) == [
        (1, "pump", "c", "orders", "shop", "false"),
        (1, "valve", "u", "orders", "shop", "false"),
        (1, "valve", "d", "orders", "shop", "true"),
    ]


def stored(file: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as database:
        try:
            columns = "id, item, __op, __table, __source_db, __deleted"
            return database.execute(f"SELECT {columns} FROM orders ORDER BY rowid").fetchall()
        except sqlite3.OperationalError:
            return []
