"""Kinds of columns, which determine how values are written. Pure."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from sqlalchemy import types as sql

__all__ = ["Array", "Bits", "ColumnKind", "Kind", "kind_of"]


class Kind(Enum):
    """Kind of a column without further attributes."""

    INSTANT = auto()
    LOCAL_TIMESTAMP = auto()
    DATE = auto()
    TIME = auto()
    BYTES = auto()
    JSON = auto()
    HSTORE = auto()
    BIT_NUMBER = auto()
    TEXT = auto()
    BOOLEAN = auto()
    NUMBER = auto()
    WHOLE = auto()
    UTC_TIMESTAMP = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Bits:
    """Kind of a column of bits that are written as digits; `length` is None if it varies."""

    length: int | None


@dataclass(frozen=True, slots=True)
class Array:
    """Kind of an array column."""

    items: "ColumnKind"


ColumnKind = Kind | Bits | Array
"""Determines how a value is written into a column."""

_KINDS: Final[tuple[tuple[type[Any], Kind], ...]] = (
    (sql.JSON, Kind.JSON),
    (sql._Binary, Kind.BYTES),  # noqa: SLF001 (the base of all binary types, which has no other name)
    (sql.Date, Kind.DATE),
    (sql.Time, Kind.TIME),
    (sql.Boolean, Kind.BOOLEAN),
    (sql.Numeric, Kind.NUMBER),
    (sql.Float, Kind.NUMBER),
    (sql.Integer, Kind.NUMBER),
    (sql.Enum, Kind.OTHER),
    (sql.String, Kind.TEXT),
)


def kind_of(column: Any) -> ColumnKind:
    """Return the kind of a column, by its type in SQLAlchemy."""
    if isinstance(column, sql.DateTime):
        return Kind.INSTANT if getattr(column, "timezone", False) else Kind.LOCAL_TIMESTAMP
    return next((kind for of, kind in _KINDS if isinstance(column, of)), Kind.OTHER)
