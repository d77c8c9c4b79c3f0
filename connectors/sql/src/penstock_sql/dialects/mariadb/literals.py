"""SQL literals for MariaDB and MySQL. Pure.

Numbers other than integers are quoted, so that the server parses their exact digits by the type of the column.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

import pymysql

__all__ = ["chunks", "literal"]

_ESCAPES: Final = str.maketrans({"\0": "\\0", "\\": "\\\\", "'": "\\'"})


def _text(value: str) -> str:
    return f"'{value.translate(_ESCAPES)}'"


def _float(value: float) -> str:
    if not math.isfinite(value):
        raise pymysql.DataError(0, "the database supports neither infinity nor NaN")
    return f"'{value!r}'"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise pymysql.DataError(0, "the database supports neither infinity nor NaN")
    return f"'{value:f}'" if value.adjusted() < _LONG else f"'{value}'"


def _moment(value: datetime) -> str:
    local = value if value.tzinfo is None else value.astimezone(UTC)
    return f"'{local.replace(tzinfo=None).isoformat(' ', 'microseconds')}'"


def _iso(value: date | time) -> str:
    return f"'{value.isoformat()}'"


_LONG: Final = 1000
"""Decimal exponent from which scientific notation is used, since all digits of a number could exhaust the memory."""
_LITERALS: Final[Mapping[type[Any], Callable[[Any], str]]] = {
    type(None): lambda _: "NULL",
    bool: lambda value: "1" if value else "0",
    int: str,
    str: _text,
    float: _float,
    Decimal: _decimal,
    datetime: _moment,
    date: _iso,
    time: _iso,
    bytes: lambda value: f"X'{value.hex()}'",
}


def literal(value: Any) -> str:
    """Return the SQL literal of a value.

    Raises:
        pymysql.DataError: the database has no such value.
    """
    found = _LITERALS.get(type(value))
    if found is None:  # a subclass, such as Instant of int
        found = next((of for known, of in _LITERALS.items() if isinstance(value, known)), None)
    if found is None:
        raise pymysql.DataError(0, f"cannot write a value of type {type(value).__name__} in SQL")
    return str(int(value)) if found is str else found(value)


def chunks(rows: Iterable[Sequence[Any]], size: int, most: int) -> Iterator[bytes]:
    """Yield rows in the syntax that follows VALUES, in chunks for one statement each.

    Args:
        rows: the values.
        size: the maximum size of a chunk in bytes; a larger row is a separate chunk.
        most: the maximum size of a row in bytes.

    Raises:
        pymysql.DataError: a row is larger than `most`, or the database has no such value.
        UnicodeError: a string is not valid Unicode.
    """
    piece: list[bytes] = []
    length = 0
    for row in rows:
        text = f"({','.join(map(literal, row))})".encode()
        if len(text) > most:
            raise pymysql.DataError(
                0, f"the row takes {len(text)} bytes in a statement; increase max_allowed_packet of the server"
            )
        if piece and length + len(text) > size:
            yield b",".join(piece)
            piece, length = [], 0
        piece.append(text)
        length += len(text) + 1
    if piece:
        yield b",".join(piece)
