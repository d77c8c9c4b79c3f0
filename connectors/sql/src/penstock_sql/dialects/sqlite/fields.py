"""Mapping of SQLite rows to records: the schema and the reader of each column, by its declared type. Pure."""

from typing import Any

from sqlalchemy import types as sql

from penstock import DataError
from penstock.schema import BOOLEAN, BYTES, FLOAT64, INT64, STRING
from penstock_sql.dialects.fields import Field

__all__ = ["field_of"]


def field_of(declared: Any) -> Field:
    """Return the field for a column, derived from its declared type, since SQLite stores only text, numbers and bytes."""
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
        raise DataError(
            f"an integer column holds a value of type {type(value).__name__}; correct it, or declare the column as TEXT"
        )
    return value


def _real(value: Any) -> float:
    if not isinstance(value, (int, float)):
        raise DataError(
            f"a numeric column holds a value of type {type(value).__name__}; correct it, or declare the column as TEXT"
        )
    return float(value)


def _string(value: Any) -> str:
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        raise DataError("a text column holds bytes that are not UTF-8; declare it as BLOB") from None
