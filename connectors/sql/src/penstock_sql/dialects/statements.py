"""Statements that are put together from names."""

from typing import Any

from sqlalchemy import Connection, Select

from penstock import DataError
from penstock_sql.dialects.base import dialect_of
from penstock_sql.names import TableName

__all__ = ["checked", "compiled", "driver", "quoted", "run"]


def driver(connection: Connection) -> Any:
    """Return the driver's own connection under one of SQLAlchemy, in the same transaction."""
    return connection.connection.driver_connection


def run(connection: Connection, statement: str) -> int:
    """Carry out a statement as it is, without parameters, and return how many rows it changed."""
    return dialect_of(connection).run(connection, statement)


def compiled(connection: Connection, statement: Select[Any]) -> tuple[str, Any]:
    """Return a statement of SQLAlchemy and its parameters, as the driver's cursor takes them."""
    found = statement.compile(dialect=connection.dialect)
    names = getattr(found, "positiontup", None)
    return str(found), found.params if names is None else [found.params[name] for name in names]


def quoted(connection: Connection, name: TableName | str) -> str:
    """Return a name as statements have it, whatever is in it.

    Raises: as `checked`.
    """
    if isinstance(name, TableName):
        return ".".join(quoted(connection, part) for part in name if part is not None)
    mark = dialect_of(connection).quote
    return mark + checked(connection, name).replace(mark, mark * 2) + mark


def checked(connection: Connection, name: str) -> str:
    """Return the name, if the database takes it as it is.

    Raises:
        DataError: it would be cut, so that two names become one.
    """
    problem = dialect_of(connection).name_problem(connection, name)
    if problem is not None:
        raise DataError(f"The name {name!r} {problem}; the database cannot have it")
    return name
