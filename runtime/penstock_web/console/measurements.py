"""Figures of a Connector from those of its tasks. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from penstock_web.source import Measurement

__all__ = ["Figures", "figures_of", "series_of"]

_RECENT_SECONDS: Final = 200.0
"""Maximum age of a current measurement. Tasks report every minute."""


class Figures(NamedTuple):
    """Current figures of a Connector; None: unknown."""

    records_per_second: float | None = None
    lag: int | None = None


class Series(NamedTuple):
    """Sums of a Connector's tasks over time: pairs of seconds since 1970 and value."""

    rates: tuple[tuple[float, float], ...]
    lags: tuple[tuple[float, float], ...]


def figures_of(history: Sequence[Measurement]) -> Figures:
    """Return the sums of the latest figures of all tasks, without those that are too old compared with the newest."""
    if not history:
        return Figures()
    latest = {m.task: m for m in history}
    newest = max(m.at for m in latest.values())
    current = [m for m in latest.values() if newest - m.at <= _RECENT_SECONDS]
    lags = [m.lag for m in current if m.lag is not None]
    return Figures(sum(m.records_per_second for m in current), sum(lags) if lags else None)


def series_of(history: Iterable[Measurement], step: float = 60.0) -> Series:
    """Return the sums of all tasks for each step of time in which one was measured.

    A task that was not measured in a step, but within `_RECENT_SECONDS` before, is included with its last figures.
    """
    steps: dict[float, list[Measurement]] = {}
    for m in history:
        steps.setdefault(m.at // step * step, []).append(m)
    latest: dict[int, Measurement] = {}
    rates, lags = [], []
    for start in sorted(steps):
        latest |= {m.task: m for m in steps[start]}
        current = [m for m in latest.values() if start - m.at <= _RECENT_SECONDS]
        rates.append((start, sum(m.records_per_second for m in current)))
        if known := [m.lag for m in current if m.lag is not None]:
            lags.append((start, float(sum(known))))
    return Series(tuple(rates), tuple(lags))
