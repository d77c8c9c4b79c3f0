"""Catalog queries of the source: tables, columns, and whether the running transactions are known."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import pymysql
from sqlalchemy import Connection
from sqlalchemy import types as sql

from penstock import ConnectError, Problem
from penstock_sql.dialects.statements import driver, quoted
from penstock_sql.names import TableName

__all__ = ["mariadb_columns", "mariadb_tables", "mariadb_views", "rights_missing", "see_transactions"]

_TABLES: Final = (
    "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type IN %s AND "
    "(table_schema LIKE %s OR %s IS NULL AND (table_schema = DATABASE() OR table_schema IN %s)) AND table_schema NOT IN "
    "('information_schema', 'mysql', 'performance_schema', 'sys') ORDER BY 1, 2"
)
_COLUMNS: Final = (
    "SELECT column_name, data_type, is_nullable FROM information_schema.columns "
    "WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s ORDER BY ordinal_position"
)
_ENGINE: Final = (
    "SELECT engine FROM information_schema.tables WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s "
    "AND table_type <> 'VIEW'"
)
_SERVER: Final = "SHOW GLOBAL VARIABLES WHERE variable_name IN ('read_only', 'wsrep_on')"
_REPLICATES: Final = "SELECT 1 FROM information_schema.processlist WHERE command LIKE 'Slave%%' LIMIT 1"
_TRANSACTIONS: Final = "SELECT 1 FROM information_schema.innodb_trx LIMIT 1"
_NO_RIGHT: Final = 1227
_TABLE_KINDS: Final = ("BASE TABLE", "SYSTEM VERSIONED")
_TYPES: Final[Mapping[str, Any]] = {
    "timestamp": sql.DateTime(timezone=True),
    "datetime": sql.DateTime(timezone=False),
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year"), sql.Integer()),
    "decimal": sql.Numeric(),
}
_OTHER: Final = sql.String()
"""Placeholder for all types that cannot order rows."""


def mariadb_tables(connection: Connection, pattern: str | None, named: Collection[str]) -> list[TableName]:
    """Return the tables of the connection's database and of the named ones, or of databases that match a pattern."""
    given = (_TABLE_KINDS, pattern, pattern, tuple(named) or ("",))
    return [TableName(*row) for row in _rows(connection, _TABLES, given)]


def mariadb_views(connection: Connection, of: str | None) -> list[TableName]:
    """Return the views of the connection's database and, unless `of` is None, of the database `of`."""
    return [TableName(*row) for row in _rows(connection, _TABLES, (("VIEW",), None, None, (of or "",)))]


def mariadb_columns(connection: Connection, table: TableName) -> tuple[Mapping[str, Any], frozenset[str]]:
    """Return the columns with SQLAlchemy types, as far as the source needs them, and the columns that are never null.

    Both are empty if there is no such table.
    """
    found = _rows(connection, _COLUMNS, table)
    types = {name: _TYPES.get(kind.lower(), _OTHER) for name, kind, _ in found}
    return types, frozenset(name for name, _, null in found if null == "NO")


def rights_missing(connection: Connection) -> Iterator[Problem]:
    """Yield why this user or server can be read only with `mode: bulk`, unless the reason is transient."""
    if not getattr(connection.dialect, "is_mariadb", False):
        yield Problem(
            "connection.url",
            "The server is MySQL, where SqlSource cannot list running transactions; use mode: bulk, or MariaDB",
        )
        return
    try:
        _rows(connection, _TRANSACTIONS, ())
    except pymysql.Error as e:
        if e.args[0] != _NO_RIGHT:
            raise
        ((user,),) = _rows(connection, "SELECT CURRENT_USER()", ())
        name, _, host = str(user).rpartition("@")
        yield Problem(
            "connection.user",
            "The user has no right to list running transactions, so rows that they commit later would be lost; run GRANT "
            f"PROCESS ON *.* TO {_text(name)}@{_text(host)}, or use mode: bulk",
        )


def see_transactions(connection: Connection, of: TableName | str) -> None:
    """Check that the server knows all transactions that commit rows.

    Raises:
        ConnectError: it does not.
    """
    for problem in rights_missing(connection):
        raise ConnectError(problem.message)
    server = {name.lower(): value for name, value in _rows(connection, _SERVER, ())}
    if server.get("wsrep_on") == "ON":
        raise ConnectError(
            "cannot find new rows on a node of a Galera cluster: it does not know the numbers and transactions of the other "
            "nodes, so their rows would be skipped; use mode: bulk"
        )
    if server.get("read_only", "OFF") not in ("OFF", "0") or _rows(connection, _REPLICATES, ()):
        raise ConnectError(
            "cannot find new rows on a server that is a replica or read-only: it does not know the open transactions of the "
            "primary, so their rows would be skipped; read from the primary, or use mode: bulk"
        )
    if isinstance(of, str):
        return
    for (engine,) in _rows(connection, _ENGINE, of):
        if engine is not None and engine.lower() != "innodb":
            raise ConnectError(
                f"cannot find new rows: table {of} has the engine {engine}, for which the server does not report open "
                f"transactions, so rows would be skipped; run ALTER TABLE {quoted(connection, of)} ENGINE=InnoDB, or use "
                "mode: bulk"
            )


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _rows(connection: Connection, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    with driver(connection).cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
