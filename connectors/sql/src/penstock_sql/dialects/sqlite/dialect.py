"""Dialect for SQLite, with Python's own driver."""

import sqlite3
from collections.abc import Collection, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import quote
from zoneinfo import ZoneInfo

import sqlalchemy
from sqlalchemy import Connection, Engine, Select, event
from sqlalchemy.pool import NullPool

from penstock import Problem
from penstock_sql.dialects import reflection
from penstock_sql.dialects.base import Address, Columns, Dialect, Url, Write
from penstock_sql.dialects.error_meaning import Meaning
from penstock_sql.dialects.fields import Field, NumericMapping
from penstock_sql.dialects.sqlite import errors, fields, put, types
from penstock_sql.dialects.sqlite.address import read_sqlite
from penstock_sql.dialects.statements import compiled, driver
from penstock_sql.names import TableName

__all__ = ["Sqlite"]

_BUSY_SECONDS: Final = 60


class Sqlite(Dialect):
    """Dialect for SQLite, which has one writer at a time and therefore commits rows in the order of their keys."""

    schemes: ClassVar[tuple[str, ...]] = ("sqlite",)
    example: ClassVar[str] = "jdbc:sqlite:FILE"
    errors: ClassVar[tuple[type[Exception], ...]] = (sqlite3.Error,)
    is_server: ClassVar[bool] = False
    has_schemas: ClassVar[bool] = False

    def read_url(self, rest: str, user: str | None, password: str | None) -> Url:
        return read_sqlite(rest)

    def engine(self, address: Address, name: str, *, create: bool) -> Engine:
        def connect() -> sqlite3.Connection:
            file = f"file:{quote(address.parameters['dbname'])}?mode={'rwc' if create else 'rw'}"
            return sqlite3.connect(file, uri=True, isolation_level=None, timeout=_BUSY_SECONDS, check_same_thread=False)

        engine = sqlalchemy.create_engine("sqlite://", creator=connect, poolclass=NullPool)
        # Python's driver begins transactions too late, and never for a savepoint, so SQLAlchemy begins them.
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        return engine

    def exists(self, address: Address) -> bool:
        return Path(address.parameters["dbname"]).exists()

    def run(self, connection: Connection, statement: str) -> int:
        changed: int = driver(connection).execute(statement).rowcount
        return changed

    def begin(self, connection: Connection, zone: str) -> None:
        """Do nothing: a transaction ends with its process."""

    def begin_definition(self, connection: Connection) -> None:
        """Do nothing."""

    def end_others(self, connection: Connection, name: str) -> None:
        """Do nothing."""

    def prepare(self, connection: Connection, write: Write, mode: str, form: str) -> None:
        """Do nothing."""

    def put(self, connection: Connection, write: Write, rows: list[tuple[Any, ...]], mode: str, form: str) -> int:
        return put.put(connection, write, rows, mode)

    def meaning(self, error: sqlite3.Error) -> Meaning:
        return errors.meaning(error)

    def words(self, error: sqlite3.Error) -> str:
        return " ".join(str(error).split()) or type(error).__name__

    def may_be_of_a_row(self, error: sqlite3.Error) -> bool:
        return errors.may_be_of_a_row(error)

    def same_keys(self, connection: Connection, keys: Write, rows: list[tuple[Any, ...]], form: str) -> list[int]:
        """Return one number for all keys, which keeps the rows in order; many statements are cheap within one process."""
        return [0] * len(rows)

    def column_type(self, generic: Any, *, key: bool = False) -> Any:
        return types.column_type(generic)

    def source_problems(self, address: Address, config: Any) -> Iterable[Problem]:
        if config.by_timestamp:
            yield Problem("mode", "SQLite has no type for timestamps; use mode: incrementing")
        if config.query:
            yield Problem("query", "SQLite does not report the column types of a query; read tables instead")

    def tables(self, connection: Connection, pattern: str | None, schemas: Collection[str]) -> list[TableName]:
        return [TableName(None, name) for name in sorted(sqlalchemy.inspect(connection).get_table_names())]

    def database_name(self, connection: Connection) -> str | None:
        return "main"

    def columns(self, connection: Connection, table: TableName) -> Columns | None:
        return reflection.columns(connection, table)

    def cursor(self, connection: Connection) -> Any:
        return driver(connection).cursor()

    def rows(
        self, connection: Connection, cursor: Any, statement: Select[Any], *, large: bool
    ) -> Generator[Any, None, None]:
        yield from cursor.execute(*compiled(connection, statement))

    def fields(
        self, cursor: Any, columns: Columns | None, zone: ZoneInfo, mapping: NumericMapping
    ) -> Mapping[str, Field]:
        assert columns is not None
        return {column[0]: fields.field_of(columns.types[column[0]]) for column in cursor.description}
