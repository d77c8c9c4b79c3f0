"""Positions of a source in a table, and queries of the rows between two positions. Pure, except SQLAlchemy's expressions.

`streams.py` runs the queries, and computes the time `before`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

import sqlalchemy
from sqlalchemy import ColumnElement, FromClause, Select, and_, func, or_, tuple_
from sqlalchemy.sql.elements import quoted_name

from penstock import ConnectError, Offset
from penstock_sql.dialects.base import Dialect
from penstock_sql.names import TableName
from penstock_sql.source.config import SqlSourceConfig

__all__ = ["Place", "Rows", "offset_of", "place_of"]

_MOMENT_0: Final = datetime(1970, 1, 1, tzinfo=UTC)
_END: Final = 2**63
"""Exclusive upper bound of numbers in offsets, as in Kafka Connect."""


class Place(NamedTuple):
    """Position of a row, by the columns of the mode.

    Attributes:
        moment: microseconds since 1970, for a column without a zone as if it were UTC; None if the mode has no timestamp.
        number: value of the incrementing column; None if the mode has none.
    """

    moment: int | None = None
    number: int | None = None

    @property
    def is_set(self) -> bool:
        """Return whether any row was read."""
        return self != (None, None)


def place_of(offset: Mapping[str, Any] | None) -> Place:
    """Parse an offset in the form of Confluent's JDBC source.

    Raises:
        ConnectError: it has another form.
    """
    if not offset:
        return Place()
    try:
        if unknown := set(offset) - {"timestamp", "timestamp_nanos", "incrementing", "polled"}:
            raise ValueError(unknown)
        millis, nanos, number = (offset.get(name) for name in ("timestamp", "timestamp_nanos", "incrementing"))
        moment = None if millis is None else int(millis) // 1000 * 1_000_000 + _micros(int(millis), nanos)
        _moment(moment or 0)
        if number is not None and not -_END <= int(number) < _END:
            raise ValueError(number)
        return Place(moment, None if number is None else int(number))
    except OverflowError:
        raise ConnectError(
            f"cannot continue from offset {dict(offset)}: its timestamp is outside the years 1 to 9999; alter the offset to "
            "a time within them, or reset it"
        ) from None
    except (TypeError, ValueError):
        raise ConnectError(
            f"cannot use offset {dict(offset)}: it is not an offset of this connector, which consists of 64-bit integers: "
            "incrementing, timestamp (milliseconds) and timestamp_nanos; alter or reset it"
        ) from None


def _moment(micros: int) -> datetime:
    return _MOMENT_0 + timedelta(microseconds=micros)


def _micros(millis: int, nanos: Any) -> int:
    return millis % 1000 * 1000 if nanos is None else int(nanos) // 1000


def offset_of(place: Place) -> Offset:
    """Return the offset that `place_of` parses."""
    offset: dict[str, Any] = {}
    if place.moment is not None:
        offset |= {"timestamp": place.moment // 1000, "timestamp_nanos": place.moment % 1_000_000 * 1000}
    if place.number is not None:
        offset["incrementing"] = place.number
    return offset


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table or a query, in the order in which they are read.

    Attributes:
        of: the table, or the text of a query.
        config: the configuration, which names the columns.
        zoned: whether the timestamps have a zone.
        dialect: the dialect of the database.
    """

    of: TableName | str
    config: SqlSourceConfig
    dialect: Dialect
    zoned: bool = True

    @property
    def source(self) -> FromClause:
        """Table or subquery of the FROM clause."""
        if isinstance(self.of, str):
            return sqlalchemy.text(self.of.replace(":", "\\:") + "\n").columns().subquery("q")
        schema = None if self.of.schema is None else quoted_name(self.of.schema, True)
        return sqlalchemy.table(quoted_name(self.of.name, True), schema=schema)

    @property
    def moment(self) -> ColumnElement[Any]:
        """Effective timestamp: the first timestamp column that is not null."""
        columns = [_column(name) for name in self.config.timestamp_columns]
        return columns[0] if len(columns) == 1 else func.coalesce(*columns)

    @property
    def keys(self) -> list[ColumnElement[Any]]:
        """Columns of the ORDER BY clause."""
        number = [_column(self.config.incrementing_column or "")] if self.config.by_number else []
        return [*([self.moment] if self.config.by_timestamp else []), *number]

    @property
    def _place_keys(self) -> list[ColumnElement[Any]]:
        """Keys in the form that `Place` represents.

        A place can represent neither `-infinity` nor years before 1. Rows with such timestamps get a later timestamp in the
        year 1, and are read together with all rows up to it.
        """
        if not self.config.by_timestamp:
            return self.keys
        moment, *number = self.keys
        first: ColumnElement[Any] = sqlalchemy.literal_column(self.dialect.first_moment)
        return [func.greatest(moment, first).label("penstock_moment"), *number]

    def described(self) -> Select[Any]:
        """Return a query without rows, for the types of the keys."""
        return sqlalchemy.select(*self.keys).select_from(self.source).limit(0)

    def all(self) -> Select[Any]:
        """Return a query of all columns of all rows."""
        return sqlalchemy.select(sqlalchemy.literal_column("*")).select_from(self.source)

    def between(self, start: Place, end: Place) -> Select[Any]:
        """Return a query of the rows after `start`, up to and including `end`, in order."""
        rows = self.all().where(self._up_to(end))
        return self._after(rows, start).order_by(*self.keys)

    def next(
        self, start: Place, count: int, *, before: datetime | None = None, last: Place | None = None
    ) -> Select[Any]:
        """Return a query of the keys of the next rows after a place, in order.

        Args:
            start: the place.
            count: the maximum number of rows.
            before: exclude rows with this timestamp or a later one.
            last: exclude rows after this place.
        """
        rows = self._after(sqlalchemy.select(*self._place_keys).select_from(self.source), start)
        if before is not None:
            rows = rows.where(
                self.moment
                < sqlalchemy.literal(before if self.zoned else before.astimezone(self.config.zone).replace(tzinfo=None))
            )
        if last is not None:
            rows = rows.where(self._up_to(last))
        return rows.order_by(*self.keys).limit(count)

    def is_any(self, start: Place) -> Select[Any]:
        """Return a query of one constant row if there are any rows after a place."""
        rows = self._after(sqlalchemy.select(sqlalchemy.literal_column("1")).select_from(self.source), start)
        return rows.order_by(*self.keys).limit(1)  # in order, so that the index is used

    def _after(self, rows: Select[Any], start: Place) -> Select[Any]:
        rows = rows.where(*(key.is_not(None) for key in self.keys))
        if not start.is_set:
            return rows
        keys, values = self.keys, self._values(start)
        if not self.dialect.compares_rows and len(keys) == 2:
            return rows.where(keys[0] >= values[0], or_(keys[0] > values[0], keys[1] > values[1]))
        return rows.where(_key(keys) > _key(values))

    def _up_to(self, end: Place) -> ColumnElement[bool]:
        keys, values = self.keys, self._values(end)
        if not self.dialect.compares_rows and len(keys) == 2:
            return and_(keys[0] <= values[0], or_(keys[0] < values[0], keys[1] <= values[1]))
        compared: ColumnElement[bool] = _key(keys) <= _key(values)
        return compared

    def _values(self, place: Place) -> list[ColumnElement[Any]]:
        values: list[Any] = []
        if self.config.by_timestamp:
            moment = _moment(place.moment or 0)
            values.append(moment if self.zoned else moment.replace(tzinfo=None))
        if self.config.by_number:
            values.append(-(2**63) if place.number is None else place.number)
        return [sqlalchemy.literal(value) for value in values]

    def place(self, row: Any) -> Place:
        """Return the place of a row of `next`.

        Raises:
            ConnectError: a key column has an unsuitable type or value.
        """
        values = list(row)
        moment = None
        name = "the query" if isinstance(self.of, str) else self.of
        if self.config.by_timestamp:
            at = values.pop(0)
            if not isinstance(at, datetime):
                raise ConnectError(
                    f"cannot find new rows: {', '.join(self.config.timestamp_columns)} of {name} is not a timestamp; "
                    "correct timestamp.column.name"
                )
            moment = (at.replace(tzinfo=UTC) if at.tzinfo is None else at) - _MOMENT_0
        number = values.pop(0) if self.config.by_number else None
        if number is not None and not _is_whole(number):
            raise ConnectError(
                f"cannot find new rows: {self.config.incrementing_column} of {name} must hold whole numbers; correct the "
                "rows, or incrementing.column.name"
            )
        if number is not None and not -_END <= number < _END:
            raise ConnectError(
                f"cannot read further rows: {self.config.incrementing_column} of {name} holds a number outside of 64 bits, "
                "which Kafka Connect's offsets cannot represent; find new rows by another column, or by a timestamp"
            )
        return Place(
            None if moment is None else moment // timedelta(microseconds=1), None if number is None else int(number)
        )


def _is_whole(number: Any) -> bool:
    return isinstance(number, int) or (isinstance(number, Decimal) and number.is_finite() and number == int(number))


def _column(name: str) -> ColumnElement[Any]:
    return sqlalchemy.column(quoted_name(name, True))


def _key(keys: list[ColumnElement[Any]]) -> Any:
    return keys[0] if len(keys) == 1 else tuple_(*keys)
