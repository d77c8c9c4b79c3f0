"""One benchmark: its parts, each by whatever is measured, with figures, tables and details."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from tests.bench import data
from tests.bench.admission import admission_rows, run_admission
from tests.bench.broker_away import AwayFigures, Kind, run_broker_away
from tests.bench.executors import SMALL, ExecutorFigures, executor_rows, run_executors
from tests.bench.java_work import JAVA_WORK, java_rows, java_sides, postgresql, run_java
from tests.bench.new_topics import create_topics, new_topics_rows
from tests.bench.operator_work import operator_rows, run_operator
from tests.bench.plugin_mounts import mounts_rows, start_with_mounts
from tests.bench.quiet import run_quiet
from tests.bench.quiet_java import quiet_java_rows, run_quiet_java
from tests.bench.registry_work import at_sink, at_source, registry, registry_rows, registry_sides
from tests.bench.results import Measure, as_table
from tests.bench.rows import (
    broker_away_rows,
    on_demand_rows,
    quiet_rows,
    sink_rows,
    sink_trickle_rows,
    source_rows,
    trickle_rows,
)
from tests.bench.sides import Penstock, Side
from tests.bench.sink_work import run_sink
from tests.bench.source_work import run_source
from tests.bench.sql_orders import orders
from tests.bench.sql_rows import sql_rows, sql_table
from tests.bench.sql_source import RANGES, run_copy_out, run_sql_source, sql_source_rows, sql_source_table
from tests.bench.sql_work import MODES, SqlFigures, run_copy, run_sql
from tests.bench.transform_cost import cost_rows, transform_costs
from tests.bench.transform_rows import points, transform_rows, transform_table
from tests.bench.transform_source import run_at_source, source_points
from tests.bench.transform_work import Point, TransformFigures, run_transforms
from tests.bench.trickle import Durations, run_sink_trickle, run_trickle

from penstock_runtime.java_home import find_java

__all__ = ["TRANSFORMED", "Bench"]

TRANSFORMED: Final = 400_000
"""The most records of a transform."""

_KINDS: Final[tuple[Kind, ...]] = ("source", "sink")
F = TypeVar("F")
TransformRun = Callable[[Side, Path, Point], TransformFigures]


@dataclass
class Bench:
    """One benchmark: where it works, on whom, how often; `details` takes what each run told, `tables` what is to be read."""

    folder: Path
    servers: str
    sides: Sequence[Side]
    runs: int
    records: int
    details: list[Any]
    broker: int
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
                count = min(self.records, TRANSFORMED)
                return self._transforms(
                    part, points(self.transforms), lambda s, f, p: run_transforms(s, self.servers, p, count, f)
                )
            case "source-transforms":
                return self._transforms(
                    part,
                    source_points(self.transforms),
                    lambda s, f, p: run_at_source(s, self.servers, lines, p, self.records, f),
                )
            case "webhook":
                return admission_rows(run_admission(self.folder / "webhook", quick=quick))
            case "new-topics":
                return new_topics_rows([create_topics(self.servers) for _ in range(self.runs)])
            case "plugin-mounts":
                return mounts_rows([start_with_mounts(self.folder, self.servers) for _ in range(self.runs)])
            case "registry":
                return self._registry(part)
            case "java":
                return self._java(part)
            case "sql":
                return self._sql(part)
            case "sql-source":
                return self._sql_source(part)
            case "transform-cost":
                return cost_rows(transform_costs(times=10 if quick else 40))
            case "quiet-connectors":
                return self._quiet(part, 20 if quick else 100, durations)
            case "quiet-java":
                return self._quiet_java(part, (1, 3) if quick else (1, 10))
            case "executors":
                return self._executors(part)
            case "broker-away":
                return [row for kind in _KINDS for row in self._broker_away(part, kind, durations.idle)]
            case "trickle":
                brief = replace(durations, idle=0)
                return [
                    *trickle_rows(*self._alternate(part, lambda s, f: run_trickle(s, self.servers, f, durations))),
                    *sink_trickle_rows(
                        *self._alternate(part, lambda s, f: run_sink_trickle(s, self.servers, f, brief))
                    ),
                ]
            case _:
                side = Penstock(self.servers, spark_start="OnDemand")
                short = Durations(durations.warm_up, min(20, durations.measured), 0)
                return on_demand_rows(
                    self._times(part, side.name, lambda f: run_source(side, self.servers, lines, self.records, f)),
                    self._times(part, side.name, lambda f: run_trickle(side, self.servers, f, short)),
                )

    def _executors(self, part: str) -> list[Measure]:
        def run(name: str, count: int, *batch: int) -> list[ExecutorFigures]:
            return self._times(
                part, name, lambda f: run_executors(self.servers, self.broker, f, 2 * self.records, count, *batch)
            )

        rows = executor_rows(run("alone", 0), run("two executors", 2), run("two executors, small batches", 2, SMALL))
        self.tables[part] = as_table(rows)
        return rows

    def _quiet(self, part: str, count: int, durations: Durations) -> list[Measure]:
        sides = [Penstock(self.servers, spark_start="OnDemand"), *self.sides[1:]]
        bench = replace(self, sides=sides)
        return quiet_rows(*bench._alternate(part, lambda s, f: run_quiet(s, self.servers, f, count, durations)))

    def _quiet_java(self, part: str, counts: Sequence[int]) -> list[Measure]:
        bench = replace(self, sides=java_sides(find_java(), self.sides, self.folder))
        rows = []
        with postgresql(self.folder.parent) as server:
            for count in counts:
                rows += quiet_java_rows(
                    *bench._alternate(part, lambda s, f, n=count: run_quiet_java(s, self.servers, n, server, f))  # type: ignore[misc]
                )
        return rows

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
            _check_same(point, figures)
        self.tables[part] = transform_table(measured, ours, peer)
        return transform_rows(measured, ours, peer)

    def _alternate(self, part: str, run: Callable[[Side, Path], F]) -> tuple[list[F], list[F]]:
        found: list[list[F]] = [[] for _ in self.sides]
        for _ in range(self.runs):
            for side, figures in zip(self.sides, found, strict=True):
                figures.append(self._once(part, side.name, partial(run, side)))
        return found[0], found[1]

    def _registry(self, part: str) -> list[Measure]:
        lines = self.folder / "lines.txt"
        data.write_lines(lines, self.records)
        bench = replace(self, sides=registry_sides(self.sides, self.folder))
        rows: list[Measure] = []
        with registry() as url:
            for point, run in (
                (at_source(url), lambda s, f, p: run_at_source(s, self.servers, lines, p, self.records, f)),
                (at_sink(url), lambda s, f, p: run_transforms(s, self.servers, p, self.records, f)),
            ):
                figures = bench._alternate(part, lambda s, f, p=point, r=run: r(s, f, p))  # type: ignore[misc]
                _check_same(point, figures)
                rows += registry_rows(point.case.name, *figures)
        self.tables[part] = as_table(rows)
        return rows

    def _java(self, part: str) -> list[Measure]:
        bench = replace(self, sides=java_sides(find_java(), self.sides, self.folder))
        rows, lines = [], self.folder / "lines.txt"
        with postgresql(self.folder.parent) as server:
            for what in JAVA_WORK:
                count = self.records if what == "orders" else self.records // 2
                figures = bench._alternate(
                    part,
                    lambda s, f, w=what, n=count: run_java(s, self.servers, w, n, server, f),  # type: ignore[misc]
                )
                rows += java_rows(what, *figures)
        data.write_lines(lines, self.records)
        sinks = bench._alternate(part, lambda s, f: run_sink(s, self.servers, lines, self.records, f))
        rows += java_rows("sink", *sinks)
        self.tables[part] = as_table(rows)
        return rows

    def _sql(self, part: str) -> list[Measure]:
        found: dict[str, tuple[list[SqlFigures], ...]] = {}
        with orders(self.folder.parent, self.records) as given:
            for mode in MODES:
                sides = self._alternate(part, lambda s, f, m=mode: run_sql(s, self.servers, given, m, f))  # type: ignore[misc]
                copies = self._times(part, "COPY", lambda _, m=mode: run_copy(given, m))  # type: ignore[misc]
                found[mode] = (*sides, copies)
        self.tables[part] = sql_table(found)
        return sql_rows(found)

    def _sql_source(self, part: str) -> list[Measure]:
        with orders(self.folder.parent, self.records) as given:
            found = {
                f"{ranges} range{'s' if ranges > 1 else ''}": self._times(
                    part,
                    "Penstock",
                    lambda f, r=ranges: run_sql_source(self.servers, given, r, f),  # type: ignore[misc]
                )
                for ranges in RANGES
            }
            found["COPY"] = self._times(part, "COPY", lambda _: run_copy_out(given))
        self.tables[part] = sql_source_table(found)
        return sql_source_rows(found)

    def _times(self, part: str, side: str, run: Callable[[Path], F]) -> list[F]:
        return [self._once(part, side, run) for _ in range(self.runs)]

    def _once(self, part: str, side: str, run: Callable[[Path], F]) -> F:
        folder = self.folder / f"{part}-{len(self.details)}"
        folder.mkdir()
        figures = run(folder)
        self.details.append({"measure": part, "side": side, **asdict(figures)})  # type: ignore[call-overload]
        print(f"{part}, {side}: {figures}", flush=True)
        shutil.rmtree(folder)
        return figures


def _check_same(point: Point, figures: tuple[list[TransformFigures], list[TransformFigures]]) -> None:
    if len({f.written for side in figures for f in side}) > 1:
        raise RuntimeError(f"{point.name}: the sides have not written the same")
