"""Debezium's MySQL connector, which keeps a schema history in Kafka with clients of its own."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from connectors.sql.tests import mariadb

from ..ports import free_port
from ..reading import Read, Reader
from ..running import Processes, manifest, new_name
from .capture import json_converters
from .plugins import debezium

pytestmark = pytest.mark.slow

# There is no MySQL in Maven Central or in Debian. A MariaDB that calls itself MySQL 8.0 has what the connector asks for.
OPTIONS: Final = (
    "--skip-ssl",
    "--version=8.0.36-MariaDB-log",
    "--log-bin=changes",
    "--server-id=7",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
)


@pytest.fixture
def binlog_server(tmp_path: Path) -> Iterator[mariadb.Server]:
    """A MariaDB with a binary log."""
    folder = tmp_path / "mariadb"
    folder.mkdir()
    server = mariadb.Server(folder, free_port())
    server.start(*OPTIONS)
    try:
        yield server
    finally:
        server.stop()


def run_sql(server: mariadb.Server, *statements: str) -> None:
    """Execute statements, each committed."""
    connection = server.connect("mysql")
    try:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    finally:
        connection.close()


def events(records: Sequence[Read]) -> list[tuple[str, object, object] | None]:
    """Operation, row before and row after of each change event; None for a tombstone."""
    read = [None if r.value is None else json.loads(r.value) for r in records]
    return [None if event is None else (event["op"], event["before"], event["after"]) for event in read]


def test_debezium_mysql_reads_rows_with_the_columns_of_their_time_after_a_restart(
    kafka: str, binlog_server: mariadb.Server, processes: Processes
) -> None:
    prefix = new_name("shop")
    config = {
        "database.hostname": "127.0.0.1",
        "database.port": str(binlog_server.port),
        "database.user": "capturer",
        "database.password": "pa55",
        "database.server.id": "5400",
        "database.ssl.mode": "disabled",
        "database.include.list": "shop",
        "topic.prefix": prefix,
        "schema.history.internal.kafka.topic": f"{prefix}.history",
        "schema.history.internal.kafka.bootstrap.servers": kafka,
        "exactly.once.support": "required",
        **json_converters(schemas=False),
    }
    connector = manifest(prefix, "io.debezium.connector.mysql.MySqlConnector", config)
    path = ("--plugin-path", str(debezium("mysql")))
    run_sql(
        binlog_server,
        "CREATE USER capturer IDENTIFIED BY 'pa55'",
        "GRANT ALL ON *.* TO capturer",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id int PRIMARY KEY, item varchar(20))",
        "INSERT INTO shop.orders VALUES (1, 'pump'), (2, NULL)",
    )
    with Reader(kafka, f"{prefix}.shop.orders") as reader:
        run = processes.run([connector], kafka, *path)
        reader.count(2)
        run_sql(binlog_server, "UPDATE shop.orders SET item = 'valve' WHERE id = 2")
        reader.count(3)
        run.stop()
        run_sql(
            binlog_server,
            "INSERT INTO shop.orders VALUES (3, 'gate')",
            "ALTER TABLE shop.orders ADD COLUMN price int FIRST",
            "INSERT INTO shop.orders VALUES (7, 4, 'weir')",
            "DELETE FROM shop.orders WHERE id = 1",
        )
        run = processes.run([connector], kafka, *path)
        reader.count(7)
        run.stop()
        assert events(reader.to_end()) == [
            ("r", None, {"id": 1, "item": "pump"}),
            ("r", None, {"id": 2, "item": None}),
            ("u", {"id": 2, "item": None}, {"id": 2, "item": "valve"}),
            ("c", None, {"id": 3, "item": "gate"}),
            ("c", None, {"price": 7, "id": 4, "item": "weir"}),
            ("d", {"price": None, "id": 1, "item": "pump"}, None),
            None,
        ]
