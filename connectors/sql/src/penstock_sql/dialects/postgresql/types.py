"""Column types of PostgreSQL. Pure."""

from typing import Any

from sqlalchemy import types as sql
from sqlalchemy.dialects import postgresql

from penstock_sql.dialects.kinds import Array, Bits, ColumnKind, Kind, kind_of

__all__ = ["column_type", "kind_of_column"]


def column_type(generic: Any) -> Any:
    """Return the type of a new column for SQLAlchemy's generic type."""
    if isinstance(generic, sql.ARRAY):
        return postgresql.ARRAY(column_type(generic.item_type))
    if isinstance(generic, sql.JSON):
        return postgresql.JSONB()
    return sql.Numeric() if type(generic) is sql.Numeric else generic  # holds numbers of any precision and scale


def kind_of_column(column: Any) -> ColumnKind:
    """Return the kind of a column, which determines how values are written, by its type in SQLAlchemy."""
    if isinstance(column, sql.ARRAY):
        return Array(kind_of_column(column.item_type))
    if isinstance(column, postgresql.BIT):
        return Bits(None if column.varying else column.length or 1)
    if isinstance(column, postgresql.DOMAIN):
        return kind_of_column(column.data_type)
    return Kind.HSTORE if isinstance(column, postgresql.HSTORE) else kind_of(column)
