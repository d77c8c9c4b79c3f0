"""What a table of MariaDB or MySQL is: its columns, its unique keys, and whether it can roll back."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection

from penstock import ConnectError
from penstock_sql.dialects.statements import driver, quoted, run
from penstock_sql.names import TableName

__all__ = ["is_key", "require_transactions", "table_form"]

_ENGINE: Final = (
    "SELECT engine, table_type FROM information_schema.tables WHERE table_schema = COALESCE(%s, DATABASE()) "
    "AND table_name = %s"
)
_COLUMNS: Final = (
    "SELECT column_name, column_type, collation_name, is_nullable, extra FROM information_schema.columns "
    "WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s ORDER BY ordinal_position"
)
_KEYS: Final = (
    "SELECT index_name, column_name, sub_part, nullable FROM information_schema.statistics "
    "WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s AND non_unique = 0 ORDER BY index_name, seq_in_index"
)


def table_form(connection: Connection, table: TableName) -> str:
    """Return the columns of a table and its unique keys, as one word. They stay so until the transaction ends.

    Raises:
        ConnectError: the table cannot roll back, or is a view.
        pymysql.Error: there is no such table.
    """
    # From now on until the transaction ends nobody changes the table.
    run(connection, f"SELECT 1 FROM {quoted(connection, table)} WHERE FALSE")
    require_transactions(connection, table)
    keys: dict[str, list[str]] = {}
    prefixes = set()
    for index, column, part, nullable in _rows(connection, _KEYS, table):
        keys.setdefault(index, []).append(column)
        if part is not None or nullable == "YES":
            prefixes.add(index)
    whole = sorted(sorted(columns) for index, columns in keys.items() if index not in prefixes)
    columns = hashlib.sha256(repr(_rows(connection, _COLUMNS, table)).encode()).hexdigest()[:32]
    return json.dumps([columns, whole])


def is_key(form: str, columns: Sequence[str]) -> bool:
    """Whether a table of that form has a unique key of exactly these columns, of which none is ever null."""
    return sorted(columns) in json.loads(form)[1]


def require_transactions(connection: Connection, table: TableName) -> None:
    """See that what is written to a table can be taken back.

    Raises:
        ConnectError: it cannot.
    """
    for engine, kind in _rows(connection, _ENGINE, table):
        if kind == "VIEW":
            raise ConnectError(
                f"{table} is a view, of which MariaDB does not tell whether its rows can be rolled back: name the table"
            )
        if engine is not None and engine.lower() != "innodb":  # none while the table is being made
            raise ConnectError(
                f"Table {table} has the engine {engine}, which cannot roll back, so that rows would be there twice or in "
                f"part: ALTER TABLE {quoted(connection, table)} ENGINE=InnoDB"
            )


def _rows(connection: Connection, statement: str, table: TableName) -> list[tuple[Any, ...]]:
    with driver(connection).cursor() as cursor:
        cursor.execute(statement, (table.schema, table.name))
        return list(cursor.fetchall())
