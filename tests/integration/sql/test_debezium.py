"""Change events to PostgreSQL by a real task: each key has its last state, whatever dies or goes away meanwhile."""

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from connectors.sql.tests.conftest import Database

from ..checking import seeded
from ..lab import Lab
from ..running import Running, manifest, new_name, next_life, until

PARTITIONS, KEYS = 3, 5_000
BACKWARDS = """
CREATE TABLE events (id INT PRIMARY KEY, version INT);
CREATE TABLE backwards (id INT);
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.version < OLD.version THEN INSERT INTO backwards VALUES (NEW.id); END IF; RETURN NEW;
END $$;
CREATE TRIGGER watch BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION watch();
"""


def debezium_sink(database: Database, topic: str, **more: str) -> dict[str, Any]:
    json_ = {
        f"{side}.converter{tail}": value
        for side in ("key", "value")
        for tail, value in (("", "JsonConverter"), (".schemas.enable", "false"))
    }
    url = {name.replace(".user", ".username"): value for name, value in database.properties.items()}
    keyed = {
        "insert.mode": "upsert",
        "primary.key.mode": "record_key",
        "primary.key.fields": "id",
        "delete.enabled": "true",
    }
    given = {**json_, **url, **keyed, "collection.name.format": "events", "topics": topic, **more}
    return manifest(new_name("debezium"), "DebeziumSqlSink", given)


def operation(number: int) -> tuple[int, int, bool]:
    """The key, its version and whether it is deleted, of one change in a row that comes to each key again and again."""
    key, version = number * 7919 % KEYS, number // KEYS
    return key, version, (key + version) % 4 == 3


def events(start: int, count: int) -> Iterator[tuple[int, bytes | None]]:
    """Changes as Debezium writes them: a deletion is followed by a tombstone."""
    for number in range(start, start + count):
        key, version, deleted = operation(number)
        row = {"id": key, "version": version}
        op = "d" if deleted else "c" if not version else "u"
        before, after = (row, None) if deleted else (None, row)
        yield key, json.dumps({"before": before, "after": after, "source": {"table": "events"}, "op": op}).encode()
        if deleted:
            yield key, None


def fill(lab: Lab, topic: str, start: int, count: int) -> int:
    """Write changes, those of one key into one partition, and return how many records they are."""
    producer = Producer({"bootstrap.servers": lab.servers, "acks": "all", "linger.ms": 5})
    written = 0
    for key, value in events(start, count):
        producer.produce(topic, value, json.dumps({"id": key}).encode(), partition=key % PARTITIONS)
        producer.poll(0)
        written += 1
    assert producer.flush(60) == 0
    producer.close()
    return written


def reached(database: Database) -> int:
    """How many records are stored."""
    ((found,),) = database.rows("SELECT coalesce(sum(next), 0)::bigint FROM penstock_offsets")
    assert isinstance(found, int)
    return found


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("victim", ["task", "server", "connection"])
def test_kills_leave_each_key_with_its_last_state_and_none_goes_backwards(
    lab: Lab, database: Database, rounds: int, victim: str
) -> None:
    random, made, written, topic = seeded(), 0, 0, lab.topic(partitions=PARTITIONS)
    database.run(BACKWARDS)
    spec = lab.spec(
        debezium_sink(database, topic, **{"batch.max.records": "5000", "consumer.override.max.poll.records": "1000"})
    )
    task: Running = lab.processes.task(spec)
    task.await_state("RUNNING")
    portion = 30_000
    for _ in range(rounds):
        task.process.send_signal(signal.SIGSTOP)  # else it would have written most of them by then
        more = fill(lab, topic, made, portion)
        task.process.send_signal(signal.SIGCONT)
        enough = written + random.randrange(1, more)
        made, written = made + portion, written + more
        until(lambda: reached(database) > enough, what=task.last_words, moving=lambda: reached(database))  # noqa: B023
        if victim == "task":
            task.kill()
            spec = next_life(spec)
            task = lab.processes.task(spec)
        elif victim == "server":
            database.server.stop()
            database.server.start()
        else:
            database.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'penstock%'"
            )
    until(lambda: reached(database) >= written, what=task.last_words, moving=lambda: reached(database))
    task.stop()
    last = {key: (version, deleted) for key, version, deleted in map(operation, range(made))}
    wanted = sorted((key, version) for key, (version, deleted) in last.items() if not deleted)
    assert database.rows("SELECT id, version FROM events ORDER BY id") == wanted
    assert database.rows("SELECT count(*) FROM backwards") == [(0,)]
