"""Mapping of PostgreSQL rows to records: the schema and the reader of each result column."""

from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

import psycopg
from psycopg.types.string import TextLoader

from penstock import DataError, Instant
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
)
from penstock_sql.dialects.fields import Field, NumericMapping, Reader, numeric_field
from penstock_sql.moments import clock, day, local_moment, moment

__all__ = ["field_of", "texts_of"]


def _time(text: str) -> Instant:
    found = clock(text)
    if found is None:
        raise DataError("cannot parse a time: unknown format; read the column as text with a query")
    return found


_PLAIN: Final[Mapping[int, Field]] = {
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
"""Fields by PostgreSQL's type OIDs. Values of all other types are read as text, in PostgreSQL's format."""
_NUMERIC: Final = 1700
_TIMESTAMP: Final = 1114
_MOMENTS: Final = (1082, 1083, _TIMESTAMP, 1184)
"""Types read as text, since the driver's loader refuses values that `datetime` does not support, and is no faster."""


def texts_of(cursor: psycopg.Cursor[Any]) -> None:
    """Make a cursor return text for all types that records hold as text, and for timestamps, dates and times."""
    for info in cursor.adapters.types:
        if info.oid in _MOMENTS:
            cursor.adapters.register_loader(info.oid, TextLoader)
        elif info.oid not in _PLAIN and info.oid != _NUMERIC:
            cursor.adapters.register_loader(info.oid, TextLoader)
            if info.array_oid:
                cursor.adapters.register_loader(info.array_oid, TextLoader)


def field_of(column: Any, cursor: psycopg.Cursor[Any], zone: ZoneInfo, mapping: NumericMapping) -> Field:
    """Return the required field of a result column.

    Args:
        column: the column in the cursor's description.
        cursor: the cursor, which knows which types are arrays.
        zone: the zone of timestamps without a zone.
        mapping: the mapping of numbers.
    """
    oid = column.type_code
    info = cursor.adapters.types.get(oid)
    plain = {**_PLAIN, _TIMESTAMP: (TIMESTAMP, local_moment(zone))}
    if info is not None and info.array_oid == oid and (info.oid in plain or info.oid == _NUMERIC):
        items, read = (STRING, str) if info.oid == _NUMERIC else plain[info.oid]
        return array_of(items.as_optional()), lambda value: _items(value, read)
    if oid == _NUMERIC:
        if column.precision is None or column.scale is None:
            return STRING, str
        return numeric_field(mapping, column.precision, column.scale)
    return plain.get(oid, (STRING, None))


def _items(value: Any, read: Reader | None) -> Any:
    if any(isinstance(item, list) for item in value):
        raise DataError(
            "cannot read a multidimensional array: no schema represents it; read the column as text with a query"
        )
    return [item if item is None or read is None else read(item) for item in value]
