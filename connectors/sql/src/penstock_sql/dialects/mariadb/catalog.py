"""What MariaDB has for a source: tables, columns, and whether it can know which transactions run."""

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
"""Stands for all types by which no order of rows is known."""


def mariadb_tables(connection: Connection, pattern: str | None, named: Collection[str]) -> list[TableName]:
    """The tables of the database, of those that are named, or of those whose names are like a pattern."""
    given = (_TABLE_KINDS, pattern, pattern, tuple(named) or ("",))
    return [TableName(*row) for row in _rows(connection, _TABLES, given)]


def mariadb_views(connection: Connection, of: str | None) -> list[TableName]:
    """The views of the database, or of the one that is named."""
    return [TableName(*row) for row in _rows(connection, _TABLES, (("VIEW",), None, None, (of or "",)))]


def mariadb_columns(connection: Connection, table: TableName) -> tuple[Mapping[str, Any], frozenset[str]]:
    """The columns with types of SQLAlchemy, as far as a source must know them, and those that are never null.

    There are none where there is no such table.
    """
    found = _rows(connection, _COLUMNS, table)
    types = {name: _TYPES.get(kind.lower(), _OTHER) for name, kind, _ in found}
    return types, frozenset(name for name, _, null in found if null == "NO")


def rights_missing(connection: Connection) -> Iterator[Problem]:
    """What keeps this user or server from being read but by `mode: bulk`, and will not pass by itself."""
    if not getattr(connection.dialect, "is_mariadb", False):
        yield Problem(
            "connection.url",
            "The server is MySQL, which SqlSource reads by mode: bulk only: which transactions run is known of MariaDB "
            "alone",
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
            "The user may not see which transactions run, so that rows of those that commit late would be lost: run GRANT "
            f"PROCESS ON *.* TO {_text(name)}@{_text(host)}, or read by mode: bulk",
        )


def see_transactions(connection: Connection, of: TableName | str) -> None:
    """See that the server knows all transactions that bring rows.

    Raises:
        ConnectError: it does not.
    """
    for problem in rights_missing(connection):
        raise ConnectError(problem.message)
    server = {name.lower(): value for name, value in _rows(connection, _SERVER, ())}
    if server.get("wsrep_on") == "ON":
        raise ConnectError(
            "The server is one of a cluster of Galera, each of which takes numbers and transactions of its own, so rows of "
            "the others would be passed over: read by mode: bulk"
        )
    if server.get("read_only", "OFF") not in ("OFF", "0") or _rows(connection, _REPLICATES, ()):
        raise ConnectError(
            "The server is a replica or read-only, and does not know the transactions of the primary one, so rows of them "
            "would be passed over: read from the primary, or by mode: bulk"
        )
    if isinstance(of, str):
        return
    for (engine,) in _rows(connection, _ENGINE, of):
        if engine is not None and engine.lower() != "innodb":
            raise ConnectError(
                f"Table {of} has the engine {engine}, of which the server does not tell what is still to be committed, so "
                f"rows would be passed over: ALTER TABLE {quoted(connection, of)} ENGINE=InnoDB, or read by mode: bulk"
            )


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _rows(connection: Connection, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    with driver(connection).cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
