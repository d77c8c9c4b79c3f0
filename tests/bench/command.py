"""`make bench`: measures both sides in turn, prints a table, writes `build/bench.json`."""

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from tests.bench import data, report, results
from tests.bench.broker_away import AwayFigures, Kind, run_broker_away
from tests.bench.new_topics import create_topics, new_topics_rows
from tests.bench.operator_work import operator_rows, run_operator
from tests.bench.peer import connect_jars
from tests.bench.plugin_mounts import mounts_rows, start_with_mounts
from tests.bench.results import Measure
from tests.bench.rows import broker_away_rows, on_demand_rows, sink_rows, source_rows, trickle_rows
from tests.bench.sides import Connect, Penstock, Side
from tests.bench.sink_chain import sink_chain
from tests.bench.sink_work import run_sink
from tests.bench.source_work import run_source
from tests.bench.transform_cost import cost_rows, transform_costs
from tests.bench.transform_rows import points, transform_rows, transform_table
from tests.bench.transform_source import run_at_source, source_points
from tests.bench.transform_work import Point, TransformFigures, run_transforms
from tests.bench.trickle import Durations, run_trickle

from penstock_runtime.embedded import EmbeddedKafka
from penstock_runtime.java import find_java

__all__ = ["main"]

_ROOT: Final = Path(__file__).resolve().parents[2]
_MEASURES: Final = ("source", "sink", "trickle", "on-demand", "broker-away", "operator")
_ASKED_FOR: Final = ("transforms", "source-transforms", "transform-cost", "new-topics", "plugin-mounts")
"""Measured only where `--only` names them."""

_TRANSFORMED: Final = 400_000
_KINDS: Final[tuple[Kind, ...]] = ("source", "sink")
_WITHOUT_KAFKA: Final = {"transform-cost"}
F = TypeVar("F")
TransformRun = Callable[[Side, Path, Point], TransformFigures]


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
        options.records = 10_000 if options.quick else min(options.records, _TRANSFORMED)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything that runs is ended
    java = find_java()
    connect_jars(java)
    known = report.about(java, runs=options.runs, records=options.records, sink_transforms=sink_chain().text)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=options.folder) as name:
        folder = Path(name)
        if {"source", "sink", "source-transforms"} & set(parts):
            data.write_lines(folder / "lines.txt", options.records)
        with EmbeddedKafka(folder / "kafka") as kafka:
            servers = kafka.bootstrap_servers
            sides: list[Side] = [Penstock(servers), Connect(servers, java)]
            bench = Bench(folder, servers, sides, options.runs, options.records, [], options.transform or ())
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
    parser.add_argument("--runs", type=int, help="of each side (3; of transforms alone 1)")
    parser.add_argument("--records", type=int, default=2_000_000, help="lines (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made; it needs 4 GB")
    parser.add_argument("--write-docs", action="store_true", help="write the table into docs/benchmarks.md")
    return parser


@dataclass
class Bench:
    """One benchmark: where it works, on whom, how often; `details` takes what each run told, `tables` what is to be read."""

    folder: Path
    servers: str
    sides: Sequence[Side]
    runs: int
    records: int
    details: list[Any]
    transforms: Sequence[str] = ()
    tables: dict[str, str] = field(default_factory=dict)

    def measure(self, part: str, *, quick: bool) -> list[Measure]:
        """The rows of one part."""
        lines = self.folder / "lines.txt"
        durations = Durations(3, 10, 10) if quick else Durations(10, 60, 30)
        match part:
            case "source":
                return source_rows(
                    *self._alternate(part, lambda s, f: run_source(s, self.servers, lines, self.records, f))
                )
            case "sink":
                return sink_rows(*self._alternate(part, lambda s, f: run_sink(s, self.servers, lines, self.records, f)))
            case "operator":
                return operator_rows([run_operator(self.folder, self.servers, quick=quick)])
            case "transforms":
                count = min(self.records, _TRANSFORMED)
                return self._transforms(
                    part, points(self.transforms), lambda s, f, p: run_transforms(s, self.servers, p, count, f)
                )
            case "source-transforms":
                return self._transforms(
                    part,
                    source_points(self.transforms),
                    lambda s, f, p: run_at_source(s, self.servers, lines, p, self.records, f),
                )
            case "new-topics":
                return new_topics_rows([create_topics(self.servers) for _ in range(self.runs)])
            case "plugin-mounts":
                return mounts_rows([start_with_mounts(self.folder, self.servers) for _ in range(self.runs)])
            case "transform-cost":
                return cost_rows(transform_costs(times=10 if quick else 40))
            case "broker-away":
                return [row for kind in _KINDS for row in self._broker_away(part, kind, durations.idle)]
            case "trickle":
                return trickle_rows(*self._alternate(part, lambda s, f: run_trickle(s, self.servers, f, durations)))
            case _:
                side = Penstock(self.servers, spark_start="OnDemand")
                short = Durations(durations.warm_up, min(20, durations.measured), 0)
                return on_demand_rows(
                    [
                        self._once(part, side, lambda s, f: run_trickle(s, self.servers, f, short))
                        for _ in range(self.runs)
                    ]
                )

    def _broker_away(self, part: str, kind: Kind, seconds: float) -> list[Measure]:
        def run(side: Side, folder: Path) -> AwayFigures:
            return run_broker_away(side.on, kind, folder, seconds)

        return broker_away_rows(kind, *self._alternate(part, run))

    def _transforms(self, part: str, measured: Sequence[Point], run: TransformRun) -> list[Measure]:
        ours: dict[str, list[TransformFigures]] = {}
        peer: dict[str, list[TransformFigures]] = {}
        for point in measured:
            figures = self._alternate(part, lambda s, f, p=point: run(s, f, p))  # type: ignore[misc]
            ours[point.name], peer[point.name] = figures
            if len({f.written for side in figures for f in side}) > 1:
                raise RuntimeError(f"{point.name}: the sides have not written the same")
        self.tables[part] = transform_table(measured, ours, peer)
        return transform_rows(measured, ours, peer)

    def _alternate(self, part: str, run: Callable[[Side, Path], F]) -> tuple[list[F], list[F]]:
        found: list[list[F]] = [[] for _ in self.sides]
        for _ in range(self.runs):
            for side, figures in zip(self.sides, found, strict=True):
                figures.append(self._once(part, side, run))
        return found[0], found[1]

    def _once(self, part: str, side: Side, run: Callable[[Side, Path], F]) -> F:
        folder = self.folder / f"{part}-{len(self.details)}"
        folder.mkdir()
        figures = run(side, folder)
        self.details.append({"measure": part, "side": side.name, **asdict(figures)})  # type: ignore[call-overload]
        print(f"{part}, {side.name}: {figures}", flush=True)
        shutil.rmtree(folder)
        return figures
