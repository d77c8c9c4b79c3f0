"""Which transactions and statements of MariaDB are waited for, look by look."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pymysql
import pytest
from connectors.sql.tests import mariadb
from connectors.sql.tests.test_mariadb_source import _until, session
from sqlalchemy import Connection

from penstock import Password
from penstock_sql.address import address
from penstock_sql.database import Database
from penstock_sql.dialects.mariadb import horizon as mariadb_horizon
from penstock_sql.dialects.mariadb.horizon import Looks, MariadbHorizon, _Look, _look
from penstock_sql.dialects.statements import driver

WAITS = "SELECT 1 FROM information_schema.processlist WHERE state = 'User lock'"


@pytest.fixture
def connection(maria: mariadb.Database) -> Iterator[Connection]:
    """A source's."""
    maria.run("CREATE TABLE orders (id SERIAL)", "INSERT INTO orders VALUES (DEFAULT)")
    database = Database(address(maria.reading["connection.url"], "reader", Password("secret")), "penstock source test")
    yield database.connection()
    database.close()


def is_passed(horizon: MariadbHorizon, connection: Connection) -> bool:
    """What the next look says that shows how it is now."""
    until = time.monotonic() + 60
    before = horizon._seen
    while True:
        horizon._looks.begin()
        with connection.begin():
            passed = horizon.is_passed(connection)
        if horizon._seen > before:
            return passed
        assert time.monotonic() < until


def passes_at_once(connection: Connection) -> bool:
    """At the first look, but for what happens to run just now."""
    return any(is_passed(MariadbHorizon(Looks()), connection) for _ in range(5))


def started(work: Callable[..., Any], *given: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=given)
    thread.start()
    return thread


def test_a_statement_that_proceeds_between_reading_the_two_lists_is_in_one_of_them(
    maria: mariadb.Database, connection: Connection
) -> None:
    with session(maria) as late, session(maria) as holder:
        holder.execute("SELECT GET_LOCK('the lock', 0)")
        late.execute("BEGIN")
        waiting = started(late.execute, "INSERT INTO orders SELECT NULL FROM (SELECT GET_LOCK('the lock', 60)) t")
        _until(maria, WAITS)

        class Hooked(pymysql.cursors.Cursor):  # type: ignore[misc]
            def execute(self, query: Any, args: Any = None) -> Any:
                found = super().execute(query, args)
                if "information_schema" in query and waiting.is_alive():
                    holder.execute("SELECT RELEASE_LOCK('the lock')")
                    waiting.join()
                return found

        driver(connection).cursorclass = Hooked
        horizon = MariadbHorizon(Looks())
        assert not is_passed(horizon, connection)
        assert not waiting.is_alive()
        assert not is_passed(horizon, connection)
        late.execute("COMMIT")
        assert is_passed(horizon, connection)


def test_what_only_reads_is_not_waited_for_from_the_first_look_on(
    maria: mariadb.Database, connection: Connection
) -> None:
    with session(maria) as report, session(maria) as holder:
        holder.execute("SELECT GET_LOCK('the lock', 0)")
        long = started(report.execute, "SELECT GET_LOCK('the lock', 60) FROM orders")
        _until(maria, WAITS)
        assert passes_at_once(connection)
        holder.execute("SELECT RELEASE_LOCK('the lock')")
        long.join()


def test_the_scheduler_of_events_is_not_waited_for(maria: mariadb.Database, connection: Connection) -> None:
    maria.run("SET GLOBAL event_scheduler = ON")
    try:
        _until(maria, "SELECT 1 FROM information_schema.processlist WHERE command = 'Daemon'")
        assert passes_at_once(connection)
    finally:
        maria.run("SET GLOBAL event_scheduler = OFF")


def test_the_source_stops_waiting_for_a_statement_that_only_reads(
    maria: mariadb.Database, connection: Connection
) -> None:
    with session(maria) as report, session(maria) as first, session(maria) as second:
        first.execute("SELECT GET_LOCK('first', 0)")
        second.execute("SELECT GET_LOCK('second', 0)")
        statement = "SELECT GET_LOCK('second', 60) FROM (SELECT GET_LOCK('first', 60)) t STRAIGHT_JOIN orders"
        long = started(report.execute, statement)
        _until(maria, WAITS)
        horizon = MariadbHorizon(Looks())
        assert not is_passed(horizon, connection)
        first.execute("SELECT RELEASE_LOCK('first')")
        _until(maria, "SELECT 1 FROM information_schema.innodb_trx WHERE trx_query LIKE '%STRAIGHT_JOIN orders'")
        assert is_passed(horizon, connection)
        second.execute("SELECT RELEASE_LOCK('second')")
        long.join()


def test_an_old_copy_that_shows_an_earlier_look_of_ours_is_not_believed(
    maria: mariadb.Database, connection: Connection
) -> None:
    with session(maria) as monitor, session(maria) as late:
        for _ in range(5):
            is_passed(MariadbHorizon(Looks()), connection)
            monitor.execute("SELECT * FROM information_schema.innodb_trx")  # so that it stays as it is
            late.execute("BEGIN")
            late.execute("INSERT INTO orders VALUES (DEFAULT)")
            monitor.execute("SELECT * FROM information_schema.innodb_trx")
            with connection.begin():
                look = _look(connection)
            assert look is None or len(look.transactions) == 1  # a machine that is slow here makes it anew
            late.execute("ROLLBACK")


@pytest.fixture
def looks_of(monkeypatch: Any) -> list[_Look | None]:
    """What looks find, of which the last one stays; no server is asked."""
    found: list[_Look | None] = [None]
    monkeypatch.setattr(mariadb_horizon, "_look", lambda connection: found.pop(0) if len(found) > 1 else found[0])
    return found


def test_pauses_double_while_others_keep_the_list_old(looks_of: list[_Look | None], monkeypatch: Any) -> None:
    most: list[float] = []

    def uniform(_: float, longest: float) -> float:
        most.append(longest)
        return 0.0

    monkeypatch.setattr(random, "uniform", uniform)
    looks, connection = Looks(), cast("Connection", None)
    for _ in range(3):
        looks.begin()
        assert looks.since(connection, 0.0) is None
    assert most == [2, 4, 8, 16, 32, 64, 64, 64, 64]
    looks_of[:] = [_Look(1.0, {}, frozenset(), frozenset())]
    looks.begin()
    assert looks.since(connection, 0.0) is looks_of[0]
    assert most[-1] == 1


def test_of_the_tables_of_a_task_one_waits_for_the_list(looks_of: list[_Look | None], monkeypatch: Any) -> None:
    monkeypatch.setattr(random, "uniform", lambda least, most: least)
    looks, connection = Looks(), cast("Connection", None)
    looks_of[:] = [None] * 10
    for left in (7, 4):
        looks.begin()
        for _ in range(5):
            assert looks.since(connection, 0.0) is None
            assert len(looks_of) == left
