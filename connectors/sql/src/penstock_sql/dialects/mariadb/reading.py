"""Unbuffered reading of rows from MariaDB, with each value as the server's text."""

from collections.abc import Generator, Sequence
from typing import Any, Final

import sqlalchemy
from pymysql.constants import FIELD_TYPE
from pymysql.cursors import SSCursor
from sqlalchemy import Connection, Select
from sqlalchemy.sql.elements import quoted_name

from penstock_sql.dialects.mariadb.fields import MariadbField
from penstock_sql.dialects.statements import compiled, driver, run

__all__ = ["MariadbCursor"]

_READ_ONLY: Final = "START TRANSACTION READ ONLY"
"""Starts a transaction that is listed as read-only, so that sources that wait for transactions ignore it."""


class MariadbCursor:
    """Cursor for the rows of one SELECT.

    Attributes:
        description: the columns, available when rows are read.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.description: Sequence[MariadbField] = ()

    def rows(self, statement: Select[Any]) -> Generator[Any, None, None]:
        """Yield the rows.

        If the caller stops early, the connection is invalidated, since the server would have to send the remaining rows.
        """
        own = driver(self._connection)
        run(self._connection, _READ_ONLY)
        self.description = _described(self._connection, statement)
        text, parameters = compiled(self._connection, _exact(statement, self.description))
        cursor = SSCursor(own)
        usual, own.decoders = own.decoders, {}
        try:
            cursor.execute(text, parameters)
        finally:
            own.decoders = usual
        result = own._result  # noqa: SLF001 (the driver has no other name for it)
        try:
            yield from iter(cursor.fetchone, None)
        finally:
            if result.unbuffered_active:
                result.unbuffered_active = False
                self._connection.invalidate()


def _described(connection: Connection, statement: Select[Any]) -> Sequence[MariadbField]:
    text, parameters = compiled(connection, statement.limit(0))
    with driver(connection).cursor() as cursor:
        cursor.execute(text, parameters)
        fields = cursor._result.fields  # noqa: SLF001 (the driver's description has neither flags nor character sets)
    return [MariadbField(f.name, f.type_code, f.flags, f.length, f.scale, f.charsetnr) for f in fields]


def _exact(statement: Select[Any], fields: Sequence[MariadbField]) -> Select[Any]:
    """Return the statement with FLOAT columns read as DOUBLE, since the server writes only six digits of a FLOAT."""
    if all(field.type != FIELD_TYPE.FLOAT for field in fields):
        return statement
    return statement.with_only_columns(*map(_column, fields))


def _column(field: MariadbField) -> Any:
    name = quoted_name(field.name, True)
    column: Any = sqlalchemy.column(name)
    if field.type != FIELD_TYPE.FLOAT:
        return column
    return (column + sqlalchemy.literal_column("0e0")).label(name)
