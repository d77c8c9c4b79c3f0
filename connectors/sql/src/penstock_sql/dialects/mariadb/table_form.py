"""Fingerprint of a MariaDB or MySQL table: its columns and unique keys; and whether it is transactional."""

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
    """Return a fingerprint of a table's columns and unique keys. The table cannot change until the transaction ends.

    Raises:
        ConnectError: the table is not transactional, or is a view.
        pymysql.Error: there is no such table.
    """
    # This takes a metadata lock: nobody can change the table until the transaction ends.
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
    """Return whether a table with this fingerprint has a unique key of exactly these columns, none of them nullable."""
    return sorted(columns) in json.loads(form)[1]


def require_transactions(connection: Connection, table: TableName) -> None:
    """Check that writes to a table can be rolled back.

    Raises:
        ConnectError: they cannot.
    """
    for engine, kind in _rows(connection, _ENGINE, table):
        if kind == "VIEW":
            raise ConnectError(
                f"cannot write to {table}: it is a view, for which MariaDB does not report whether its rows can be rolled "
                "back; write to the table itself"
            )
        if engine is not None and engine.lower() != "innodb":  # None while the table is being created
            raise ConnectError(
                f"cannot write to table {table}: it has the engine {engine}, which cannot roll back, so rows would be "
                f"duplicated or written in part; run ALTER TABLE {quoted(connection, table)} ENGINE=InnoDB"
            )


def _rows(connection: Connection, statement: str, table: TableName) -> list[tuple[Any, ...]]:
    with driver(connection).cursor() as cursor:
        cursor.execute(statement, (table.schema, table.name))
        return list(cursor.fetchall())
