"""Servers that do not know all transactions which bring rows, and what a source of MariaDB says to them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from connectors.sql.tests import mariadb
from connectors.sql.tests.conftest import _free_port

from penstock import ConnectError
from penstock.testing import run_source
from penstock.testing._making import make, parsed
from penstock_sql.dialects.mariadb import catalog as mariadb_catalog
from penstock_sql.source import SqlSource

BY_ID = {"mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "shop."}
BULK = {**BY_ID, "mode": "bulk", "poll.interval.ms": "3600000"}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., mariadb.Server]]:
    """Starts servers of the test's own with options of its own."""
    made: list[mariadb.Server] = []

    def started(*options: str) -> mariadb.Server:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(mariadb.Server(folder, _free_port()))
        made[-1].start("--skip-ssl", *options)
        return made[-1]

    yield started
    for server in made:
        server.kill()


def shop_of(server: mariadb.Server) -> mariadb.Database:
    shop = mariadb.Database(server, "shop")
    with server.connect("mysql") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE USER reader IDENTIFIED BY 'secret'")
        cursor.execute("GRANT PROCESS ON *.* TO reader")
        cursor.execute("GRANT SELECT ON shop.* TO reader")
    shop.run("CREATE TABLE orders (id SERIAL)", "INSERT INTO orders VALUES (DEFAULT)")
    return shop


def refusal(shop: mariadb.Database) -> str:
    """Of a task that starts. It reads by `mode: bulk` nevertheless."""
    assert [record.value for record in run_source(SqlSource, {**shop.reading, **BULK})] == [{"id": 1}]
    with pytest.raises(ConnectError) as e:
        run_source(SqlSource, {**shop.reading, **BY_ID})
    return str(e.value)


def problems(properties: dict[str, str]) -> list[str]:
    return [str(problem) for problem in make(SqlSource).validate(parsed(SqlSource, properties))]


def test_a_replica_is_refused_though_it_takes_writes_and_one_of_its_threads_is_stopped_and_its_primary_is_read(
    start: Callable[..., mariadb.Server],
) -> None:
    primary, replica = start("--log-bin=log", "--server-id=1"), start("--server-id=2")
    original = shop_of(primary)
    shop = mariadb.Database(replica, "shop")
    with replica.connect("mysql") as connection, connection.cursor() as cursor:
        cursor.execute(
            f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {primary.port}, MASTER_USER = 'root', "
            "MASTER_PASSWORD = '', MASTER_SSL = 0, MASTER_SSL_VERIFY_SERVER_CERT = 0"
        )
        cursor.execute("START SLAVE")
        with primary.connect("mysql") as other, other.cursor() as at:
            at.execute("SELECT @@gtid_binlog_pos")
            cursor.execute("SELECT MASTER_GTID_WAIT(%s, 30)", at.fetchone())
            assert cursor.fetchone() == (0,)
        assert refusal(shop).startswith("cannot find new rows on a server that is a replica or read-only")
        for thread in ("IO_THREAD", "SQL_THREAD"):
            cursor.execute(f"STOP SLAVE {thread}")
            assert refusal(shop).startswith("cannot find new rows on a server that is a replica or read-only")
            cursor.execute("START SLAVE")
        ((dumping,),) = original.rows(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog%'"
        )
        assert dumping == 1
        assert len(run_source(SqlSource, {**original.reading, **BY_ID})) == 1


def test_a_node_of_galera_is_refused(maria: mariadb.Database, monkeypatch: Any) -> None:
    """Stubbed is what such a node, of MariaDB 11.4.5 with Galera 26.4.23, answers to SHOW GLOBAL VARIABLES."""
    maria.run("CREATE TABLE orders (id SERIAL)", "INSERT INTO orders VALUES (DEFAULT)")
    really = mariadb_catalog._rows

    def answered(connection: Any, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        found = really(connection, statement, parameters)
        if statement == mariadb_catalog._SERVER:
            assert ("wsrep_on", "OFF") in found
            return [("wsrep_on", "ON") if row == ("wsrep_on", "OFF") else row for row in found]
        return found

    monkeypatch.setattr(mariadb_catalog, "_rows", answered)
    assert refusal(maria).startswith("cannot find new rows on a node of a Galera cluster")


def test_mysql_is_refused_when_the_connector_is_planned_and_when_a_task_starts(
    start: Callable[..., mariadb.Server],
) -> None:
    """It is a MariaDB that gives itself out as MySQL 8.0.36, which is all that is looked at."""
    shop = shop_of(start("--version=8.0.36"))
    (found,) = problems({**shop.reading, **BY_ID})
    assert found.startswith("connection.url: The server is MySQL, where SqlSource cannot list running transactions")
    assert problems({**shop.reading, **BULK}) == []
    assert refusal(shop).startswith("The server is MySQL")
