"""Which transactions and statements of MariaDB are waited for, look by look."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest
from connectors.sql.tests import mariadb
from connectors.sql.tests.test_mariadb_source import _until, session
from sqlalchemy import Connection

from penstock import Password
from penstock_sql.address import address
from penstock_sql.database import Database
from penstock_sql.mariadb_horizon import Looks, MariadbHorizon, _look
from penstock_sql.statements import driver

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
    until = time.monotonic() + 20
    before = horizon._seen
    while True:
        horizon._looks.begin()
        with connection.begin():
            passed = horizon.is_passed(connection)
        if horizon._seen > before:
            return passed
        assert time.monotonic() < until


def started(work: Callable[..., Any], *given: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=given)
    thread.start()
    return thread


def test_a_statement_that_goes_on_between_the_two_lists_is_in_one_of_them(
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
        assert is_passed(MariadbHorizon(Looks()), connection)
        holder.execute("SELECT RELEASE_LOCK('the lock')")
        long.join()


def test_the_scheduler_of_events_is_not_waited_for(maria: mariadb.Database, connection: Connection) -> None:
    maria.run("SET GLOBAL event_scheduler = ON")
    try:
        assert maria.rows("SELECT command FROM information_schema.processlist WHERE user = 'event_scheduler'")
        assert is_passed(MariadbHorizon(Looks()), connection)
    finally:
        maria.run("SET GLOBAL event_scheduler = OFF")


def test_a_statement_that_turns_out_to_read_only_is_waited_for_no_longer(
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
