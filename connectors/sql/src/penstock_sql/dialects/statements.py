"""Execution of SQL statements, and quoting of names in them."""

from typing import Any

from sqlalchemy import Connection, Select

from penstock import DataError
from penstock_sql.dialects.base import dialect_of
from penstock_sql.names import TableName

__all__ = ["checked", "compiled", "driver", "quoted", "run"]


def driver(connection: Connection) -> Any:
    """Return the driver's connection that a SQLAlchemy connection uses, in the same transaction."""
    return connection.connection.driver_connection


def run(connection: Connection, statement: str) -> int:
    """Execute a statement verbatim, without parameters, and return how many rows it changed."""
    return dialect_of(connection).run(connection, statement)


def compiled(connection: Connection, statement: Select[Any]) -> tuple[str, Any]:
    """Return the text and the parameters of a SQLAlchemy statement, for the driver's cursor."""
    found = statement.compile(dialect=connection.dialect)
    names = getattr(found, "positiontup", None)
    return str(found), found.params if names is None else [found.params[name] for name in names]


def quoted(connection: Connection, name: TableName | str) -> str:
    """Return a name quoted for statements, with the quotation marks in it escaped.

    Raises: as `checked`.
    """
    if isinstance(name, TableName):
        return ".".join(quoted(connection, part) for part in name if part is not None)
    mark = dialect_of(connection).quote
    return mark + checked(connection, name).replace(mark, mark * 2) + mark


def checked(connection: Connection, name: str) -> str:
    """Return the name if the database accepts it unchanged.

    Raises:
        DataError: the database would truncate or refuse it. A truncated name could be equal to another one.
    """
    problem = dialect_of(connection).name_problem(connection, name)
    if problem is not None:
        raise DataError(f"cannot use the name {name!r}: it {problem}; rename the topic or field")
    return name
