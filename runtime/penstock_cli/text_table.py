"""Plain text tables, as kubectl prints them. Pure."""

from collections.abc import Sequence

__all__ = ["text_table"]


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines of aligned columns, the header first."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)
