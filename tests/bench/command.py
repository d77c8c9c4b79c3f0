"""`make bench`: measures both sides in turn, prints a table, writes `build/bench.json`."""

import argparse
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.bench import data, report, results
from tests.bench.bench import TRANSFORMED, Bench
from tests.bench.peer import connect_jars
from tests.bench.sides import Connect, Penstock, Side
from tests.bench.sink_chain import sink_chain
from tests.bench.transform_cost import cost_rows, transform_costs

from penstock_cli.embedded import EmbeddedKafka
from penstock_runtime.java_home import find_java

__all__ = ["main"]

_ROOT: Final = Path(__file__).resolve().parents[2]
_MEASURES: Final = ("source", "sink", "trickle", "on-demand", "broker-away", "operator")
_ASKED_FOR: Final = (
    "transforms",
    "source-transforms",
    "transform-cost",
    "webhook",
    "new-topics",
    "plugin-mounts",
    "quiet-connectors",
    "quiet-java",
    "executors",
    "java",
    "registry",
    "sql",
    "sql-source",
)
"""Measured only where `--only` names them."""

_MOST: Final = {"executors": 2_000_000, "sql": 1_000_000, "sql-source": 1_000_000}
"""The most records of measures that need more than `TRANSFORMED`."""
_WITHOUT_KAFKA: Final = {"transform-cost"}


def main() -> int:
    """Measure what the command line says.

    Returns:
        0, whether goals are met or not; a side that fails, or writes anything wrong, raises.
    """
    options = _parser().parse_args()
    parts = options.only or list(_MEASURES)
    if _WITHOUT_KAFKA.issuperset(parts):
        costs = transform_costs(times=10 if options.quick else 40)
        print(f"CPU microseconds a record, in one process.\n\n{results.as_table(cost_rows(costs))}")
        return 0
    options.runs = options.runs or (1 if set(parts).issubset(_ASKED_FOR) else 3)
    if options.quick:
        options.runs, options.records = 1, 200_000
    if set(parts).issubset(_ASKED_FOR):
        most = min(_MOST.get(part, TRANSFORMED) for part in parts)
        options.records = 10_000 if options.quick else min(options.records, most)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything that runs is ended
    java = find_java()
    connect_jars(java)
    known = report.about(java, runs=options.runs, records=options.records, sink_transforms=sink_chain().text)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=options.folder) as name:
        folder = Path(name)
        if {"source", "sink", "on-demand", "source-transforms"} & set(parts):
            data.write_lines(folder / "lines.txt", options.records)
        with EmbeddedKafka(folder / "kafka") as kafka:
            servers = kafka.bootstrap_servers
            sides: list[Side] = [Penstock(servers), Connect(servers, java)]
            bench = Bench(
                folder, servers, sides, options.runs, options.records, [], kafka.pid or 0, options.transform or ()
            )
            measures = [m for part in parts for m in bench.measure(part, quick=options.quick)]
    table = "\n\n".join([results.as_table(measures), *bench.tables.values()])
    print(f"\n{report.about_text(known)}\n\n{table}")
    results.write(_ROOT / "build" / "bench.json", results.as_json(measures, known, bench.details))
    if options.write_docs:
        docs = _ROOT / "docs" / "benchmarks.md"
        if not set(parts).issubset(_ASKED_FOR):
            report.write_docs(docs, known, results.as_table(measures))
        for part, text in bench.tables.items():
            report.write_docs(docs, known, text, report.marks_of(part))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=(*_MEASURES, *_ASKED_FOR), help="this measure; may be given again"
    )
    parser.add_argument("--quick", action="store_true", help="200,000 lines, one run, short trickles: for development")
    parser.add_argument(
        "--transform", action="append", help="of the measures of transforms only these; a part of a name"
    )
    parser.add_argument("--runs", type=int, help="of each side (3; of what runs only when named 1)")
    parser.add_argument("--records", type=int, default=2_000_000, help="lines (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made; it needs 4 GB")
    parser.add_argument("--write-docs", action="store_true", help="write the table into docs/benchmarks.md")
    return parser
