"""Catalog queries of the source: tables, views, large rows, and whether the server is a standby."""

from typing import Final

import sqlalchemy
from sqlalchemy import Connection

from penstock_sql.names import TableName

__all__ = ["is_standby", "may_have_large_rows", "tables", "views"]

_TABLES: Final = sqlalchemy.text(
    "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't' "
    "AND n.nspname NOT IN ('information_schema') AND n.nspname NOT LIKE 'pg\\_%' "
    "AND (CAST(:pattern AS text) IS NULL OR n.nspname LIKE :pattern) ORDER BY 1, 2"
)
_VIEWS: Final = sqlalchemy.text(
    "SELECT schemaname, viewname FROM pg_views WHERE viewname = :name UNION ALL "
    "SELECT schemaname, matviewname FROM pg_matviews WHERE matviewname = :name"
)
_LARGE: Final = sqlalchemy.text(
    "SELECT c.relkind NOT IN ('r', 'm') OR coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) > 0 "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relname = :name"
)
"""PostgreSQL moves values out of rows larger than a few kilobytes to a separate TOAST table."""
_STANDBY: Final = sqlalchemy.text("SELECT pg_is_in_recovery()")


def tables(connection: Connection, pattern: str | None) -> list[TableName]:
    """Return the tables of all schemas, or of the schemas that match a pattern, without system tables."""
    return [TableName(schema, name) for schema, name in connection.execute(_TABLES, {"pattern": pattern})]


def views(connection: Connection, name: TableName) -> list[TableName]:
    """Return the views and materialized views with a name."""
    found = [TableName(schema, view) for schema, view in connection.execute(_VIEWS, {"name": name.name})]
    return [view for view in found if name.schema in (None, view.schema)]


def may_have_large_rows(connection: Connection, table: TableName) -> bool:
    """Return whether rows may be larger than a few kilobytes; False only if it is certain."""
    if table.schema is None:
        return True
    return bool(connection.execute(_LARGE, table._asdict()).scalar_one_or_none() in (None, True))


def is_standby(connection: Connection) -> bool:
    """Return whether the server is in recovery, that is, whether it replays the log of another server."""
    return bool(connection.execute(_STANDBY).scalar_one())
