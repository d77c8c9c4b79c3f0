"""Comparison of a table with its copy, row by row. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Comparison", "Row", "compare"]

Row = tuple[Any, ...]
"""Row of a table; the first value is its primary key."""


@dataclass(frozen=True)
class Comparison:
    """Differences between a copy and its table, as numbers of rows.

    Attributes:
        missing: rows whose key the copy lacks.
        duplicated: duplicate rows of the copy with a key of the table.
        outdated: rows whose key the copy has, with other values.
        unknown: rows of the copy whose key the table lacks.
    """

    missing: int = 0
    duplicated: int = 0
    outdated: int = 0
    unknown: int = 0

    def __str__(self) -> str:
        wrong = f"{self.outdated} not up to date, {self.unknown} unknown"
        return f"{self.missing} missing, {self.duplicated} duplicated, {wrong}"


def compare(table: Sequence[Row], copy: Sequence[Row]) -> Comparison:
    """Compare a copy with its table. An empty Comparison means that they are equal."""
    rows = {row[0]: row for row in table}
    copies = [row for row in copy if row[0] in rows]
    unknown = sum(row[0] not in rows for row in copy)
    found = {row[0] for row in copies}
    outdated = {row[0] for row in copies if row != rows[row[0]]}
    return Comparison(len(rows) - len(found), len(copies) - len(found), len(outdated), unknown)
