"""Statements that are put together from names."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Select

from penstock import DataError
from penstock_sql.names import TableName

__all__ = ["at_once", "checked", "compiled", "driver", "form_of", "has_policies", "quoted", "run"]


def driver(connection: Connection) -> Any:
    """The driver's own connection under one of SQLAlchemy, in the same transaction."""
    return connection.connection.driver_connection


@contextmanager
def at_once(connection: Connection) -> Iterator[None]:
    """Each statement is a transaction of its own, without BEGIN and COMMIT around it. Only for PostgreSQL's driver."""
    own = driver(connection)
    own.autocommit = True
    try:
        with connection.begin():
            yield
    finally:
        if not own.closed:
            own.autocommit = False


def run(connection: Connection, statement: str) -> int:
    """Carry out a statement as it stands, without parameters, and return how many rows it changed."""
    if connection.dialect.name == "mysql":
        changed: int = driver(connection).query(statement)
        return changed
    count: int = driver(connection).execute(statement).rowcount
    return count


def form_of(connection: Connection, table: TableName) -> str:
    """The columns of a table with their types, and whether policies bind this user's rows, in a word.

    They stay so until the transaction ends.

    Raises: what the driver raises, if there is no such table.
    """
    if connection.dialect.name != "postgresql":
        return ""
    name = quoted(connection, table)
    run(connection, f"LOCK TABLE {name} IN ROW EXCLUSIVE MODE")
    found = driver(connection).execute(_FORM, {"table": name}).fetchone()
    return str(found[0])


_POLICIES: Final = " with policies"
_FORM: Final = (
    "SELECT concat(md5(string_agg(concat_ws(' ', attname, atttypid, atttypmod), ',' ORDER BY attnum)), "
    f"CASE WHEN row_security_active(%(table)s::regclass) THEN '{_POLICIES}' END) FROM pg_attribute "
    "WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped"
)


def has_policies(form: str) -> bool:
    """Whether row-level security binds this user's rows in a table of that form."""
    return form.endswith(_POLICIES)


def compiled(connection: Connection, statement: Select[Any]) -> tuple[str, Any]:
    """A statement of SQLAlchemy and its parameters, as the driver's cursor takes them."""
    found = statement.compile(dialect=connection.dialect)
    names = getattr(found, "positiontup", None)
    return str(found), found.params if names is None else [found.params[name] for name in names]


def quoted(connection: Connection, name: TableName | str) -> str:
    """A name as it stands in statements, whatever is in it.

    Raises: as `checked`.
    """
    if isinstance(name, TableName):
        return ".".join(quoted(connection, part) for part in name if part is not None)
    mark = "`" if connection.dialect.name == "mysql" else '"'
    return mark + checked(connection, name).replace(mark, mark * 2) + mark


_MOST_LETTERS: Final = 64
"""Of a name in MariaDB and MySQL."""


def checked(connection: Connection, name: str) -> str:
    """The name, if the database takes it as it is.

    Raises:
        DataError: it would be cut, so that two names become one.
    """
    if connection.dialect.name == "mysql":
        if (
            len(name) > _MOST_LETTERS
            or name.endswith(" ")
            or any(letter == "\0" or letter > "\uffff" for letter in name)
        ):
            raise DataError(
                f"The name {name!r} is longer than {_MOST_LETTERS} letters, ends with a blank, or has a NUL or a letter "
                "beyond U+FFFF; the database cannot have it"
            )
        return name
    most = connection.dialect.max_identifier_length
    if len(name.encode(errors="replace")) > most or "\0" in name:
        raise DataError(f"The name {name!r} is longer than {most} bytes, or has a NUL; the database cannot have it")
    return name
