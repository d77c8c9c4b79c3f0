"""Columns of tables, read with SQLAlchemy's inspector."""

import sqlalchemy
from sqlalchemy import Connection
from sqlalchemy.exc import NoSuchTableError

from penstock_sql.dialects.base import Columns
from penstock_sql.names import TableName

__all__ = ["columns"]


def columns(connection: Connection, table: TableName) -> Columns | None:
    """Return the columns of a table, or None if it does not exist or is not visible to this user."""
    try:
        inspector = sqlalchemy.inspect(connection)
        found = inspector.get_columns(table.name, schema=table.schema)
        key = inspector.get_pk_constraint(table.name, schema=table.schema)["constrained_columns"]
    except NoSuchTableError:
        return None
    required = frozenset(column["name"] for column in found if not column["nullable"] or column["name"] in key)
    return Columns({column["name"]: column["type"] for column in found}, required)
