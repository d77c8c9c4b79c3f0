"""Kafka to PostgreSQL by real tasks: each record is one row, whatever dies or goes away meanwhile."""

import json
import signal
from typing import Any

import pytest
from connectors.sql.tests.conftest import Database

from ..checking import seeded
from ..lab import Lab
from ..reading import produce
from ..running import manifest, new_name, next_life, until

VALUES = {
    "key.converter": "StringConverter",
    "value.converter": "JsonConverter",
    "value.converter.schemas.enable": "false",
}
PARTITIONS = 3


def sql_sink(database: Database, topic: str, name: str | None = None, **more: Any) -> dict[str, Any]:
    table = {"table.name.format": "events"}
    return manifest(
        name or new_name("sql"), "SqlSink", {**VALUES, **database.properties, **table, "topics": topic, **more}
    )


def fill(lab: Lab, topic: str, start: int, count: int) -> None:
    produce(
        lab.servers, topic, (json.dumps({"id": n, "name": f"name {n}"}).encode() for n in range(start, start + count))
    )


def count(database: Database) -> int:
    ((found,),) = database.rows("SELECT count(*) FROM events")
    assert isinstance(found, int)
    return found


def holds_each_once(database: Database, written: int) -> None:
    ((rows, ids, least, greatest, odd),) = database.rows(
        "SELECT count(*), count(DISTINCT id), min(id), max(id), count(*) FILTER (WHERE name <> 'name ' || id) FROM events"
    )
    assert (rows, ids, least, greatest, odd) == (written, written, 0, written - 1, 0)


def test_records_become_rows_and_refused_ones_dead_letters(lab: Lab, database: Database) -> None:
    database.run("CREATE TABLE events (id INT PRIMARY KEY, name TEXT NOT NULL)")
    topic, dead = lab.topic(), lab.topic("dead")
    lab.produce(
        topic, '{"id": 1, "name": "a"}', '{"id": 2}', '{"id": 3, "name": "c"}', "no json", '{"id": 1, "name": "b"}'
    )
    tolerant = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    name, task = lab.start(sql_sink(database, topic, **tolerant))
    lab.wait_committed(name, topic, 5)
    task.stop()
    assert database.rows("SELECT id, name FROM events ORDER BY id") == [(1, "a"), (3, "c")]
    found = {r.value: str(dict(r.headers)["__connect.errors.exception.message"]) for r in lab.records(dead)}
    assert set(found) == {b"no json", b'{"id": 2}', b'{"id": 1, "name": "b"}'}
    assert "null value in column" in found[b'{"id": 2}']
    assert "duplicate key value" in found[b'{"id": 1, "name": "b"}']


def test_integers_of_more_than_64_bits_reach_the_table_by_way_of_a_transform(lab: Lab, database: Database) -> None:
    database.run("CREATE TABLE events (id NUMERIC, name TEXT)")
    topic = lab.topic()
    lab.produce(topic, '{"id": {"wei": 1000000000000000000000}}', '{"id": {"wei": 18446744073709551615}}', '{"id": 3}')
    shape = {
        "transforms": "flat,rename", "transforms.flat.type": "Flatten$Value",
        "transforms.rename.type": "ReplaceField$Value", "transforms.rename.renames": "id.wei:id",
    }  # fmt: skip
    name, task = lab.start(sql_sink(database, topic, **shape))
    lab.wait_committed(name, topic, 3)
    task.stop()
    assert database.rows("SELECT id FROM events ORDER BY id") == [(3,), (2**64 - 1,), (10**21,)]


def test_what_is_reset_is_written_again_from_the_beginning(lab: Lab, database: Database) -> None:
    from penstock import SourcePartition
    from penstock.testing._making import make, parsed
    from penstock_sql.sink import SqlSink

    database.run("CREATE TABLE events (id INT, name TEXT)")
    topic = lab.topic()
    fill(lab, topic, 0, 100)
    resource = sql_sink(database, topic)
    name, task = lab.start(resource)
    lab.wait_committed(name, topic, 100)
    task.stop()
    database.run("TRUNCATE events")
    connector = make(SqlSink)
    object.__setattr__(connector, "context", type(connector.context)(name))
    reset = {SourcePartition({"kafka_topic": topic, "kafka_partition": 0}): {"kafka_offset": 40}}
    assert connector.alter_offsets(parsed(SqlSink, database.properties), reset)
    _, task = lab.start(resource)
    until(lambda: count(database) == 60, what=task.last_words)
    task.stop()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("victim", ["task", "worker", "server", "connection"])
@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_kills_leave_each_record_in_the_table_once(
    lab: Lab, database: Database, rounds: int, victim: str, mode: str
) -> None:
    random, written, topic = seeded(), 0, lab.topic(partitions=PARTITIONS)
    database.run(
        "CREATE TABLE events (id INT, name TEXT)"
        if mode == "insert"
        else "CREATE TABLE events (id INT PRIMARY KEY, name TEXT)"
    )
    keys = {} if mode == "insert" else {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}
    many = victim == "worker"
    sizes = {"batch.max.records": "20000", "consumer.override.max.poll.records": "1000"}
    resource = sql_sink(database, topic, **keys, **sizes)
    if many:
        resource["spec"]["spark"] = {"start": "Eager"}
    spec = lab.spec(resource)
    task = lab.processes.task(spec)
    for _ in range(rounds):
        portion = 150_000 if many else 30_000
        if many:
            task.await_log("Spark is up")
            task.process.send_signal(signal.SIGSTOP)  # else it would never come to be so far behind
        fill(lab, topic, written, portion)
        task.process.send_signal(signal.SIGCONT)
        written += portion
        enough = count(database) + random.randrange(1, portion // 2)
        until(lambda: count(database) > enough, what=task.last_words, moving=lambda: count(database))  # noqa: B023
        if victim == "task":
            task.kill()
            spec = next_life(spec)
            task = lab.processes.task(spec)
        elif victim == "worker":
            until(task.workers, what=task.last_words)[0].kill()
        elif victim == "server":
            database.server.stop()
            database.server.start()
        else:
            database.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'penstock%'"
            )
    until(lambda: count(database) >= written, what=task.last_words, moving=lambda: count(database))
    task.stop()
    holds_each_once(database, written)
