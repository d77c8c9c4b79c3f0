"""Kafka to PostgreSQL: orders of a topic with one partition into a table, by `SqlSink`, by Debezium's JDBC sink, by COPY.

A side is started on a topic of one record. Two portions lie there in transactions that are still open: the first one warms
up what a start leaves cold (a JIT, Spark's workers), then the second one is shown. The clock, and the account of CPU
seconds, run from there until the row of its last record is in the table. All records come in polls of 5,000.

insert: the table has but the rows of the warm-up; upsert: it has every other row of those that come, with another quantity.
COPY is psql's from a CSV file with the same rows, for an upsert into a temporary table and from there on: the ceiling.
What is in the table in the end must be what COPY has put there.
"""

import re
import resource
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tests.bench.measured import Measured
from tests.bench.peer import debezium_folder
from tests.bench.sides import CONVERTERS, Connect, Side, Work
from tests.bench.source_work import spent
from tests.bench.sql_data import CHANGES, messages
from tests.bench.sql_orders import PASSWORD, USER, Orders
from tests.bench.topics import Hidden, Topic

__all__ = ["MODES", "SqlFigures", "children_cpu", "run_copy", "run_sql"]

MODES: Final = ("insert", "upsert")
_WARM_UP: Final = 5  # a fifth of the records that count
_CALM: Final = 1.0
_PATIENCE: Final = 600.0
_POLL: Final = "5000"
_ERROR: Final = re.compile('"level": "error"| ERROR ')


@dataclass(frozen=True)
class SqlFigures:
    """What one run gave: rows, seconds, CPU seconds of the side and of the server."""

    mode: str
    records: int
    seconds: float
    cpu: float
    server_cpu: float
    detail: dict[str, Any]

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.records / self.seconds

    @property
    def thrift(self) -> float:
        """Rows per CPU second of the side."""
        return self.records / self.cpu


def run_copy(given: Orders, mode: str) -> SqlFigures:
    """One run of psql.

    Raises:
        RuntimeError: it failed, or the table holds anything else than it should.
    """
    given.empty(mode)
    commands = [f"\\copy orders FROM '{given.csv}' CSV"]
    if mode == "upsert":
        commands = [
            "CREATE TEMPORARY TABLE stage (LIKE orders)",
            f"\\copy stage FROM '{given.csv}' CSV",
            f"INSERT INTO orders SELECT * FROM stage ON CONFLICT (id) DO UPDATE SET {CHANGES}",
        ]
    server, cpu, begun = given.cpu(), children_cpu(), time.monotonic()
    given.psql(commands)
    seconds = time.monotonic() - begun
    figures = SqlFigures(mode, given.count, seconds, children_cpu() - cpu, given.cpu() - server, {})
    given.check("psql")
    return figures


def run_sql(side: Side, servers: str, given: Orders, mode: str, folder: Path) -> SqlFigures:
    """One run of one side.

    Raises:
        RuntimeError: the side failed, or the table holds anything else than it should.
    """
    name = f"bench-sql-{folder.name}"
    debezium = isinstance(side, Connect)
    if isinstance(side, Connect):
        side = replace(side, plugins=debezium_folder(side.java))
    given.empty(mode)
    warm = given.count // _WARM_UP
    with Topic(servers, name) as topic:
        _hidden(servers, topic, -warm - 1, -warm).show()
        first, rest = (_hidden(servers, topic, start, end) for start, end in ((-warm, 0), (0, given.count)))
        config = {**_common(name, mode), **(_debezium(given, mode) if debezium else _penstock(given, mode))}
        with side.run(Work("sql", config), folder) as measured:
            _await_row(measured, given, -warm - 1)
            measured.await_up()
            first.show()
            _await_row(measured, given, -1)
            time.sleep(_CALM)
            before, server = measured.tree.cpu_by_role(look=True), given.cpu()
            begun = time.monotonic()
            rest.show()
            ended = _await_row(measured, given, given.count - 1)
            cpu, server = measured.tree.cpu(look=True) - sum(before.values()), given.cpu() - server
            detail = {"cpu": spent(before, measured), "log": measured.complaints()}
    given.check(side.name)
    return SqlFigures(mode, given.count, ended - begun, cpu, server, detail)


def _common(topic: str, mode: str) -> dict[str, str]:
    return {
        "topics": topic,
        **CONVERTERS,
        "value.converter.schemas.enable": "true",
        "insert.mode": mode,
        "consumer.override.max.poll.records": _POLL,
        "consumer.override.isolation.level": "read_committed",
    }


def _penstock(given: Orders, mode: str) -> dict[str, str]:
    keys = {"pk.mode": "record_value", "pk.fields": "id"} if mode == "upsert" else {}
    return {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "connection.url": given.server.url(),
        "connection.user": USER,
        "connection.password": PASSWORD,
        "table.name.format": "orders",
        **keys,
    }


def _debezium(given: Orders, mode: str) -> dict[str, str]:
    """As fast as it can be set: batches as large as its polls, and PostgreSQL's driver makes one statement of many rows."""
    keys = {"primary.key.mode": "record_value", "primary.key.fields": "id"} if mode == "upsert" else {}
    return {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "connection.url": f"{given.server.url()}?reWriteBatchedInserts=true",
        "connection.username": USER,
        "connection.password": PASSWORD,
        "collection.name.format": "orders",
        "batch.size": _POLL,
        **keys,
    }


def _hidden(servers: str, topic: Topic, start: int, end: int) -> Hidden:
    hidden = Hidden(servers, topic, f"{topic.name}-{start}")
    for block in messages(start, end):
        hidden.write(block)
    hidden.flush()
    return hidden


def _await_row(measured: Measured, given: Orders, number: int) -> float:
    """Look fifty times a second for the row with this id, and return the moment at which it is there."""
    deadline = time.monotonic() + _PATIENCE
    look = 0.0
    while given.one(f"SELECT 1 FROM orders WHERE id = {number}") is None:
        now = time.monotonic()
        if now > look:  # a worker of Kafka Connect outlives its task
            failed = [line for line in measured.complaints() if _ERROR.search(line)]
            if failed or now > deadline:
                raise RuntimeError(f"{measured.name}: no row {number}: {failed}\n{measured.log_end()}")
            look = now + 2.0
        measured.check()
        time.sleep(0.02)
    return time.monotonic()


def children_cpu() -> float:
    """CPU seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
