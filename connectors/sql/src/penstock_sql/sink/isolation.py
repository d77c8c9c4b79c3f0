"""Isolation of rows that the database refuses, by writing smaller and smaller pieces of a batch."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection

from penstock import DataError
from penstock_sql.dialects.base import Dialect, Place, Row, Write
from penstock_sql.failures import FOREIGN, Meaning, may_be_of_a_row, meaning, words_of_row
from penstock_sql.sink.rows import Refused
from penstock_sql.sink.tables import Tables

__all__ = ["Isolation"]


class Isolation:
    """Writer that isolates the rows that the database refuses.

    Args:
        dialect: the dialect of the database.
        tables: the descriptions of the tables.
        mode: `insert.mode`.
    """

    def __init__(self, dialect: Dialect, tables: Tables, mode: str) -> None:
        self._dialect = dialect
        self._tables = tables
        self._mode = mode

    def put(self, connection: Connection, write: Write, refused: list[Refused], *, whole: bool) -> int:
        """Write rows to their table, and return how many were written.

        With `whole`, an error is raised if a row is refused; otherwise the other rows are written.
        """
        dialect, mode, form = self._dialect, self._mode, self._tables.form(write.table)
        dialect.prepare(connection, write, mode, form)

        def put(rows: list[tuple[Any, ...]]) -> None:
            dialect.put(connection, write, rows, mode, form)

        if not whole:  # write all rows, since the last one of a key may be refused
            return len(self.taken(connection, write, write.rows, put, refused))
        rows = write.last_rows() if mode != "insert" or write.delete else write.rows
        put([row for _, row in rows])
        return len(rows)

    def put_by_rows(self, connection: Connection, writes: Sequence[Write], refused: list[Refused]) -> int:
        """Write the rows that the database accepts, and return how many.

        A deferred constraint may make a row depend on a later one. All rows are therefore written before the constraints are
        checked. Rows that violate one are omitted, and the others are written again, since they may depend on the omitted
        rows, or may have conflicted with them.
        """
        left = [write for write in writes if write.rows]
        for write in left:  # outside of the savepoints, whose rollback would drop the temporary table
            self._dialect.prepare(connection, write, self._mode, self._tables.form(write.table))
        while True:
            refused_now: list[Refused] = []
            with connection.begin_nested() as attempt:
                put = sum(self.put(connection, write, refused_now, whole=False) for write in left)
                gone = self._refused_at_the_end(connection, left)
                if gone is not None:
                    attempt.rollback()
            if gone is None:
                refused += refused_now
                return put
            if not gone:
                return self._put_in_pieces(connection, left, refused)
            refused += gone
            places = {place for place, _ in gone}
            for write in left:
                write.rows = [row for row in write.rows if row[0] not in places]

    def _put_in_pieces(self, connection: Connection, writes: Sequence[Write], refused: list[Refused]) -> int:
        """Write rows in pieces, since some violate a deferred constraint, and it is not known which.

        Each piece is as long as the database accepts: rows that depend on each other, such as an order and its lines, are
        mostly adjacent.
        """
        rows = sorted(((row, write) for write in writes for row in write.rows), key=lambda each: each[0][0])
        put, at, longest = 0, 0, len(rows)
        while at < len(rows):
            for size in _halved(min(longest, len(rows) - at)):
                refused_now: list[Refused] = []
                with connection.begin_nested() as attempt:
                    piece = _in_order(rows[at : at + size])
                    taken = sum(self.put(connection, write, refused_now, whole=False) for write in piece)
                    error = self._refused_end(connection)
                    if error is not None:
                        attempt.rollback()
                if error is None:
                    put += taken
                    refused += refused_now
                    longest = max(_LONG, 2 * size)
                    break
            else:
                assert error is not None
                row, write = rows[at]
                refused.append(self._refusal(connection, write, row, error))
                longest = max(_SHORT, longest // 2)
            at += size
        return put

    def _refused_end(self, connection: Connection) -> BaseException | None:
        """Check deferred constraints, and return the error of a violation, or None."""
        try:
            with connection.begin_nested():
                self._dialect.check(connection)
        except FOREIGN as e:
            if not may_be_of_a_row(e):
                raise
            return e
        return None

    def _refused_at_the_end(self, connection: Connection, writes: Sequence[Write]) -> list[Refused] | None:
        """Return the rows that violate a deferred constraint.

        Returns:
            None if no constraint is violated; an empty list if it is not known which rows violate one.
        """
        error = self._refused_end(connection)
        if error is None:
            return None
        places: set[Place] = set()
        with suppress(*FOREIGN), connection.begin_nested():
            places = self._dialect.violators(connection, writes, self._mode, self._tables.form, error)
        found = ((write, row) for write in writes for row in write.rows if row[0] in places)
        return [self._refusal(connection, write, row, error) for write, row in found]

    def _refusal(self, connection: Connection, write: Write, row: Row, error: BaseException) -> Refused:
        place, values = row
        why = self._dialect.raised_text(connection, error) or words_of_row(error, write.columns, values)
        return Refused(place, DataError(f"cannot write the row to table {write.table}: {why}"))

    def taken(
        self,
        connection: Connection,
        write: Write,
        rows: Sequence[Row],
        give: Callable[[list[tuple[Any, ...]]], Any],
        refused: list[Refused],
    ) -> list[Row]:
        """Pass rows to the database, halving them until each refused row is isolated; return the accepted rows.

        An error that also occurs without rows is not caused by a row, and is raised.
        """
        try:
            with connection.begin_nested():
                give([row for _, row in rows])
        except FOREIGN as e:
            if not may_be_of_a_row(e):
                raise
            if meaning(e) is not Meaning.DATA:
                with connection.begin_nested():
                    give([])
            if len(rows) > 1:
                half = len(rows) // 2
                first = self.taken(connection, write, rows[:half], give, refused)
                return first + self.taken(connection, write, rows[half:], give, refused)
            if self._is_changed(connection, write, rows[0]):
                return list(rows)
            refused.append(self._refusal(connection, write, rows[0], e))
            return []
        return list(rows)

    def _is_changed(self, connection: Connection, write: Write, row: Row) -> bool:
        """Return whether the row of a refused upsert exists; if so, update it.

        The database checks a record that lacks columns as a new row first, which may violate constraints that the updated
        row does not violate.
        """
        table, dialect = write.table, self._dialect
        lacking = set(self._tables.kinds(table)) > set(write.columns)
        found = 0
        if self._mode == "upsert" and not write.delete and lacking:
            with suppress(*FOREIGN), connection.begin_nested():
                dialect.prepare(connection, write, "update", self._tables.form(table))
                found = dialect.put(connection, write, [row[1]], "update", self._tables.form(table))
        return found > 0


_LONG: Final = 64
"""Minimum size of the next piece after rows were accepted."""
_SHORT: Final = 8
"""Minimum size of the next piece after rows were refused. Below it, each shorter size is tried."""


def _halved(size: int) -> Iterator[int]:
    """Yield the sizes of pieces to try."""
    while size > 0:
        yield size
        size = size // 2 if size > _SHORT else size - 1


def _in_order(rows: Sequence[tuple[Row, Write]]) -> list[Write]:
    """Combine rows into as few statements as possible without changing their order."""
    found: list[Write] = []
    for _, piece in groupby(rows, key=lambda each: id(each[1])):
        first, *others = piece
        found.append(replace(first[1], rows=[first[0], *(row for row, _ in others)]))
    return found
