"""What the figures of transforms become: rows with goals, and a table of one line for each transform and form of records."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from tests.bench.results import Measure, Share, Times
from tests.bench.transform_cases import CASES, FORMS, Case
from tests.bench.transform_work import Point, TransformFigures

__all__ = ["points", "transform_rows", "transform_table"]

_NOTHING: Final = "none"
_FACTOR: Final = 4
Runs = Mapping[str, Sequence[TransformFigures]]
"""The figures of each point, by its name."""


def points(only: Sequence[str] = ()) -> list[Point]:
    """What is measured, form of records by form: first without a transform, then every transform.

    Args:
        only: parts of names of transforms; none takes all. The forms that they need are measured without any as well.
    """
    chosen = [case for case in CASES if not only or any(part.lower() in case.name.lower() for part in only)]
    forms = [form for form in FORMS if any(form in case.forms() for case in chosen)]
    found: list[Point] = []
    for form in forms:
        found.append(Point(Case(_NOTHING, {}, form.content), form))
        found += [Point(case, form) for case in chosen if form in case.forms()]
    return found


def transform_rows(measured: Sequence[Point], ours: Runs, peer: Runs) -> list[Measure]:
    """Three rows for each point: speed, CPU, and the transforms' own part of it: what they add to the same without."""
    rows: list[Measure] = []
    for point in measured:
        mine, others = ours[point.name], peer[point.name]
        speeds = [f.rate for f in mine], [f.rate for f in others]
        costs = [f.cost for f in mine], [f.cost for f in others]
        rows.append(Measure(f"{point.name}: speed", "records/s", *speeds, goal=Times(1)))
        rows.append(Measure(f"{point.name}: CPU", "us a record", *costs, goal=Share(_FACTOR)))
        base = _base(point, measured)
        if point is not base:
            rows.append(
                Measure(f"{point.name}: own CPU", "us a record", _own(point, base, ours), _own(point, base, peer))
            )
    return rows


def transform_table(measured: Sequence[Point], ours: Runs, peer: Runs) -> str:
    """One line for each point, as Markdown. CPU is in microseconds a record."""
    head = "| transform | records | records/s | Connect's | CPU | Connect's | of it own | Connect's | part of CPU |"
    lines = [head, "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for point in measured:
        figures = [runs[point.name] for runs in (ours, peer)]
        rates = [statistics.median(f.rate for f in runs) for runs in figures]
        costs = [statistics.median(f.cost for f in runs) for runs in figures]
        own = ["", ""]
        base = _base(point, measured)
        if point is not base:
            own = [f"{statistics.median(_own(point, base, runs)):.2f}" for runs in (ours, peer)]
        lines.append(
            f"| {point.case.name} | {point.form.name} | {rates[0]:,.0f} | {rates[1]:,.0f} | {costs[0]:.2f} | "
            f"{costs[1]:.2f} | {own[0]} | {own[1]} | {costs[0] / costs[1]:.2f} |"
        )
    return "\n".join(lines)


def _base(point: Point, measured: Sequence[Point]) -> Point:
    """The point to which this one adds its transforms: the first on records of the same form."""
    return next(other for other in measured if other.form == point.form)


def _own(point: Point, base: Point, runs: Runs) -> list[float]:
    without = statistics.median(f.cost for f in runs[base.name])
    return [f.cost - without for f in runs[point.name]]
