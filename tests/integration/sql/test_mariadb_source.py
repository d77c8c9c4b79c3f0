"""MariaDB to Kafka by real tasks: each row once, whatever dies meanwhile."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from connectors.sql.tests import mariadb
from connectors.sql.tests.conftest import _free_port

from ..checking import seeded
from ..lab import Lab
from ..running import Running, new_name, next_life, until
from .test_source import ids, lab_end, sql_source

NAMES = ("events", "events_of_others")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[mariadb.Database]:
    """A database of a server that may be killed."""
    server = mariadb.Server(tmp_path, _free_port())
    server.start()
    try:
        with server.connect("mysql") as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("CREATE USER reader IDENTIFIED BY 'secret'")
            cursor.execute("GRANT PROCESS ON *.* TO reader")
            cursor.execute("GRANT SELECT ON shop.* TO reader")
        yield mariadb.Database(server, "shop")
    finally:
        server.kill()


def source(shop: mariadb.Database, prefix: str, **more: Any) -> dict[str, Any]:
    return sql_source(shop, prefix, **{**shop.reading, "table.whitelist": ",".join(NAMES), **more})  # type: ignore[arg-type]


def create(shop: mariadb.Database) -> None:
    for name in NAMES:
        shop.run(f"CREATE TABLE {name} (id SERIAL, at DATETIME(6) NOT NULL DEFAULT NOW(6), name TEXT, KEY (at, id))")


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", ["incrementing", "timestamp+incrementing"])
@pytest.mark.parametrize("victim", ["task", "server", "connection"])
def test_kills_leave_each_row_in_its_topic_once(
    lab: Lab, shop: mariadb.Database, rounds: int, victim: str, mode: str
) -> None:
    """While several transactions write, and commit in another order than that in which they took their numbers."""
    random = seeded()
    create(shop)
    prefix, stopping = new_name("shop-"), threading.Event()
    by = {"mode": mode, "timestamp.column.name": "at"}
    spec = lab.spec(source(shop, prefix, **{"batch.max.records": "20000", **by}))
    topics = [f"{prefix}{name}" for name in NAMES]
    task: Running = lab.processes.task(spec)
    task.await_state("RUNNING")
    writers = [threading.Thread(target=_write, args=(shop, stopping, seed)) for seed in range(3)]
    for writer in writers:
        writer.start()

    def ends() -> list[int]:
        return [lab_end(lab, topic) for topic in topics]

    try:
        for _ in range(rounds):
            before = ends()[0]
            shop.run("INSERT INTO events (name) SELECT 'bulk' FROM seq_1_to_30000")
            enough = before + random.randrange(1, 20_000)
            until(lambda: ends()[0] > enough, what=task.last_words, moving=ends)  # noqa: B023
            if victim == "task":
                task.kill()
                spec = next_life(spec)
                task = lab.processes.task(spec)
            elif victim == "server":
                shop.server.kill()
                shop.server.start()
            else:
                _kill_connections(shop)
    finally:
        stopping.set()
        for writer in writers:
            writer.join()
    for name, topic in zip(NAMES, topics, strict=True):
        wanted: list[Any] = [row[0] for row in shop.rows(f"SELECT id FROM {name} ORDER BY id")]
        until(
            lambda: len(lab.values(topic)) >= len(wanted),  # noqa: B023
            what=lambda: f"missing {sorted({*wanted} - {*ids(lab, topic)})[:20]} of {len(wanted)}\n{task.last_words()}",  # noqa: B023
            moving=ends,
        )
        found = ids(lab, topic)
        assert len(found) == len(set(found))
        assert (found if mode == "incrementing" else sorted(found)) == wanted
    task.stop()


@pytest.mark.slow
def test_a_table_that_is_dropped_meanwhile_holds_up_no_other_one(lab: Lab, shop: mariadb.Database) -> None:
    create(shop)
    shop.run("INSERT INTO events (name) VALUES ('a')", "INSERT INTO events_of_others (name) VALUES ('b')")
    prefix = new_name("shop-")
    spec = lab.spec(source(shop, prefix))
    running = lab.processes.task(spec)
    until(lambda: all(ids(lab, f"{prefix}{name}") == [1] for name in NAMES), what=running.last_words)
    shop.run("DROP TABLE events_of_others", "INSERT INTO events (name) VALUES ('c')")
    until(lambda: ids(lab, f"{prefix}events") == [1, 2], what=running.last_words)
    running.await_log("shop.events_of_others; create the table")
    running.stop()
    shop.run("INSERT INTO events (name) VALUES ('d')")
    running = lab.processes.task(next_life(spec))
    until(lambda: ids(lab, f"{prefix}events") == [1, 2, 3], what=running.last_words)
    shop.run("DROP TABLE events")
    running.await_log("cannot read any table of this task: all are missing")
    assert running.process.poll() is None
    running.stop()


def _kill_connections(shop: mariadb.Database) -> None:
    for (number,) in shop.rows("SELECT id FROM information_schema.processlist WHERE user = 'reader'"):
        try:
            shop.run(f"KILL {number}")
        except pymysql.Error:  # it has ended by itself
            continue


def _write(shop: mariadb.Database, stopping: threading.Event, seed: int) -> None:
    """Transactions of a few rows in both tables, which stay open for a while; the server may go away."""
    number = 0
    while not stopping.is_set():
        try:
            connection = shop.server.connect(shop.name)
            with connection, connection.cursor() as cursor:
                cursor.execute("SET time_zone = '+00:00'")
                cursor.execute("BEGIN")
                cursor.execute("INSERT INTO events (name) VALUES ('early')")
                cursor.execute("INSERT INTO events_of_others (name) VALUES ('early')")
                stopping.wait(0.01 * (1 + (seed + number) % 7))
                cursor.execute("INSERT INTO events (name) VALUES ('late'), ('later')")
                cursor.execute("COMMIT")
            number += 1
        except pymysql.Error:
            stopping.wait(0.2)
