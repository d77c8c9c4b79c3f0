"""PostgreSQL to Kafka: a table of orders into a topic with one partition, by `SqlSource`, and by COPY to nowhere.

A fifth of the rows come before, to warm up what a start leaves cold. Then all orders are committed by one transaction.
The clock, and the account of CPU seconds, run from there until a `read_committed` reader could read the last record. What is
in the topic must be each row once, in order unless the table is read in ranges. COPY is psql's, the ceiling.
"""

import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from tests.bench.results import AtLeast, Measure
from tests.bench.sides import CONVERTERS, Penstock, Work
from tests.bench.source_work import SETTLE, spent
from tests.bench.sql_orders import PASSWORD, USER, Orders
from tests.bench.sql_work import SqlFigures, children_cpu
from tests.bench.timeline import Timeline
from tests.bench.topics import Topic

__all__ = ["RANGES", "run_copy_out", "run_sql_source", "sql_source_rows", "sql_source_table"]

RANGES: Final = (1, 2)
_GOAL: Final = 268_000
"""Rows per second: twice the figure that Redpanda Connect's documentation gives for a snapshot on one core."""


def run_copy_out(given: Orders) -> SqlFigures:
    """One run of psql."""
    server, cpu, begun = given.cpu(), children_cpu(), time.monotonic()
    given.psql(["\\copy expected TO '/dev/null' CSV"])
    seconds = time.monotonic() - begun
    return SqlFigures("COPY", given.count, seconds, children_cpu() - cpu, given.cpu() - server, {})


def run_sql_source(servers: str, given: Orders, ranges: int, folder: Path) -> SqlFigures:
    """One run of Penstock.

    Raises:
        RuntimeError: it failed, or the topic holds anything else than it should.
    """
    prefix = f"bench-{folder.name}-"
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": given.server.url(),
        "connection.user": USER,
        "connection.password": PASSWORD,
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "topic.prefix": prefix,
        "table.whitelist": "orders",
        "poll.interval.ms": "100",
        "backlog.ranges": str(ranges),
        **CONVERTERS,
    }
    given.empty("insert")
    columns = "customer, country, amount, quantity, paid, created, note"
    warm = given.count // 5
    insert = f"INSERT INTO orders SELECT id - {warm}, {columns} FROM expected WHERE id BETWEEN {{}} AND {{}}"
    given.connection.execute(insert.format(0, 0).encode())
    timeline = Timeline()
    with Topic(servers, f"{prefix}orders") as topic:
        with Penstock(servers).run(Work("sql-source", config), folder) as measured:
            measured.await_until("writing", lambda: topic.end() > 0)
            measured.await_up()
            given.connection.execute(insert.format(1, warm - 1).encode())
            measured.await_until("warm", lambda: topic.end() >= warm)
            time.sleep(SETTLE)
            before = measured.tree.cpu_by_role(look=True)
            given.connection.execute(b"INSERT INTO orders SELECT * FROM expected")
            server, begun = given.cpu(), time.monotonic()
            timeline.follow(measured, topic.end, at_least=given.count + warm)
            server = given.cpu() - server
            detail = {"cpu": spent(before, measured), "log": measured.complaints()}
        last = _check(topic, range(-warm, given.count), in_order=ranges == 1)
    reached = timeline.first(last + 1)
    cpu = reached.cpu - sum(before.values())
    return SqlFigures(str(ranges), given.count, reached.at - begun, cpu, server, detail)


def _check(topic: Topic, ids: range, *, in_order: bool) -> int:
    """The offset of the last record; RuntimeError unless each row is there once."""
    decode = msgspec.json.Decoder().decode
    found: list[int] = []
    last = 0
    for offsets, values in topic.read():
        found += [decode(value)["id"] for value in values]
        last = offsets[-1] if offsets else last
    if (found if in_order else sorted(found)) != list(ids):
        raise RuntimeError(f"{topic.name}: {len(found)} records of {len(ids)}, or out of order")
    return last


def sql_source_rows(found: Mapping[str, Sequence[SqlFigures]]) -> list[Measure]:
    """Speed, and what a second of Penstock's CPU moves."""
    rows = []
    for mode, figures in found.items():
        if mode == "COPY":
            continue
        name = f"PostgreSQL to Kafka, {mode}"
        rows += [
            Measure(f"{name}: speed", "rows/s", [f.rate for f in figures], []),
            Measure(f"{name}: by CPU", "rows/CPU s", [f.thrift for f in figures], [], AtLeast(_GOAL)),
        ]
    return rows


def sql_source_table(found: Mapping[str, Sequence[SqlFigures]]) -> str:
    """One line for each way to read, as Markdown."""
    lines = ["| read | rows/s | CPU, us a row | server's CPU, us a row |", "|---|---:|---:|---:|"]
    for mode, runs in found.items():
        rate = statistics.median(f.rate for f in runs)
        own, server = (
            statistics.median(getattr(f, of) * 1e6 / f.records for f in runs) for of in ("cpu", "server_cpu")
        )
        name = "psql's COPY to nowhere" if mode == "COPY" else f"SqlSource, {mode}"
        lines.append(f"| {name} | {rate:,.0f} | {own:.2f} | {server:.2f} |")
    return "\n".join(lines)
