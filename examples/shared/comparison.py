"""Whether one table is a copy of another one, row by row. Pure: rows in, counts out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Comparison", "Row", "compare"]

Row = tuple[Any, ...]
"""A row of a table; the first value is its primary key."""


@dataclass(frozen=True)
class Comparison:
    """How a copy differs from its table, in rows.

    Attributes:
        missing: whose key the copy lacks.
        doubled: those too many with a key of the table.
        outdated: whose key the copy has, with other values.
        unknown: those of the copy whose key the table lacks.
    """

    missing: int = 0
    doubled: int = 0
    outdated: int = 0
    unknown: int = 0

    def __str__(self) -> str:
        return f"{self.missing} missing, {self.doubled} doubled, {self.outdated} not up to date, {self.unknown} unknown"


def compare(table: Sequence[Row], copy: Sequence[Row]) -> Comparison:
    """Compare a copy with the table that it is of; an empty Comparison: they are the same."""
    rows = {row[0]: row for row in table}
    copies = [row for row in copy if row[0] in rows]
    unknown = sum(row[0] not in rows for row in copy)
    found = {row[0] for row in copies}
    outdated = {row[0] for row in copies if row != rows[row[0]]}
    return Comparison(len(rows) - len(found), len(copies) - len(found), len(outdated), unknown)
