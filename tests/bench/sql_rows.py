"""What the figures of Kafka to PostgreSQL become: rows with goals, and a table with COPY beside both sides."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from tests.bench.peer import DEBEZIUM
from tests.bench.results import Measure, Times
from tests.bench.sql_work import SqlFigures

__all__ = ["SqlRuns", "sql_rows", "sql_table"]

SqlRuns = Mapping[str, Sequence[Sequence[SqlFigures]]]
"""Of each mode the figures of Penstock, of Kafka Connect, and of COPY."""

_FACTOR: Final = 3
_NAMES: Final = ("Penstock's SqlSink", f"Debezium's JDBC sink {DEBEZIUM}", "psql's COPY, no Kafka")


def sql_rows(found: SqlRuns) -> list[Measure]:
    """Speed, what a second of the side's CPU moves, and the server's CPU."""
    rows = []
    for mode, (ours, peer, _) in found.items():
        name = f"Kafka to PostgreSQL, {mode}"
        rows += [
            Measure(f"{name}: speed", "rows/s", [f.rate for f in ours], [f.rate for f in peer]),
            Measure(
                f"{name}: by CPU", "rows/CPU s", [f.thrift for f in ours], [f.thrift for f in peer], Times(_FACTOR)
            ),
            Measure(f"{name}: server's CPU", "s", [f.server_cpu for f in ours], [f.server_cpu for f in peer]),
        ]
    return rows


def sql_table(found: SqlRuns) -> str:
    """One line for each mode and side, as Markdown."""
    lines = [
        "| mode | side | rows/s | rows/CPU s | CPU, us a row | server's CPU, us a row |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for mode, sides in found.items():
        for name, runs in zip(_NAMES, sides, strict=True):
            rate, thrift = (statistics.median(getattr(f, of) for f in runs) for of in ("rate", "thrift"))
            server = statistics.median(f.server_cpu * 1e6 / f.records for f in runs)
            lines.append(f"| {mode} | {name} | {rate:,.0f} | {thrift:,.0f} | {1e6 / thrift:.2f} | {server:.2f} |")
    return "\n".join(lines)
