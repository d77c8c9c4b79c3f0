"""Plain text tables, as kubectl prints them. Pure."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["printable", "text_table"]

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal would interpret, and surrogates, which UTF-8 cannot encode."""


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines of aligned columns, the header first."""
    rows = [[_escaped(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def printable(text: str) -> str:
    """Return the text with its control characters escaped, except for line ends."""
    return "\n".join(_escaped(line) for line in text.split("\n"))


def _escaped(text: str) -> str:
    return _CONTROL.sub(lambda m: m[0].encode("unicode_escape").decode(), text)
