"""Dialect for PostgreSQL, with psycopg."""

import re
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import psycopg
import sqlalchemy
from sqlalchemy import Connection, Engine, Select
from sqlalchemy.pool import NullPool

from penstock import ConnectError
from penstock_sql.dialects import reflection
from penstock_sql.dialects.base import Address, Columns, Dialect, Place, Transactions, Url, Write
from penstock_sql.dialects.error_meaning import Meaning
from penstock_sql.dialects.fields import Field, NumericMapping
from penstock_sql.dialects.kinds import ColumnKind
from penstock_sql.dialects.postgresql import catalog, deferred, errors, fields, put, table_form, types
from penstock_sql.dialects.postgresql.address import read_postgresql
from penstock_sql.dialects.postgresql.horizon import Horizon
from penstock_sql.dialects.statements import compiled, driver, run
from penstock_sql.names import TableName

__all__ = ["PostgreSql"]

_CHUNK: Final = 100
"""Number of rows per fetch, if no row is large."""
_ROW: Final = "penstock_row"
_NOT_CODE: Final = re.compile(
    r"(?P<text>(?<!\w)[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|(?<!\w)(?P<mark>\$(?:[^\W\d]\w*)?\$).*?(?P=mark))|"
    r"\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*",
    re.DOTALL,
)
_OID_OF_TIMESTAMP: Final = 1114
_OID_OF_TIMESTAMPTZ: Final = 1184


class PostgreSql(Dialect):
    """Dialect for PostgreSQL."""

    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    example: ClassVar[str] = "jdbc:postgresql://HOST:PORT/DATABASE"
    not_code: ClassVar[re.Pattern[str]] = _NOT_CODE
    errors: ClassVar[tuple[type[Exception], ...]] = (psycopg.Error,)
    is_unbounded: ClassVar[bool] = True
    rounds: ClassVar[bool] = True
    timestamp_types: ClassVar[tuple[Any, Any]] = (_OID_OF_TIMESTAMP, _OID_OF_TIMESTAMPTZ)

    whole_types: ClassVar[frozenset[Any]] = frozenset((20, 21, 23, 26, 1700))

    def read_url(self, rest: str, user: str | None, password: str | None) -> Url:
        return read_postgresql(rest, user, password)

    def engine(self, address: Address, name: str, *, create: bool) -> Engine:
        parameters = {"application_name": name, "client_encoding": "utf8", **address.parameters}
        return sqlalchemy.create_engine(
            "postgresql+psycopg://",
            creator=lambda: psycopg.connect(prepare_threshold=None, **parameters),
            poolclass=NullPool,
        )

    def run(self, connection: Connection, statement: str) -> int:
        changed: int = driver(connection).execute(statement).rowcount
        return changed

    def begin(self, connection: Connection, zone: str) -> None:
        put.begin(connection, zone)

    def begin_definition(self, connection: Connection) -> None:
        put.begin_definition(connection)

    def end_others(self, connection: Connection, name: str) -> None:
        put.end_others(connection, name)

    def prepare(self, connection: Connection, write: Write, mode: str, form: str) -> None:
        put.prepare(connection, write, mode, form)

    def put(self, connection: Connection, write: Write, rows: list[tuple[Any, ...]], mode: str, form: str) -> int:
        return put.put(connection, write, rows, mode, form)

    def meaning(self, error: psycopg.Error) -> Meaning:
        return errors.meaning(error)

    def words(self, error: psycopg.Error) -> str:
        return errors.words(error)

    def may_be_of_a_row(self, error: psycopg.Error) -> bool:
        return errors.may_be_of_a_row(error)

    def words_of_row(self, error: psycopg.Error, columns: Sequence[str], row: Sequence[Any]) -> tuple[str, str | None]:
        if not error.diag.message_primary:  # raised by the driver, for invalid text
            return errors.words(error), None
        return errors.words_of_row(error), errors.column_named(error, columns)

    def raised_text(self, connection: Connection, error: BaseException) -> str | None:
        return errors.raised_text(connection, error)

    def check(self, connection: Connection) -> None:
        deferred.check(connection)

    def violators(
        self,
        connection: Connection,
        writes: Sequence[Write],
        mode: str,
        form: Callable[[TableName], str],
        error: BaseException,
    ) -> set[Place]:
        return deferred.violators(connection, writes, mode, form, error, put.staged_rows)

    def same_keys(self, connection: Connection, keys: Write, rows: list[tuple[Any, ...]], form: str) -> list[int]:
        return put.same_keys(connection, keys, rows, form)

    def table_form(self, connection: Connection, table: TableName) -> str:
        return table_form.table_form(connection, table)

    def may_keep(self, connection: Connection, table: TableName, columns: Sequence[str]) -> Sequence[str]:
        return table_form.may_keep(connection, table, columns)

    def column_type(self, generic: Any, *, key: bool = False) -> Any:
        return types.column_type(generic)

    def kind_of(self, column: Any) -> ColumnKind:
        return types.kind_of_column(column)

    def adds_if_missing(self, connection: Connection) -> bool:
        return True

    def tables(self, connection: Connection, pattern: str | None, schemas: Collection[str]) -> list[TableName]:
        return catalog.tables(connection, pattern)

    def database_name(self, connection: Connection) -> str | None:
        return str(connection.execute(sqlalchemy.select(sqlalchemy.func.current_database())).scalar_one())

    def views(self, connection: Connection, name: TableName) -> list[TableName]:
        return catalog.views(connection, name)

    def columns(self, connection: Connection, table: TableName) -> Columns | None:
        return reflection.columns(connection, table)

    def may_have_large_rows(self, connection: Connection, table: TableName) -> bool:
        return catalog.may_have_large_rows(connection, table)

    def row_bytes(self, connection: Connection, every: Select[Any], rows: Select[Any]) -> int:
        text = sqlalchemy.cast(sqlalchemy.literal_column(_ROW), sqlalchemy.Text)
        average = sqlalchemy.select(sqlalchemy.func.avg(sqlalchemy.func.length(text)))
        return int(connection.execute(average.select_from(rows.subquery(_ROW))).scalar_one() or 0) + 1

    def require_readable(self, connection: Connection, of: TableName | str) -> None:
        if catalog.is_standby(connection):
            raise ConnectError(
                "cannot find new rows on a standby: it does not know the open transactions of the primary, so their rows "
                "would be skipped; read from the primary, or use mode: bulk"
            )

    def has_rows(self, connection: Connection, one: Select[Any]) -> bool:
        with _autocommit(connection):  # most polls find no rows, and then cost only this statement
            return connection.execute(one).first() is not None

    def transactions(self) -> Transactions:
        return _Transactions()

    def cursor(self, connection: Connection) -> Any:
        run(connection, "SET TRANSACTION READ ONLY; SET LOCAL DateStyle = ISO")
        cursor = driver(connection).cursor()
        fields.texts_of(cursor)
        return cursor

    def rows(
        self, connection: Connection, cursor: Any, statement: Select[Any], *, large: bool
    ) -> Generator[Any, None, None]:
        text, parameters = compiled(connection, statement)
        yield from cursor.stream(text, parameters, size=1 if large else _CHUNK)

    def fields(
        self, cursor: Any, columns: Columns | None, zone: ZoneInfo, mapping: NumericMapping
    ) -> Mapping[str, Field]:
        return {c.name: fields.field_of(c, cursor, zone, mapping) for c in cursor.description}


class _Transactions(Transactions):
    def running(self, connection: Connection) -> Horizon:
        with connection.begin():
            return Horizon(connection)


@contextmanager
def _autocommit(connection: Connection) -> Iterator[None]:
    """Switch to autocommit: each statement is a separate transaction, without BEGIN and COMMIT around it."""
    own = driver(connection)
    own.autocommit = True
    try:
        with connection.begin():
            yield
    finally:
        if not own.closed:
            own.autocommit = False
