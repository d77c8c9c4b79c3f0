"""Small plots of the last hour as paths of SVG. Pure."""

import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from penstock_web.console.numbers_text import compact, rate_text

__all__ = ["Plot", "plot_of"]

WIDTH: Final = 480
HEIGHT: Final = 120
_TOP: Final = 10
_HOUR: Final = 3600.0
_LEAST: Final = 600.0
"""Minimum seconds of a plot, even if measuring started later."""
_STEPS: Final = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)


class Plot(NamedTuple):
    """Plot of one figure.

    Attributes:
        line: path of the line, with a gap wherever nothing was measured for some minutes.
        area: path of the area below it.
        last: coordinates of the last point.
        now: last value as text.
        top: value at the upper edge as text.
        half: value in the middle as text.
        start, end: times at the edges, in UTC.
        summary: description of the plot, for screen readers.
        table: times and values, for users who cannot see the plot.
    """

    line: str
    area: str
    last: tuple[float, float]
    now: str
    top: str
    half: str
    start: str
    end: str
    summary: str
    table: tuple[tuple[str, str], ...]


def plot_of(points: Sequence[tuple[float, float]], what: str, *, gap: float = 200.0, is_rate: bool) -> Plot | None:
    """Return the plot of points in chronological order; None: there are none.

    Args:
        points: pairs of seconds since 1970 and value, of at most an hour.
        what: name of the figure in the summary.
        gap: seconds without a point that interrupt the line.
        is_rate: show decimal places of small values.
    """
    if not points:
        return None
    text = rate_text if is_rate else compact
    end = points[-1][0]
    start = max(end - _HOUR, min(points[0][0], end - _LEAST))
    shown = [(at, value) for at, value in points if at >= start]
    top = _round_up(max(value for _, value in shown))

    def place(at: float, value: float) -> tuple[float, float]:
        x = (at - start) / (end - start) * WIDTH
        return round(x, 1), round(HEIGHT - value / top * (HEIGHT - _TOP), 1)

    pieces = [[place(*point) for point in piece] for piece in _pieces(shown, gap)]
    values = [value for _, value in shown]
    return Plot(
        line="".join(f"M{_joined(piece if len(piece) > 1 else [piece[0], piece[0]])}" for piece in pieces),
        area="".join(f"M{p[0][0]:g},{HEIGHT}L{_joined(p)}L{p[-1][0]:g},{HEIGHT}Z" for p in pieces if len(p) > 1),
        last=place(*shown[-1]),
        now=text(values[-1]),
        top=text(top),
        half=text(top / 2),
        start=_clock(start),
        end=_clock(end),
        summary=f"{what} in the last hour: now {text(values[-1])}, lowest {text(min(values))}, highest {text(max(values))}",
        table=tuple((_clock(at), text(value)) for at, value in shown[:: max(1, len(shown) // 12)]),
    )


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:g},{y:g}" for x, y in points)


def _pieces(points: Sequence[tuple[float, float]], gap: float) -> Iterator[list[tuple[float, float]]]:
    piece: list[tuple[float, float]] = []
    for point in points:
        if piece and point[0] - piece[-1][0] > gap:
            yield piece
            piece = []
        piece.append(point)
    yield piece


def _round_up(value: float) -> float:
    """Return the next round number, at least 1."""
    size = 1.0
    while size * 10 < value:
        size *= 10
    return next(size * step for step in _STEPS if size * step >= value) if value > 1 else 1.0


def _clock(at: float) -> str:
    return time.strftime("%H:%M", time.gmtime(at))
