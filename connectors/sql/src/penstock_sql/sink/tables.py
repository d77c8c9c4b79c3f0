"""Tables of the sink: descriptions of existing tables, and creation of tables and columns for the schemas of records."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy
from sqlalchemy import Column, Connection, MetaData, Table
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.schema import CreateTable

from penstock import ConnectError, DataError, Schema
from penstock.config import nearest
from penstock_sql.dialects.base import dialect_of
from penstock_sql.dialects.kinds import ColumnKind
from penstock_sql.dialects.statements import checked, quoted, run
from penstock_sql.failures import FOREIGN, words
from penstock_sql.names import TableName
from penstock_sql.sink.columns import column_type
from penstock_sql.sink.config import SqlSinkConfig
from penstock_sql.sink.rows import Rows

__all__ = ["MissingTable", "Tables"]


_NO_SCHEMA: Final = re.compile(r"does not exist|unknown database|denied", re.IGNORECASE)


class MissingTable(Exception):
    """Raised when the table to delete rows from does not exist yet."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of a table.

    Attributes:
        kinds: the kinds of all columns.
        computed: columns that accept no value, since the database computes them.
        fixed: columns that accept a value for a new row only.
        bare: columns that are null in a new row without a value for them.
        needed: the `bare` columns that are NOT NULL.
    """

    kinds: Mapping[str, ColumnKind]
    computed: frozenset[str]
    fixed: frozenset[str]
    bare: tuple[str, ...]
    needed: tuple[str, ...]


class Tables:
    """Descriptions of the tables that records are written to, discarded when a statement shows that they are outdated."""

    def __init__(self, config: SqlSinkConfig) -> None:
        self._config = config
        self._known: dict[TableName, _Columns] = {}
        self._forms: dict[TableName, str] = {}

    def forget(self) -> None:
        """Discard the descriptions, which are read again at the next use."""
        self._known.clear()

    def kinds(self, name: TableName) -> Mapping[str, ColumnKind]:
        """Return the kind of each column of a table that was passed to `prepare`."""
        return self._known[name].kinds

    def fixed(self, name: TableName) -> frozenset[str]:
        """Return the columns whose value cannot be changed in an existing row."""
        return self._known[name].fixed

    def kept(self, rows: Rows, *, all_bare: bool) -> tuple[str, ...]:
        """Return the columns whose stored value an upsert of these rows must also write.

        The database first checks the row as a new one, and refuses it if it has no value for a NOT NULL column.

        Args:
            rows: rows of a table that was passed to `prepare`.
            all_bare: include nullable columns, since constraints and triggers may refuse nulls, too.
        """
        known = self._known[rows.table]
        lacking = known.bare if all_bare else known.needed
        return rows.kept + tuple(name for name in lacking if name not in rows.columns and name not in rows.kept)

    def require_writable(self, rows: Rows) -> None:
        """Check that all columns of rows are writable, in a table that was passed to `prepare`.

        Raises:
            DataError: the database computes a column.
        """
        computed = [name for name in rows.columns if name in self._known[rows.table].computed]
        if computed:
            raise DataError(
                f"cannot write column {', '.join(computed)} of table {rows.table}: the database computes it (GENERATED "
                f"ALWAYS AS); omit the field with {self._config.name_of('fields.whitelist')} or ReplaceField"
            )

    def is_as_known(self, connection: Connection, name: TableName) -> bool:
        """Return whether a table is unchanged since `prepare`. From now on it cannot change until the transaction ends."""
        return dialect_of(connection).table_form(connection, name) == self._forms[name]

    def form(self, name: TableName) -> str:
        """Return the fingerprint of a table's columns and types."""
        return self._forms[name]

    def fits(self, rows: Rows) -> bool:
        """Return whether the table is known to have all columns of these rows."""
        known = self._known.get(rows.table)
        return known is not None and all(name in known.kinds for name in rows.columns)

    def prepare(self, connection: Connection, rows: Rows) -> None:
        """Read the description of the rows' table. Create the table, or add columns, if this is allowed.

        Raises:
            MissingTable: the table to delete rows from does not exist, but could be created.
            DataError: the table lacks columns that may not be added, or whose types are unknown without a schema.
            ConnectError: the table does not exist, and may not be created.
            SQLAlchemyError: the database refuses.
        """
        with self._without_schema(rows.table):
            found = self._described(connection, rows.table)
        if found is None and rows.delete and self._config.auto_create:
            raise MissingTable
        if found is None:
            self._create(connection, rows)
            found = self._described(connection, rows.table)
            assert found is not None
        missing = [name for name in rows.columns if name not in found.kinds]
        if missing:
            self._widen(connection, rows, missing, found.kinds)
            found = self._described(connection, rows.table)
            assert found is not None
        self._known[rows.table] = found
        self._forms[rows.table] = dialect_of(connection).table_form(connection, rows.table)

    @staticmethod
    def _described(connection: Connection, table: TableName) -> _Columns | None:
        try:
            columns = sqlalchemy.inspect(connection).get_columns(table.name, schema=table.schema)
        except NoSuchTableError:
            return None
        dialect = dialect_of(connection)
        named = {dialect.column_name(column["name"]): column for column in columns}
        lacking = [name for name, column in named.items() if _is_bare(column)]
        bare = tuple(dialect.may_keep(connection, table, lacking))
        return _Columns(
            {name: dialect.kind_of(column["type"]) for name, column in named.items()},
            frozenset(name for name, column in named.items() if "computed" in column),
            frozenset(name for name, column in named.items() if column.get("identity", _NO_IDENTITY)["always"]),
            bare,
            tuple(name for name in bare if not named[name]["nullable"]),
        )

    def _create(self, connection: Connection, rows: Rows) -> None:
        if not self._config.auto_create:
            named = self._config.name_of
            raise ConnectError(
                f"cannot write to table {rows.table}: it does not exist; create it, change {named('table.name.format')}, or "
                f"set {named('auto.create: true')}{self._dot_remedy(rows.table)}"
            )
        for part in rows.table:
            checked(connection, part or "")
        columns = [_column(connection, rows, name) for name in rows.columns]
        how = dialect_of(connection).table_options(connection)
        table = Table(rows.table.name, MetaData(), *columns, schema=rows.table.schema, quote=True, **how)
        with self._without_schema(rows.table):
            connection.execute(CreateTable(table, if_not_exists=True))

    @contextmanager
    def _without_schema(self, table: TableName) -> Iterator[None]:
        """Convert errors about a missing or invisible schema of a table to a message with a remedy.

        Raises:
            ConnectError: the schema does not exist or is not visible.
        """
        try:
            yield
        except FOREIGN as e:
            if table.schema is None or not _NO_SCHEMA.search(words(e)):
                raise
            raise ConnectError(
                f"cannot access table {table}: {words(e)}; create the schema, grant the user rights on it, or change "
                f"{self._config.name_of('table.name.format')}{self._dot_remedy(table)}"
            ) from None

    def _dot_remedy(self, table: TableName) -> str:
        """Return a remedy if the schema was taken from the start of the topic name, otherwise an empty string."""
        form = self._config.table_name_format
        if table.schema is None or '"' in form or "." in form:
            return ""
        named = self._config.name_of("table.name.format")
        return (
            f". The dot in the topic separates the schema {table.schema} from the table {table.name}: if it belongs to the "
            f"table's name, write {named}: '\"{form}\"', or change the topic with the transform RegexRouter"
        )

    def _widen(
        self, connection: Connection, rows: Rows, missing: Sequence[str], kinds: Mapping[str, ColumnKind]
    ) -> None:
        if not self._config.auto_evolve:
            near, named = nearest(missing[0], kinds), self._config.name_of
            raise DataError(
                f"cannot write to table {rows.table}: it has no column "
                f"{', '.join(missing)}{f', but {near}' if near else ''}; add it, set {named('auto.evolve: true')}, or omit "
                f"the field with {named('fields.whitelist')}"
            )
        dialect = dialect_of(connection)
        again = "IF NOT EXISTS " if dialect.adds_if_missing(connection) else ""
        for name in missing:
            if name in rows.keys:
                raise DataError(
                    f"cannot add column {name} to table {rows.table}: it belongs to the primary key, and key columns are "
                    "never added; add it yourself"
                )
            if (same := dialect.same_column(name, kinds)) is not None:
                raise DataError(
                    f"cannot add column {name} to table {rows.table}: the database considers {same} to be the same name; "
                    "rename the field with ReplaceField"
                )
            of = dialect.column_type(column_type(_schema(rows, name))).compile(dialect=connection.dialect)
            statement = (
                f"ALTER TABLE {quoted(connection, rows.table)} ADD COLUMN {again}{quoted(connection, name)} {of}"
            )
            run(connection, statement)


_NO_IDENTITY: Final = {"always": False}
_NO_DEFAULT: Final = (None, "NULL")
"""Defaults that are reported for columns without a default. MariaDB reports the string `NULL`."""


def _is_bare(column: Mapping[str, Any]) -> bool:
    """Return whether the column has no default: a new row without a value for it has null there, or is refused."""
    if any(column.get(by) for by in ("computed", "identity")) or column.get("autoincrement") is True:
        return False
    if isinstance(column["type"], mysql.ENUM) and not column["nullable"]:
        return False  # it gets the first value of the enumeration
    of_domain = getattr(column["type"], "default", None)
    return column["default"] in _NO_DEFAULT and of_domain is None


def _column(connection: Connection, rows: Rows, name: str) -> Column[Any]:
    schema = _schema(rows, name)
    key = name in rows.keys
    checked(connection, name)
    return Column(
        name,
        dialect_of(connection).column_type(column_type(schema), key=key),
        primary_key=key,
        nullable=not key and schema.optional,
        autoincrement=False,
        quote=True,
    )


def _schema(rows: Rows, name: str) -> Schema:
    schema = rows.schemas[name]
    if schema is None:
        raise DataError(
            f"cannot create column {name} of table {rows.table}: records without a schema do not specify its type; create "
            "it yourself, or use a converter with schemas (value.converter.schemas.enable: true)"
        )
    return schema
