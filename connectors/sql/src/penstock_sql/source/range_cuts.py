"""Size of the next batch of a table, and the end of each of its ranges."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy
from sqlalchemy import Connection, Select

from penstock import Limits
from penstock_sql.source.cursors import Place, Rows

__all__ = ["NextRows", "cut"]

_SAMPLE: Final = 20
"""Number of rows from which the size of a row is estimated."""
_WORTH_A_RANGE: Final = 2_000
"""Minimum number of rows of a range, if there are several."""
_NUMBER: Final = "penstock_number"
_TOTAL: Final = "penstock_total"


class NextRows(NamedTuple):
    """Rows that fit into a batch.

    Attributes:
        keys: the keys of the last row of each range.
        number: the number of rows.
        are_all: whether there were no other rows.
    """

    keys: Sequence[Sequence[Any]]
    number: int
    are_all: bool


def cut(
    connection: Connection,
    rows: Rows,
    start: Place,
    limits: Limits,
    next_rows: Callable[[int], Select[Any]],
    ranges: int = 1,
) -> NextRows:
    """Choose how many of the next rows a batch takes, and divide them into ranges.

    Args:
        connection: a connection in a transaction.
        rows: the rows of the table or query.
        start: the place after which the batch begins.
        limits: limits of the batch.
        next_rows: given n, returns a query for the keys of at most n rows after `start`, in order.
        ranges: the maximum number of ranges.
    """
    sample = min(_SAMPLE, limits.records)
    few: list[Sequence[Any]] = list(connection.execute(next_rows(sample)))
    if len(few) < sample:
        return NextRows(few[-1:], len(few), are_all=True)
    sample_rows = rows.between(start, rows.place(few[-1]))
    row_bytes = rows.dialect.row_bytes(connection, rows.all(), sample_rows)
    most = max(1, min(limits.records, limits.bytes // row_bytes))
    if most <= sample:
        return NextRows([few[most - 1]], most, are_all=False)
    ends = connection.execute(_bounds(next_rows(most), ranges)).all()
    number = ends[-1][0] if ends else 0  # rows may have been deleted since the sample
    return NextRows([row[1:] for row in ends], number, are_all=number < most)


def _bounds(rows: Select[Any], ranges: int) -> Select[Any]:
    """Return a query of the last row of each range, in order: its number within the batch, and its keys."""
    each = rows.subquery()
    keys = list(each.c)
    if ranges == 1:
        number = sqlalchemy.func.count().over()
        return sqlalchemy.select(number, *keys).order_by(*(key.desc() for key in keys)).limit(1)
    number, total = sqlalchemy.func.row_number().over(order_by=keys), sqlalchemy.func.count().over()
    counted = sqlalchemy.select(number.label(_NUMBER), *keys, total.label(_TOTAL)).subquery()
    nr, of = counted.c[_NUMBER], counted.c[_TOTAL]
    worth = sqlalchemy.case((of >= ranges * _WORTH_A_RANGE, ranges), else_=of // _WORTH_A_RANGE)
    bounds = (nr == of) | (nr * worth // of > (nr - 1) * worth // of)
    return sqlalchemy.select(nr, *(counted.c[key.name] for key in keys)).where(bounds).order_by(nr)
