"""Headers that a transform makes from columns."""

from itertools import repeat

from penstock import Header, RecordBatch, Same, Schema
from penstock.fields import Column

__all__ = ["appended_headers", "header_column"]


def header_column(length: int, name: str, schema: Schema | None, column: Column) -> list[Header]:
    """Return a header for each value of the column."""
    if isinstance(column, Same):
        return [Header(name, column.value, schema)] * length
    # The same as `Header(...)` for each value, without its Python code.
    return list(map(tuple.__new__, repeat(Header), zip(repeat(name), column, repeat(schema), strict=False)))


def appended_headers(batch: RecordBatch, added: list[list[Header]]) -> list[tuple[Header, ...]]:
    """Return the headers of each record, followed by its headers from these columns."""
    rows = zip(*added, strict=True)
    if not batch.headers:
        return list(rows)
    return [old + new for old, new in zip(batch.headers, rows, strict=True)]
