"""Column types of SQLite. Pure."""

from typing import Any

from sqlalchemy import types as sql

__all__ = ["column_type"]


def column_type(generic: Any) -> Any:
    """Return the type of a new column for SQLAlchemy's generic type."""
    if isinstance(generic, sql.ARRAY):
        return sql.JSON()
    return sql.Numeric() if type(generic) is sql.Numeric else generic
