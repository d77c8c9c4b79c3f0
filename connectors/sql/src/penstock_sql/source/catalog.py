"""Tables of a database, their columns and their topics."""

import re
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from penstock import ConfigError, ConnectError, Problem
from penstock_sql.dialects.base import Columns, dialect_of
from penstock_sql.names import OFFSETS, TableName, names_of, parts_of
from penstock_sql.source.config import SqlSourceConfig

__all__ = ["MissingTable", "columns_of", "tables_of", "topics_of"]


class MissingTable(ConnectError):
    """Raised when a table does not exist or is not visible to the user."""


def columns_of(connection: Connection, table: TableName) -> Columns:
    """Return the columns of a table.

    Raises:
        MissingTable: the table does not exist, or is not visible to this user.
    """
    found = dialect_of(connection).columns(connection, table)
    if found is None:
        raise MissingTable(
            f"cannot read table {table}: it does not exist, or is not visible to the user of the connector; create it, or "
            "grant SELECT on it"
        )
    return found


def tables_of(connection: Connection, config: SqlSourceConfig) -> tuple[list[TableName], list[TableName]]:
    """Return the tables to read, in order, and the configured names of tables that do not exist."""
    wanted = _named(connection, "table.whitelist", config.whitelist)
    refused = _named(connection, "table.blacklist", config.blacklist)
    there, missing = _there(connection, config, wanted), list[TableName]()
    if config.whitelist:
        missing = [name for name in wanted if not any(_means(name, table) for table in there)]
        if missing:  # a view is read if it is named
            views = [view for name in missing for view in dialect_of(connection).views(connection, name)]
            there = [*there, *views]
            missing = [name for name in missing if not any(_means(name, table) for table in views)]
        there = [table for table in there if any(_means(name, table) for name in wanted)]
    return [table for table in there if not any(_means(name, table) for name in refused)], missing


def topics_of(tables: Iterable[TableName], config: SqlSourceConfig) -> dict[TableName, str]:
    """Return the topic of each table.

    Raises:
        ConnectError: two tables would share a topic.
    """
    topics: dict[str, TableName] = {}
    for table in tables:
        topic = config.topic_prefix + re.sub(r"[^A-Za-z0-9._-]", "_", table.name)
        other = topics.setdefault(topic, table)
        if other != table:
            raise ConnectError(
                f"cannot assign topics: tables {other} and {table} would both be written to topic {topic}; select one with "
                "schema.pattern or table.whitelist, and create a connector for each"
            )
    return {table: topic for topic, table in topics.items()}


def _named(connection: Connection, of: str, text: str) -> list[TableName]:
    """Return the tables that a property names: `table`, `schema.table`, or either prefixed with the connection's database.

    Raises:
        ConfigError: some names have another form.
    """
    dialect = dialect_of(connection)
    quotes = "".join({'"', dialect.quote})
    names = names_of(text, quotes)
    most = 2 if dialect.has_schemas else 1
    database = dialect.database_name(connection) if names else None
    tables, problems = list[TableName](), list[Problem]()
    for name in names:
        parts = parts_of(name, quotes) or []
        rest = parts[1:] if database is not None and len(parts) > most else parts
        if not 0 < len(rest) <= most:
            form = ("schema.table" if database else "database.table") if most > 1 else "table"
            problems.append(
                Problem(
                    of,
                    f"cannot read {name}: it is not a table name; write {form}, and put a name that contains a dot or a "
                    'comma in double quotes ("a.b")',
                )
            )
        elif rest is not parts and parts[0] != database:
            problems.append(
                Problem(
                    of,
                    f"cannot read {name}: a connector reads one database, and connection.url names {database}; create "
                    f"another connector for the database {parts[0]}",
                )
            )
        else:
            tables.append(TableName(rest[-2] if len(rest) > 1 else None, rest[-1]))
    if problems:
        raise ConfigError(problems)
    return tables


def _there(connection: Connection, config: SqlSourceConfig, wanted: Sequence[TableName]) -> Sequence[TableName]:
    named = {name.schema for name in wanted if name.schema is not None}
    found = dialect_of(connection).tables(connection, config.schema_pattern, named)
    return [table for table in found if table.name != OFFSETS]


def _means(name: TableName, table: TableName) -> bool:
    return name.name == table.name and name.schema in (None, table.schema)
