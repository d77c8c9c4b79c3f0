"""Mapping of MariaDB rows to records: the schema of each result column, and readers of the server's text values. Pure."""

import struct
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from pymysql.constants import FIELD_TYPE, FLAG

from penstock import DataError, Instant, Schema
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
)
from penstock_sql.dialects.fields import NumericMapping, numeric_field
from penstock_sql.moments import clock, day, local_moment

__all__ = ["MariadbField", "field_of_mariadb"]

_Column = tuple[Schema, Callable[[Any], Any] | None]

_BINARY: Final = 63
"""Character set number of binary data."""
_MOST_INT64: Final = 2**63 - 1


class MariadbField(NamedTuple):
    """Result column, as described by the server."""

    name: str
    type: int
    flags: int
    length: int
    scale: int
    charset: int

    @property
    def is_unsigned(self) -> bool:
        """Return whether the column is unsigned."""
        return bool(self.flags & FLAG.UNSIGNED)


_WHOLE: Final[Mapping[int, tuple[Schema, Schema]]] = {
    FIELD_TYPE.TINY: (INT8, INT16),
    FIELD_TYPE.SHORT: (INT16, INT32),
    FIELD_TYPE.INT24: (INT32, INT32),
    FIELD_TYPE.LONG: (INT32, INT64),
    FIELD_TYPE.YEAR: (INT32, INT32),
}
"""Schemas of signed and unsigned columns."""


def field_of_mariadb(field: MariadbField, zone: ZoneInfo, mapping: NumericMapping, *, required: bool) -> _Column:
    """Return the required schema of a result column, and the reader of the server's text values.

    Args:
        field: the column.
        zone: the zone of DATETIME values.
        mapping: the mapping of numbers.
        required: whether the column is never null, so that a zero date cannot become null.
    """
    kind = field.type
    if kind == FIELD_TYPE.TINY and field.length == 1:
        return BOOLEAN, _boolean
    if kind in _WHOLE:
        return _WHOLE[kind][field.is_unsigned], int
    if kind == FIELD_TYPE.LONGLONG:
        return INT64, _int64 if field.is_unsigned else int
    if kind in (FIELD_TYPE.NEWDECIMAL, FIELD_TYPE.DECIMAL):
        return numeric_field(mapping, field.length - (field.scale > 0) - (not field.is_unsigned), field.scale)
    match kind:
        case FIELD_TYPE.FLOAT:
            return FLOAT32, _single
        case FIELD_TYPE.DOUBLE:
            return FLOAT64, float
        case FIELD_TYPE.DATE | FIELD_TYPE.NEWDATE:
            return DATE, _or_zeros(day, required=required)
        case FIELD_TYPE.TIME:
            return TIME, _time
        case FIELD_TYPE.DATETIME:
            return TIMESTAMP, _or_zeros(local_moment(zone), required=required)
        case FIELD_TYPE.TIMESTAMP:
            return TIMESTAMP, _or_zeros(local_moment(UTC), required=required)
        case FIELD_TYPE.BIT:
            return (BOOLEAN, _bit) if field.length == 1 else (BYTES, None)
        case FIELD_TYPE.NULL:
            return STRING, None
        case _:  # texts and bytes of every kind
            return (BYTES if field.charset == _BINARY else STRING), None


def _boolean(text: str) -> bool:
    if text not in ("0", "1"):
        raise DataError(
            "TINYINT(1) is read as a boolean, but a value is neither 0 nor 1; change the column to TINYINT, or read it with "
            "a query that adds 0 to it"
        )
    return text == "1"


def _bit(value: bytes) -> bool:
    return value != b"\0"


def _int64(text: str) -> int:
    number = int(text)
    if number > _MOST_INT64:
        raise DataError(
            "a number of BIGINT UNSIGNED is greater than 9223372036854775807, the maximum of int64; use a query that "
            "reads the column as CAST(... AS DECIMAL(20))"
        )
    return number


def _single(text: str) -> float:
    """Return the shortest decimal number with the same float32 value, for a text with the digits of a float64."""
    value = float(text)
    short = float(f"{value:.6g}")
    return short if abs(short) < _MOST_SHORT and struct.pack("f", short) == struct.pack("f", value) else _longer(value)


_MOST_SHORT: Final = 3e38
"""Upper bound of shortened numbers: `struct` cannot pack a number that rounding moves out of the range of float32."""


def _longer(value: float) -> float:
    for digits in (7, 8):
        short = float(f"{value:.{digits}g}")
        if abs(short) < _MOST_SHORT and struct.pack("f", short) == struct.pack("f", value):
            return short
    return value


def _time(text: str) -> Instant:
    found = clock(text)
    if found is None:
        raise DataError(
            "a TIME is negative or longer than 24 hours, which Kafka Connect's Time cannot represent; use a query that "
            "reads the column as CAST(... AS CHAR)"
        )
    return found


def _or_zeros(read: Callable[[str], Instant], *, required: bool) -> Callable[[str], Instant | None]:
    """Return a reader of dates that returns null for a zero date if the column may be null."""

    def of(text: str) -> Instant | None:
        try:
            return read(text)
        except ValueError:
            if not required and text.startswith("0000-00-00"):
                return None
        raise DataError(
            "a date has a month or day of zero"
            + (", and the column is NOT NULL" if text.startswith("0000-00-00") else "")
            + "; correct it, or use a query that reads the column as CAST(... AS CHAR)"
        )

    return of
