"""What a database has: its tables, and which of their columns may be null."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy
from sqlalchemy import Connection
from sqlalchemy.exc import NoSuchTableError

from penstock import ConnectError
from penstock_sql.dialects.mariadb.catalog import mariadb_columns, mariadb_tables, mariadb_views
from penstock_sql.names import OFFSETS, TableName, table_name
from penstock_sql.source.config import SqlSourceConfig

__all__ = ["Columns", "MissingTable", "columns_of", "may_have_large_rows", "tables_of", "topics_of"]

_TABLES: Final = sqlalchemy.text(
    "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't' "
    "AND n.nspname NOT IN ('information_schema') AND n.nspname NOT LIKE 'pg\\_%' "
    "AND (CAST(:pattern AS text) IS NULL OR n.nspname LIKE :pattern) ORDER BY 1, 2"
)


class MissingTable(ConnectError):
    """A table is not there, or not seen."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table.

    Attributes:
        types: by name, as SQLAlchemy has them.
        required: those that are never null.
    """

    types: Mapping[str, Any]
    required: frozenset[str]


def columns_of(connection: Connection, table: TableName) -> Columns:
    """The columns of a table.

    Raises:
        MissingTable: there is none, or this user does not see it.
    """
    if connection.dialect.name == "mysql":
        there = Columns(*mariadb_columns(connection, table))
        if not there.types:
            raise _missing(table)
        return there
    try:
        inspector = sqlalchemy.inspect(connection)
        found = inspector.get_columns(table.name, schema=table.schema)
        key = inspector.get_pk_constraint(table.name, schema=table.schema)["constrained_columns"]
    except NoSuchTableError:
        raise _missing(table) from None
    required = frozenset(column["name"] for column in found if not column["nullable"] or column["name"] in key)
    return Columns({column["name"]: column["type"] for column in found}, required)


def _missing(table: TableName) -> MissingTable:
    return MissingTable(f"Table {table} does not exist, or the user of the connector does not see it")


_LARGE: Final = sqlalchemy.text(
    "SELECT c.relkind NOT IN ('r', 'm') OR coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) > 0 "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relname = :name"
)
"""PostgreSQL keeps what a row has more than a few kilobytes in a table of its own (TOAST)."""


def may_have_large_rows(connection: Connection, table: TableName) -> bool:
    """Whether rows may have more than some kilobytes; False only where it is certain."""
    if connection.dialect.name != "postgresql" or table.schema is None:
        return True
    return bool(connection.execute(_LARGE, table._asdict()).scalar_one_or_none() in (None, True))


def tables_of(connection: Connection, config: SqlSourceConfig) -> tuple[list[TableName], list[TableName]]:
    """The tables to read, in their order, and the names of those that are named and not there."""
    there, missing = _there(connection, config), list[TableName]()
    if config.whitelist:
        wanted = [table_name(name, "") for name in config.whitelist]
        missing = [name for name in wanted if not any(_means(name, table) for table in there)]
        if missing and connection.dialect.name != "sqlite":  # a view is read if it is named
            views = [view for name in missing for view in _views(connection, name)]
            there = [*there, *views]
            missing = [name for name in missing if not any(_means(name, table) for table in views)]
        there = [table for table in there if any(_means(name, table) for name in wanted)]
    refused = [table_name(name, "") for name in config.blacklist]
    return [table for table in there if not any(_means(name, table) for name in refused)], missing


def topics_of(tables: Iterable[TableName], config: SqlSourceConfig) -> dict[TableName, str]:
    """The topic of each table.

    Raises:
        ConnectError: two would share one.
    """
    topics: dict[str, TableName] = {}
    for table in tables:
        topic = config.topic_prefix + re.sub(r"[^A-Za-z0-9._-]", "_", table.name)
        other = topics.setdefault(topic, table)
        if other != table:
            raise ConnectError(
                f"Tables {other} and {table} would both be written to topic {topic}: choose by schema.pattern or "
                "table.whitelist, and make a connector for each"
            )
    return {table: topic for topic, table in topics.items()}


def _there(connection: Connection, config: SqlSourceConfig) -> Sequence[TableName]:
    if connection.dialect.name == "postgresql":
        rows = connection.execute(_TABLES, {"pattern": config.schema_pattern})
        found = [TableName(schema, name) for schema, name in rows]
    elif connection.dialect.name == "mysql":
        named = {schema for name in config.whitelist if (schema := table_name(name, "").schema) is not None}
        found = mariadb_tables(connection, config.schema_pattern, named)
    else:
        found = [TableName(None, name) for name in sorted(sqlalchemy.inspect(connection).get_table_names())]
    return [table for table in found if table.name != OFFSETS]


def _views(connection: Connection, name: TableName) -> Iterable[TableName]:
    if connection.dialect.name == "mysql":
        return [view for view in mariadb_views(connection, name.schema) if _means(name, view)]
    text = sqlalchemy.text(
        "SELECT schemaname, viewname FROM pg_views WHERE viewname = :name UNION ALL "
        "SELECT schemaname, matviewname FROM pg_matviews WHERE matviewname = :name"
    )
    found = [TableName(schema, view) for schema, view in connection.execute(text, {"name": name.name})]
    return [view for view in found if _means(name, view)]


def _means(name: TableName, table: TableName) -> bool:
    return name.name == table.name and name.schema in (None, table.schema)
