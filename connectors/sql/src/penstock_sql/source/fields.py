"""Rows as records: the schema that the columns of a result have, and their values in Kafka Connect's types."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import psycopg
from psycopg.types.string import TextLoader
from sqlalchemy import types as sql

from penstock import DataError, Instant, Schema
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    struct,
)
from penstock_sql.moments import clock, day, local_moment, moment

__all__ = ["Reader", "field_of_postgresql", "field_of_sqlite", "rows_schema", "texts_of"]

Reader = Callable[[Any], Any]
"""What a value of the driver, never None, becomes. Raises DataError."""

Column = tuple[Schema, Reader | None]

_MOST_DIGITS: Final = 18


def _time(text: str) -> Instant:
    found = clock(text)
    if found is None:
        raise DataError("a time is not written as PostgreSQL writes it; read the column as a text by a query")
    return found


_PLAIN: Final[Mapping[int, Column]] = {
    16: (BOOLEAN, None),
    17: (BYTES, bytes),
    20: (INT64, None),
    21: (INT16, None),
    23: (INT32, None),
    25: (STRING, None),
    26: (INT64, None),
    700: (FLOAT32, None),
    701: (FLOAT64, None),
    1042: (STRING, None),
    1043: (STRING, None),
    1082: (DATE, day),
    1083: (TIME, _time),
    1184: (TIMESTAMP, moment),
}
"""By PostgreSQL's numbers of types. All others come as texts, as PostgreSQL writes them."""
_NUMERIC: Final = 1700
_TIMESTAMP: Final = 1114
_MOMENTS: Final = (1082, 1083, _TIMESTAMP, 1184)
"""Texts too: the driver's own way refuses what `datetime` does not have, and is no faster."""


def texts_of(cursor: psycopg.Cursor[Any]) -> None:
    """Let values of types that records have as texts come as they are written, and moments and days too."""
    for info in cursor.adapters.types:
        if info.oid in _MOMENTS:
            cursor.adapters.register_loader(info.oid, TextLoader)
        elif info.oid not in _PLAIN and info.oid != _NUMERIC:
            cursor.adapters.register_loader(info.oid, TextLoader)
            if info.array_oid:
                cursor.adapters.register_loader(info.array_oid, TextLoader)


def field_of_postgresql(column: Any, cursor: psycopg.Cursor[Any], zone: ZoneInfo, *, best_fit: bool) -> Column:
    """The schema of a column of a result, required, and how its values are read.

    Args:
        column: of the cursor's description.
        cursor: knows which types are arrays.
        zone: of timestamps without one.
        best_fit: `numeric.mapping`.
    """
    oid = column.type_code
    info = cursor.adapters.types.get(oid)
    plain = {**_PLAIN, _TIMESTAMP: (TIMESTAMP, local_moment(zone))}
    if info is not None and info.array_oid == oid and (info.oid in plain or info.oid == _NUMERIC):
        items, read = (STRING, str) if info.oid == _NUMERIC else plain[info.oid]
        return array_of(items.as_optional()), lambda value: _items(value, read)
    if oid == _NUMERIC:
        return _numeric(column.precision, column.scale, best_fit=best_fit)
    return plain.get(oid, (STRING, None))


def _items(value: Any, read: Reader | None) -> Any:
    if any(isinstance(item, list) for item in value):
        raise DataError("an array of several dimensions has no schema; read it as a text by a query")
    return [item if item is None or read is None else read(item) for item in value]


def _numeric(precision: int | None, scale: int | None, *, best_fit: bool) -> Column:
    if precision is None or scale is None:
        return STRING, str
    if best_fit and precision <= _MOST_DIGITS and scale <= 0:
        return INT64, int
    if best_fit and precision <= _MOST_DIGITS:
        return FLOAT64, float
    return decimal(max(scale, 0)), _finite


def _finite(value: Decimal) -> Decimal:
    if not value.is_finite():
        raise DataError(f"{value} is no number that a Decimal can be; read the column as a text by a query")
    return value


def field_of_sqlite(declared: Any) -> Column:
    """The same by the declared type of a column: SQLite itself has texts, numbers and bytes alone."""
    if isinstance(declared, sql.Boolean):
        return BOOLEAN, bool
    if isinstance(declared, sql.Integer):
        return INT64, _whole
    if isinstance(declared, (sql.Float, sql.REAL)):
        return FLOAT64, _real
    if isinstance(declared, sql._Binary):  # noqa: SLF001 (the base of all binary types, which has no other name)
        return BYTES, lambda value: value if isinstance(value, bytes) else str(value).encode()
    return STRING, _string


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise DataError(f"a column of whole numbers holds a value of type {type(value).__name__}")
    return value


def _real(value: Any) -> float:
    if not isinstance(value, (int, float)):
        raise DataError(f"a column of numbers holds a value of type {type(value).__name__}")
    return float(value)


def _string(value: Any) -> str:
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        raise DataError("a column of texts holds bytes that are not UTF-8; declare it as BLOB") from None


def rows_schema(name: str, fields: Mapping[str, Schema], required: frozenset[str]) -> Schema:
    """The struct of rows. Fields are optional but for those that are never null.

    Raises:
        SchemaBuilderError: a column has no name.
    """
    return struct({n: of if n in required else of.as_optional() for n, of in fields.items()}, name=name)
