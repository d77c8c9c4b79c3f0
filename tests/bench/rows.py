"""Which rows the figures become, and the goals."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from tests.bench.broker_away import AwayFigures
from tests.bench.quiet import QuietFigures
from tests.bench.results import AtMost, Measure, NoMoreThan, Share, Times
from tests.bench.source_work import Figures
from tests.bench.trickle import TrickleFigures

__all__ = [
    "broker_away_rows",
    "on_demand_rows",
    "quiet_rows",
    "sink_rows",
    "sink_trickle_rows",
    "source_rows",
    "trickle_rows",
]

F = TypeVar("F")
_MB = 1e6


def source_rows(ours: Sequence[Figures], peer: Sequence[Figures]) -> list[Measure]:
    """Exactly once against at least once."""
    return [
        *_full_speed("source", ours, peer, Times(4), Share(4)),
        _row("start: process start to first record", "s", ours, peer, lambda f: f.start or 0.0, AtMost(2)),
    ]


def sink_rows(ours: Sequence[Figures], peer: Sequence[Figures]) -> list[Measure]:
    """At least once on both sides."""
    return _full_speed("sink", ours, peer, Times(3), Share(3))


def trickle_rows(ours: Sequence[TrickleFigures], peer: Sequence[TrickleFigures]) -> list[Measure]:
    """The peer's records come at least once."""
    return [
        _row("trickle: latency p50", "ms", ours, peer, lambda f: f.p50 * 1000, AtMost(60)),
        _row("trickle: latency p99", "ms", ours, peer, lambda f: f.p99 * 1000, AtMost(120)),
        _row("trickle: CPU", "% of a core", ours, peer, lambda f: f.cpu * 100, AtMost(5)),
        _row("idle: CPU", "% of a core", ours, peer, lambda f: (f.idle_cpu or 0.0) * 100, AtMost(2)),
        _row("trickle, Spark up: memory of the task", "MB", ours, peer, lambda f: f.memory.task / _MB, AtMost(600)),
        _row("trickle: memory of `penstock run` itself", "MB", ours, [], lambda f: f.memory.parent / _MB, None),
    ]


def sink_trickle_rows(ours: Sequence[TrickleFigures], peer: Sequence[TrickleFigures]) -> list[Measure]:
    """At least once on both sides."""
    return [
        _row("trickle at a sink: latency p50", "ms", ours, peer, lambda f: f.p50 * 1000, AtMost(60)),
        _row("trickle at a sink: latency p99", "ms", ours, peer, lambda f: f.p99 * 1000, AtMost(120)),
        _row("trickle at a sink: CPU", "% of a core", ours, peer, lambda f: f.cpu * 100, AtMost(5)),
    ]


def quiet_rows(ours: Sequence[QuietFigures], peer: Sequence[QuietFigures]) -> list[Measure]:
    """The peer's records come at least once."""
    what = f"{ours[0].connectors} quiet connectors"
    return [
        _row(f"{what}: CPU", "% of a core", ours, peer, lambda f: f.cpu * 100, NoMoreThan(2)),
        _row(f"{what}, idle: CPU", "% of a core", ours, peer, lambda f: f.idle_cpu * 100, NoMoreThan(2)),
        _row(f"{what}: latency p50", "ms", ours, peer, lambda f: f.p50 * 1000, AtMost(60)),
        _row(f"{what}: latency p99", "ms", ours, peer, lambda f: f.p99 * 1000, AtMost(120)),
        _row(f"{what}: memory of all tasks", "MB", ours, peer, lambda f: f.memory.task / _MB, None),
        _row(f"{what}: memory of each task", "MB", ours, [], lambda f: f.memory.task / _MB / f.connectors, AtMost(60)),
        _row(f"{what}: memory of `penstock run` itself", "MB", ours, [], lambda f: f.memory.parent / _MB, None),
        _row(f"{what}: start of all", "s", ours, peer, lambda f: f.start, None),
    ]


def broker_away_rows(kind: str, ours: Sequence[AwayFigures], peer: Sequence[AwayFigures]) -> list[Measure]:
    """While the broker is gone."""
    return [
        _row(f"{kind}, broker away: CPU", "% of a core", ours, peer, lambda f: f.cpu * 100, AtMost(10)),
        _row(f"{kind}, broker away: growth of memory", "MB", ours, peer, lambda f: f.grown / _MB, AtMost(32)),
    ]


def on_demand_rows(backlogs: Sequence[Figures], ours: Sequence[TrickleFigures]) -> list[Measure]:
    """Only Penstock has it."""
    return [
        _row("source, OnDemand: throughput", "records/s", backlogs, [], lambda f: f.rate, None),
        _row("source, OnDemand: CPU", "s", backlogs, [], lambda f: f.cpu, None),
        _row("trickle, OnDemand: memory of the task", "MB", ours, [], lambda f: f.memory.task / _MB, AtMost(150)),
        _row("trickle, OnDemand: CPU", "% of a core", ours, [], lambda f: f.cpu * 100, None),
        _row("trickle, OnDemand: start", "s", ours, [], lambda f: f.start, None),
    ]


def _full_speed(work: str, ours: Sequence[Figures], peer: Sequence[Figures], rate: Times, cpu: Share) -> list[Measure]:
    return [
        _row(f"{work}: throughput", "records/s", ours, peer, lambda f: f.rate, rate),
        _row(f"{work}: CPU", "s", ours, peer, lambda f: f.cpu, cpu),
        _row(f"{work}: peak memory of the task", "MB", ours, peer, lambda f: f.peak.task / _MB, AtMost(1000)),
        _row(f"{work}: peak memory of `penstock run` itself", "MB", ours, [], lambda f: f.peak.parent / _MB, None),
    ]


def _row(
    name: str,
    unit: str,
    ours: Sequence[F],
    peer: Sequence[F],
    figure: Callable[[F], float],
    goal: Times | Share | NoMoreThan | AtMost | None,
) -> Measure:
    return Measure(name, unit, [figure(f) for f in ours], [figure(f) for f in peer], goal)
