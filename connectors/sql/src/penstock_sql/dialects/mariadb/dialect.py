"""Dialect for MariaDB and MySQL, with PyMySQL."""

import re
from collections.abc import Collection, Generator, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import add
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import pymysql
import sqlalchemy
from pymysql.constants import FIELD_TYPE
from sqlalchemy import Connection, Engine, Select, event
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.elements import quoted_name

from penstock import Problem
from penstock_sql.dialects.base import Address, Columns, Dialect, Transactions, Url, Write
from penstock_sql.dialects.error_meaning import Meaning
from penstock_sql.dialects.fields import Field, NumericMapping
from penstock_sql.dialects.kinds import ColumnKind
from penstock_sql.dialects.mariadb import catalog, errors, put, session, table_form, types
from penstock_sql.dialects.mariadb.address import read_mariadb
from penstock_sql.dialects.mariadb.fields import field_of_mariadb
from penstock_sql.dialects.mariadb.horizon import Looks
from penstock_sql.dialects.mariadb.reading import MariadbCursor
from penstock_sql.dialects.statements import driver, run
from penstock_sql.names import TableName

__all__ = ["MariaDb"]

_MOST_LETTERS: Final = 64
"""Maximum length of a name, in characters."""
_NOT_CODE: Final = re.compile(
    r"(?P<text>'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\")|`(?:[^`]|``)*`|#[^\n]*|--(?=[\0-\x20]|$)[^\n]*|"
    r"/\*M?!\d*|/\*.*?(?:\*/|$)|\*/",
    re.DOTALL,
)
"""Matches `/*!` and its end, but not the text between them, since the server executes it."""


class MariaDb(Dialect):
    """Dialect for MariaDB, and for MySQL as far as it is compatible."""

    quote: ClassVar[str] = "`"
    schemes: ClassVar[tuple[str, ...]] = ("mariadb", "mysql")
    example: ClassVar[str] = "jdbc:mariadb://HOST:PORT/DATABASE"
    not_code: ClassVar[re.Pattern[str]] = _NOT_CODE
    errors: ClassVar[tuple[type[Exception], ...]] = (pymysql.Error,)
    compares_rows: ClassVar[bool] = False
    first_moment: ClassVar[str] = "TIMESTAMP'0001-01-03 00:00:00'"  # without the keyword it would be a string
    tick: ClassVar[timedelta] = timedelta(seconds=1)  # NOW() has whole seconds, regardless of the column's precision
    timestamp_types: ClassVar[tuple[Any, Any]] = (FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP)

    whole_types: ClassVar[frozenset[Any]] = frozenset(
        (
            FIELD_TYPE.TINY,
            FIELD_TYPE.SHORT,
            FIELD_TYPE.INT24,
            FIELD_TYPE.LONG,
            FIELD_TYPE.LONGLONG,
            FIELD_TYPE.YEAR,
            FIELD_TYPE.DECIMAL,
            FIELD_TYPE.NEWDECIMAL,
        )
    )

    def read_url(self, rest: str, user: str | None, password: str | None) -> Url:
        return read_mariadb(rest, user, password)

    def engine(self, address: Address, name: str, *, create: bool) -> Engine:
        def connect() -> pymysql.Connection:
            return session.connect(address.parameters, name)

        engine = sqlalchemy.create_engine("mysql+pymysql://", creator=connect, poolclass=NullPool)
        event.listen(engine, "connect", lambda _, record: record.info.update(penstock_name=name))
        event.listen(engine, "commit", session.let_go)
        event.listen(engine, "rollback", session.let_go)
        return engine

    def run(self, connection: Connection, statement: str) -> int:
        changed: int = driver(connection).query(statement)
        return changed

    def name_problem(self, connection: Connection, name: str) -> str | None:
        if (
            len(name) <= _MOST_LETTERS
            and not name.endswith(" ")
            and not any(letter == "\0" or letter > "\uffff" for letter in name)
        ):
            return None
        return (
            f"is longer than {_MOST_LETTERS} characters, ends with a blank, or has a NUL or a character beyond U+FFFF"
        )

    def begin(self, connection: Connection, zone: str) -> None:
        put.begin(connection)

    def begin_definition(self, connection: Connection) -> None:
        put.begin_definition(connection)

    def end_others(self, connection: Connection, name: str) -> None:
        put.end_others(connection, name)

    def prepare(self, connection: Connection, write: Write, mode: str, form: str) -> None:
        put.prepare(connection, write, mode, form)

    def put(self, connection: Connection, write: Write, rows: list[tuple[Any, ...]], mode: str, form: str) -> int:
        return put.put(connection, write, rows, mode, form)

    def meaning(self, error: pymysql.Error) -> Meaning:
        return errors.meaning(error)

    def words(self, error: pymysql.Error) -> str:
        return errors.words(error)

    def may_be_of_a_row(self, error: pymysql.Error) -> bool:
        return errors.may_be_of_a_row(error)

    def same_keys(self, connection: Connection, keys: Write, rows: list[tuple[Any, ...]], form: str) -> list[int]:
        return put.same_keys(connection, keys, rows, form)

    def table_form(self, connection: Connection, table: TableName) -> str:
        return table_form.table_form(connection, table)

    def require_transactions(self, connection: Connection, table: TableName) -> None:
        table_form.require_transactions(connection, table)

    def column_name(self, described: str) -> str:
        return described.replace("``", "`")  # SQLAlchemy parses SHOW CREATE TABLE, and leaves backticks doubled

    def column_type(self, generic: Any, *, key: bool = False) -> Any:
        return types.column_type(generic, key=key)

    def kind_of(self, column: Any) -> ColumnKind:
        return types.kind_of_column(column)

    def table_options(self, connection: Connection) -> Mapping[str, Any]:
        return types.table_options(is_mariadb=_is_mariadb(connection))

    def adds_if_missing(self, connection: Connection) -> bool:
        return _is_mariadb(connection)

    def same_column(self, name: str, others: Iterable[str]) -> str | None:
        return next((other for other in others if other.casefold() == name.casefold()), None)

    def source_problems(self, address: Address, config: Any) -> Iterable[Problem]:
        if config.catalog not in (None, address.parameters["database"]):
            yield Problem(
                "catalog.pattern", "names a different database than connection.url; name it in schema.pattern"
            )

    def reading_problems(self, connection: Connection) -> Iterable[Problem]:
        return catalog.rights_missing(connection)

    def tables(self, connection: Connection, pattern: str | None, schemas: Collection[str]) -> list[TableName]:
        return catalog.mariadb_tables(connection, pattern, schemas)

    def views(self, connection: Connection, name: TableName) -> list[TableName]:
        found = catalog.mariadb_views(connection, name.schema)
        return [view for view in found if view.name == name.name and name.schema in (None, view.schema)]

    def columns(self, connection: Connection, table: TableName) -> Columns | None:
        found = Columns(*catalog.mariadb_columns(connection, table))
        return found if found.types else None

    def row_bytes(self, connection: Connection, every: Select[Any], rows: Select[Any]) -> int:
        """Return the average total length of a row's values as text."""
        names = connection.execute(every.limit(0)).keys()
        each = (sqlalchemy.func.coalesce(sqlalchemy.func.octet_length(_column(name)), 0) for name in names)
        average = sqlalchemy.select(sqlalchemy.func.avg(reduce(add, each))).select_from(rows.subquery())
        return int(connection.execute(average).scalar_one() or 0) + 1

    def require_readable(self, connection: Connection, of: TableName | str) -> None:
        catalog.see_transactions(connection, of)

    def begin_reading(self, connection: Connection) -> None:
        run(connection, "SET SESSION TRANSACTION READ ONLY")  # so that other sources do not wait for this session

    def transactions(self) -> Transactions:
        return Looks()

    def now(self, connection: Connection) -> datetime:
        at: datetime = connection.execute(sqlalchemy.select(sqlalchemy.func.utc_timestamp(6))).scalar_one()
        return at.replace(tzinfo=UTC)

    def cursor(self, connection: Connection) -> MariadbCursor:
        return MariadbCursor(connection)

    def rows(
        self, connection: Connection, cursor: MariadbCursor, statement: Select[Any], *, large: bool
    ) -> Generator[Any, None, None]:
        yield from cursor.rows(statement)

    def fields(
        self, cursor: Any, columns: Columns | None, zone: ZoneInfo, mapping: NumericMapping
    ) -> Mapping[str, Field]:
        never = frozenset[str]() if columns is None else columns.required
        return {f.name: field_of_mariadb(f, zone, mapping, required=f.name in never) for f in cursor.description}


def _is_mariadb(connection: Connection) -> bool:
    return bool(getattr(connection.dialect, "is_mariadb", False))


def _column(name: str) -> Any:
    return sqlalchemy.column(quoted_name(name, True))
