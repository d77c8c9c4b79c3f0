"""PostgreSQL to Kafka by real tasks, and from there into another table: each row once, whatever dies meanwhile."""

import json
import signal
import threading
from typing import Any

import pytest
from connectors.sql.tests.conftest import Database

from ..checking import seeded
from ..lab import Lab
from ..running import Running, manifest, new_name, next_life, until
from .test_sink import VALUES, sql_sink


def sql_source(database: Database, prefix: str, **more: Any) -> dict[str, Any]:
    given = {
        **VALUES, **database.properties, "mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": prefix,
        "poll.interval.ms": "100", "table.whitelist": "events", "topic.creation.default.replication.factor": "1",
        "topic.creation.default.partitions": "1", **more,
    }  # fmt: skip
    return manifest(new_name("sqlsource"), "SqlSource", given)


def create(database: Database) -> None:
    database.run("CREATE TABLE events (id BIGSERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL DEFAULT now(), name TEXT)")


def ids(lab: Lab, topic: str) -> list[int]:
    return [json.loads(value)["id"] for value in lab.values(topic)]


def test_rows_go_through_kafka_into_another_table(lab: Lab, database: Database) -> None:
    create(database)
    database.run("INSERT INTO events (name) SELECT 'name ' || n FROM generate_series(1, 1000) n")
    database.run("CREATE TABLE copies (id BIGINT PRIMARY KEY, at TIMESTAMPTZ, name TEXT)")
    prefix = new_name("shop-")
    _, source = lab.start(sql_source(database, prefix))
    upsert = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", "table.name.format": "copies"}
    lab_topic = f"{prefix}events"
    until(lambda: len(lab.values(lab_topic)) == 1000, what=source.last_words)
    _, sink = lab.start(sql_sink(database, lab_topic, **upsert))
    database.run("INSERT INTO events (name) VALUES ('last')")
    until(lambda: database.rows("SELECT count(*) FROM copies") == [(1001,)], what=sink.last_words)
    source.stop()
    sink.stop()
    moments = "date_trunc('milliseconds', at)"
    assert database.rows(f"SELECT id, {moments}, name FROM events EXCEPT SELECT id, at, name FROM copies") == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("victim", ["task", "server", "connection"])
def test_kills_leave_each_row_in_the_topic_once(lab: Lab, database: Database, rounds: int, victim: str) -> None:
    """While several transactions write, and commit in another order than that in which they took their numbers."""
    random = seeded()
    create(database)
    prefix, stopping = new_name("shop-"), threading.Event()
    resource = sql_source(database, prefix, **{"batch.max.records": "20000"})
    topic = f"{prefix}events"
    spec = lab.spec(resource)
    task: Running = lab.processes.task(spec)
    task.await_state("RUNNING")
    writers = [threading.Thread(target=_write, args=(database, stopping, seed)) for seed in range(3)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(rounds):
            before = _count(database)
            database.run("INSERT INTO events (name) SELECT 'bulk' FROM generate_series(1, 30000)")
            enough = before + random.randrange(1, 20_000)
            until(lambda: lab_end(lab, topic) > enough, what=task.last_words, moving=lambda: lab_end(lab, topic))  # noqa: B023
            if victim == "task":
                task.kill()
                spec = next_life(spec)
                task = lab.processes.task(spec)
            elif victim == "server":
                database.server.stop()
                database.server.start()
            elif victim == "connection":
                database.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'penstock%'"
                )
    finally:
        stopping.set()
        for writer in writers:
            writer.join()
    wanted: list[Any] = [row[0] for row in database.rows("SELECT id FROM events ORDER BY id")]
    until(
        lambda: len(lab.values(topic)) >= len(wanted),
        what=lambda: f"missing {sorted({*wanted} - {*ids(lab, topic)})[:20]} of {len(wanted)}\n{task.last_words()}",
        moving=lambda: lab_end(lab, topic),
    )
    task.stop()
    found = ids(lab, topic)
    assert len(found) == len(set(found))
    assert found == wanted


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_kills_of_sparks_workers_leave_each_row_of_several_tables_once(
    lab: Lab, database: Database, rounds: int
) -> None:
    """Tables are read in parallel where there is a backlog."""
    names, prefix = [f"events{n}" for n in range(4)], new_name("shop-")
    for name in names:
        database.run(f"CREATE TABLE {name} (id BIGSERIAL PRIMARY KEY, name TEXT)")
    resource = sql_source(database, prefix, **{"table.whitelist": ",".join(names)})
    resource["spec"]["spark"] = {"start": "Eager"}
    spec = lab.spec(resource)
    task = lab.processes.task(spec)
    task.await_log("Spark is up")
    for _ in range(rounds):
        task.process.send_signal(signal.SIGSTOP)  # else it would never come to be so far behind
        for name in names:
            database.run(f"INSERT INTO {name} (name) SELECT 'bulk' FROM generate_series(1, 50000)")
        task.process.send_signal(signal.SIGCONT)
        until(task.workers, what=task.last_words)[0].kill()
    topics, count = [f"{prefix}{name}" for name in names], 50_000 * rounds

    def ends() -> list[int]:
        return [lab_end(lab, topic) for topic in topics]

    until(
        lambda: min(ends()) >= count and min(len(lab.values(t)) for t in topics) >= count,
        what=task.last_words,
        moving=ends,
    )
    task.stop()
    for topic in topics:
        assert ids(lab, topic) == list(range(1, count + 1))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("victim", ["worker", "task"])
def test_kills_leave_each_row_of_a_table_that_is_read_in_ranges_once(
    lab: Lab, database: Database, rounds: int, victim: str
) -> None:
    random = seeded()
    create(database)
    prefix = new_name("shop-")
    resource = sql_source(database, prefix, **{"backlog.ranges": "4"})
    resource["spec"]["spark"] = {"start": "Eager"}
    topic, spec = f"{prefix}events", lab.spec(resource)
    task = lab.processes.task(spec)
    task.await_log("Spark is up")
    for _ in range(rounds):
        task.process.send_signal(signal.SIGSTOP)  # else it would never come to be so far behind
        database.run("INSERT INTO events (name) SELECT 'bulk' FROM generate_series(1, 200000)")
        task.process.send_signal(signal.SIGCONT)
        enough = lab_end(lab, topic) + random.randrange(1, 150_000)
        until(lambda: lab_end(lab, topic) > enough, what=task.last_words, moving=lambda: lab_end(lab, topic))  # noqa: B023
        if victim == "worker":
            until(task.workers, what=task.last_words)[0].kill()
        else:
            task.kill()
            spec = next_life(spec)
            task = lab.processes.task(spec)
            task.await_log("Spark is up")
    count = 200_000 * rounds
    until(
        lambda: lab_end(lab, topic) >= count and len(lab.values(topic)) >= count,
        what=task.last_words,
        moving=lambda: lab_end(lab, topic),
    )
    task.stop()
    assert sorted(ids(lab, topic)) == list(range(1, count + 1))


def _write(database: Database, stopping: threading.Event, seed: int) -> None:
    """Transactions of a few rows, which stay open for a while; the server may go away."""
    import psycopg

    number = 0
    while not stopping.is_set():
        try:
            with database.server.connect(database.name) as connection, connection.transaction():
                connection.execute("INSERT INTO events (name) VALUES ('early')")
                stopping.wait(0.01 * (1 + (seed + number) % 7))
                connection.execute("INSERT INTO events (name) VALUES ('late')")
            number += 1
        except psycopg.Error:
            stopping.wait(0.2)


def _count(database: Database) -> int:
    ((count,),) = database.rows("SELECT count(*) FROM events")
    assert isinstance(count, int)
    return count


def lab_end(lab: Lab, topic: str) -> int:
    """The end of the topic's first partition, markers of transactions included."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    consumer = Consumer({"bootstrap.servers": lab.servers, "group.id": "test-reader"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1])
    except KafkaException:
        return 0
    finally:
        consumer.close()
