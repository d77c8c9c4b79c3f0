"""The table of intended differences, read from the page that tells users of them.

A row names its cases by their ids, or by a rule: a function of `rules` over the case, so that other cases with the same
feature are covered too. A case that is named must fail, and every row must name one of our own cases.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from . import rules
from .case_files import Case

__all__ = ["PAGE", "Row", "read", "row_of", "rows"]

PAGE: Final = Path(__file__).parents[2] / "docs" / "differences.md"
_HEADING: Final = "## Conformance cases with different results"
_LINE: Final = re.compile(r"\|(?P<cases>[^|]+)\|(?P<here>[^|]+)\|(?P<why>[^|]+)\|")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table.

    Attributes:
        key: its first column: ids of cases, or the name of a rule.
        here: what a user sees.
        why: why Kafka Connect's answer would harm them.
    """

    key: str
    here: str
    why: str

    def names(self, case: Case) -> bool:
        """Whether the row is about this case."""
        names = re.findall(r"`([^`]+)`", self.key)
        found = [rules.RULES[name] for name in names if name in rules.RULES]
        given = rules.as_texts(case)
        return case["id"] in names or any(rule(given) for rule in found)


def read(text: str) -> list[Row]:
    """The rows of the table in a page.

    Raises:
        ValueError: there is no such table, or a line of it is no row.
    """
    _, heading, rest = text.partition(f"{_HEADING}\n")
    lines = [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("|")][2:]
    if not heading or not lines:
        raise ValueError(f"{PAGE} has no table under {_HEADING!r}")
    found = []
    for line in lines:
        match = _LINE.fullmatch(line.strip())
        if match is None or not all(cell.strip() for cell in match.groups()):
            raise ValueError(f"no row of three cells: {line}")
        found.append(Row(*(cell.strip() for cell in match.groups())))
    return found


@cache
def rows() -> Sequence[Row]:
    """The rows of our page."""
    return read(PAGE.read_text("utf-8"))


def row_of(case: Case) -> Row | None:
    """The row that names this case, if there is one."""
    return next((row for row in rows() if row.names(case)), None)
