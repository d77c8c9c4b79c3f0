"""Figures against goals: medians of the runs, a table, and `build/bench.json`."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["AtLeast", "AtMost", "Measure", "NoMoreThan", "Share", "Times", "as_json", "as_table"]


@dataclass(frozen=True)
class Times:
    """At least so many times the peer's figure."""

    factor: float

    def met(self, ours: float, peer: float | None) -> bool:
        """Whether the goal is met."""
        return peer is not None and ours >= self.factor * peer

    def __str__(self) -> str:
        return f"at least {self.factor:g} times the peer's"


@dataclass(frozen=True)
class Share:
    """At most this share of the peer's figure."""

    parts: int

    def met(self, ours: float, peer: float | None) -> bool:
        """Whether the goal is met."""
        return peer is not None and ours * self.parts <= peer

    def __str__(self) -> str:
        return f"at most 1/{self.parts} of the peer's"


@dataclass(frozen=True)
class NoMoreThan:
    """At most so many times the peer's figure."""

    factor: float

    def met(self, ours: float, peer: float | None) -> bool:
        """Whether the goal is met."""
        return peer is not None and ours <= self.factor * peer

    def __str__(self) -> str:
        return f"at most {self.factor:g} times the peer's"


@dataclass(frozen=True)
class AtMost:
    """At most this figure."""

    limit: float

    def met(self, ours: float, peer: float | None) -> bool:
        """Whether the goal is met."""
        return ours <= self.limit

    def __str__(self) -> str:
        return f"at most {self.limit:g}"


@dataclass(frozen=True)
class AtLeast:
    """At least this figure."""

    limit: float

    def met(self, ours: float, peer: float | None) -> bool:
        """Whether the goal is met."""
        return ours >= self.limit

    def __str__(self) -> str:
        return f"at least {self.limit:,.0f}"


@dataclass(frozen=True)
class Measure:
    """One row: the figures of each run of either side; a measure without a goal is there to be known."""

    name: str
    unit: str
    runs: Sequence[float]
    peer_runs: Sequence[float]
    goal: Times | Share | NoMoreThan | AtMost | AtLeast | None = None

    @property
    def figure(self) -> float:
        """Our median."""
        return statistics.median(self.runs)

    @property
    def peer(self) -> float | None:
        """The peer's median."""
        return statistics.median(self.peer_runs) if self.peer_runs else None

    @property
    def ratio(self) -> float | None:
        """Ours to the peer's."""
        return self.figure / self.peer if self.peer else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        return None if self.goal is None else self.goal.met(self.figure, self.peer)


def as_json(measures: Sequence[Measure], about: dict[str, Any], details: Sequence[Any]) -> str:
    """What `build/bench.json` holds."""
    rows = [
        {
            "name": m.name,
            "figure": round(m.figure, 4),
            "unit": m.unit,
            "peer": _rounded(m.peer),
            "ratio": _rounded(m.ratio),
            "goal": None if m.goal is None else str(m.goal),
            "met": m.met,
            "runs": [round(r, 4) for r in m.runs],
            "peerRuns": [round(r, 4) for r in m.peer_runs],
        }
        for m in measures
    ]
    return json.dumps({**about, "measures": rows, "details": list(details)}, indent=2) + "\n"


def as_table(measures: Sequence[Measure]) -> str:
    """A Markdown table that is also readable as it is."""
    head = ("measure", "Penstock", "Kafka Connect", "unit", "ratio", "goal", "met")
    rows = [
        (
            m.name,
            _shown(m.figure),
            "" if m.peer is None else _shown(m.peer),
            m.unit,
            "" if m.ratio is None else f"{m.ratio:.2f}",
            "" if m.goal is None else str(m.goal),
            {None: "", True: "yes", False: "**no**"}[m.met],
        )
        for m in measures
    ]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    right = {1, 2, 4}

    def text(row: Sequence[str]) -> str:
        cells = (c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if i in right else "-") for i, w in enumerate(widths)) + "|"
    return "\n".join([text(head), rule, *map(text, rows)])


def write(path: Path, text: str) -> None:
    """Write a file whose folder may be missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)


def _shown(number: float) -> str:
    if number >= 1000:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"
