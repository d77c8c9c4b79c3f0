"""Debezium's JDBC sink, unchanged: upserts, deletions and bad records, beside Kafka Connect on the same topic."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from connectors.sql.tests.conftest import Database

from penstock_cli.embedded import EmbeddedKafka

from ..connect_worker import ConnectWorker
from ..reading import Reader, create
from ..running import Processes, manifest, new_name, until
from .capture import json_converters
from .plugins import debezium, folder_of
from .probe_plugin import await_jvm

CLASS: Final = "io.debezium.connector.jdbc.JdbcSinkConnector"
_KEY: Final = {"type": "struct", "optional": False, "fields": [{"field": "id", "type": "int32", "optional": False}]}
_LOGICAL: Final = "org.apache.kafka.connect.data"
_FIELDS: Final[list[dict[str, Any]]] = [
    {"field": "id", "type": "int32", "optional": False},
    {"field": "note", "type": "string", "optional": True},
    {"field": "big", "type": "int64", "optional": False},
    {"field": "ratio", "type": "double", "optional": True},
    {"field": "ok", "type": "boolean", "optional": True},
    {"field": "raw", "type": "bytes", "optional": True},
    {
        "field": "price",
        "type": "bytes",
        "optional": True,
        "name": f"{_LOGICAL}.Decimal",
        "version": 1,
        "parameters": {"scale": "2"},
    },
    {"field": "day", "type": "int32", "optional": True, "name": f"{_LOGICAL}.Date", "version": 1},
    {"field": "at", "type": "int64", "optional": True, "name": f"{_LOGICAL}.Timestamp", "version": 1},
]
_VALUE: Final = {"type": "struct", "optional": False, "name": "orders", "fields": _FIELDS}


def row(number: int, note: str | None) -> dict[str, Any]:
    if number % 7 == 0:
        return {**dict.fromkeys([f["field"] for f in _FIELDS]), "id": number, "note": note, "big": -number}
    return {
        "id": number,
        "note": note,
        "big": number * 1_000_000_007,
        "ratio": number / 3,
        "ok": number % 2 == 0,
        "raw": "AP8=",
        "price": "MDk=",
        "day": 19_000 + number % 100,
        "at": 1_700_000_000_000 + number,
    }


def enveloped(schema: object, payload: object) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}).encode()


def fill(servers: str, topic: str, rows: int) -> int:
    """Write rows, later values of some of them, deletions, and two records that are no JSON; how many rows stay."""
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})

    def put(number: int, note: str | None, *, gone: bool = False) -> None:
        while True:
            try:
                value = None if gone else enveloped(_VALUE, row(number, note))
                producer.produce(topic, value, enveloped(_KEY, {"id": number}))
            except BufferError:
                producer.poll(0.1)
            else:
                return

    for number in range(rows):
        put(number, f"row {number} é\U0001f600")
    producer.produce(topic, b"no json", enveloped(_KEY, {"id": 1}))
    for number in range(0, rows, 3):
        put(number, None)
    for number in range(0, rows, 10):
        put(number, None, gone=True)
    producer.produce(topic, enveloped(_VALUE, row(1, "x"))[:-1], enveloped(_KEY, {"id": 1}))
    put(rows, "the last")
    assert producer.flush(60) == 0
    return rows - len(range(0, rows, 10)) + 1


def config(database: Database, topic: str, table: str) -> dict[str, str]:
    return {
        "topics": topic,
        "connection.url": database.server.url(database.name),
        "connection.username": "postgres",
        "connection.password": "secret",
        "collection.name.format": table,
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{table}-dlq",
        "errors.deadletterqueue.topic.replication.factor": "1",
        **json_converters(schemas=True),
    }


def count(database: Database, table: str, where: str = "true") -> int:
    """The rows of a table; -1: there is none yet."""
    with database.server.connect(database.name) as connection:
        found = connection.execute("SELECT to_regclass(%s)", [table]).fetchone()
        if found is None or found[0] is None:
            return -1
        counted = connection.execute(f"SELECT count(*) FROM {table} WHERE {where}".encode()).fetchone()
        assert counted is not None
        return int(counted[0])


def rows_of(database: Database, table: str) -> list[tuple[Any, ...]]:
    with database.server.connect(database.name) as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY id".encode()).fetchall()


def columns_of(database: Database, table: str) -> list[tuple[Any, ...]]:
    query = "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = %s"
    with database.server.connect(database.name) as connection:
        return sorted(connection.execute(query, [table]).fetchall())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_rows_of_debeziums_jdbc_sink_are_those_of_kafka_connect(
    own_kafka: EmbeddedKafka, database: Database, processes: Processes, tmp_path: Path
) -> None:
    servers, topic = own_kafka.bootstrap_servers, "orders"
    create(servers, topic)
    stay = fill(servers, topic, 3_000)
    archive = debezium("jdbc")
    ours = config(database, topic, "ours")
    with ConnectWorker(servers, tmp_path / "connect", plugin_path=str(folder_of(archive))) as connect:
        theirs = {"connector.class": CLASS, **config(database, topic, "theirs")}
        connect.do("POST", "/connectors", {"name": "theirs", "config": theirs})
        run = processes.run([manifest("ours", CLASS, ours)], servers, "--plugin-path", str(archive))
        for table in ("theirs", "ours"):
            until(lambda: count(database, table, "note = 'the last'") == 1, what=run.last_words)  # noqa: B023
        run.stop()
    assert count(database, "ours") == stay
    assert columns_of(database, "ours") == columns_of(database, "theirs")
    assert rows_of(database, "ours") == rows_of(database, "theirs")
    letters = []
    for table in ("ours", "theirs"):
        with Reader(servers, f"{table}-dlq") as reader:
            reader.count(2)
            letters.append([(r.key, r.value) for r in reader.to_end()])
    assert letters[0] == letters[1]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kills_of_the_jvm_leave_every_row_of_debeziums_jdbc_sink(
    kafka: str, database: Database, processes: Processes, topic: str
) -> None:
    create(kafka, topic)
    stay = fill(kafka, topic, 20_000)
    given = {**config(database, topic, "killed"), "errors.deadletterqueue.topic.name": f"{topic}-dlq"}
    connector = manifest(new_name("jdbc"), CLASS, given, restart={"backoff": {"initial": "100ms", "max": "1s"}})
    run = processes.run([connector], kafka, "--plugin-path", str(debezium("jdbc")))
    killed = None
    for rows in (1, 6_000):
        until(lambda: count(database, "killed") >= rows, what=run.last_words)  # noqa: B023
        jvm = await_jvm(run, but=killed)
        killed = jvm.pid
        jvm.kill()
    until(lambda: count(database, "killed", "note = 'the last'") == 1, what=run.last_words)
    run.stop()
    assert count(database, "killed") == stay
    assert "its JVM was killed by signal 9" in run.log_text()
