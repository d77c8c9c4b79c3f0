"""A connection to a database, made when it is needed and given up after an error."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote

import psycopg
import pymysql
import sqlalchemy
from sqlalchemy import Connection, Engine, event
from sqlalchemy.pool import NullPool

from penstock import Problem
from penstock_sql.address import Address
from penstock_sql.dialects.base import Place, Write
from penstock_sql.dialects.mariadb import put as mariadb
from penstock_sql.dialects.mariadb import session as mariadb_session
from penstock_sql.dialects.postgresql import put as postgresql
from penstock_sql.dialects.sqlite import put as sqlite
from penstock_sql.failures import FOREIGN, Meaning, meaning, words
from penstock_sql.names import TableName

__all__ = ["Database"]

_BUSY_SECONDS: Final = 60


class _Dialect(Protocol):
    @property
    def UNBOUNDED(self) -> bool:  # noqa: N802 (a constant of the module)
        """Whether columns have infinity, and years before 1 and after 9999."""

    def begin(self, connection: Connection, zone: str, *, whole: bool) -> None:
        """Say what bounds this transaction, and if it is not written as a whole, that each row is to be checked at once."""

    def begin_definition(self, connection: Connection) -> None:
        """Say what bounds a transaction that makes or changes a table."""

    def end_others(self, connection: Connection, name: str) -> None:
        """End the transactions of other connections of this name and user: they are what is left of an earlier start."""

    def prepare(self, connection: Connection, write: Write, mode: str, form: str) -> None:
        """Make what `put` needs, outside of its savepoints."""

    def put(self, connection: Connection, write: Write, rows: list[tuple[Any, ...]], mode: str, form: str) -> int:
        """Insert, upsert, update or delete rows. Returns how many rows an update has found."""

    def check(self, connection: Connection) -> None:
        """Check now what would be checked at the end of the transaction."""

    def violators(
        self,
        connection: Connection,
        writes: Sequence[Write],
        mode: str,
        form: Callable[[TableName], str],
        error: BaseException,
    ) -> set[Place]:
        """The records whose rows violate what `check` has raised an error of; empty where nothing tells."""

    def raised_text(self, connection: Connection, error: BaseException) -> str | None:
        """Which function has raised an error, and its text, if both can be told without a value of a row."""

    def same_keys(self, connection: Connection, keys: Write, rows: list[tuple[Any, ...]], form: str) -> list[int]:
        """A number for each primary key, the same for those that are the same by the types of their columns.

        `prepare` is called before.
        """


_DIALECTS: Final[dict[str, _Dialect]] = {"mariadb": mariadb, "postgresql": postgresql, "sqlite": sqlite}


class Database:
    """One connection to a database, for one thread.

    Args:
        address: where it is.
        name: by which the server knows the connection.
        create: a file of SQLite that is not there is made.
    """

    def __init__(self, address: Address, name: str, *, create: bool = False) -> None:
        self.place = address.place
        self.kind = address.kind
        self.dialect = _DIALECTS[address.kind]
        match address.kind:
            case "postgresql":
                self._engine = _postgresql(address, name)
            case "mariadb":
                self._engine = _mariadb(address, name)
            case _:
                self._engine = _sqlite(address, create=create)
        self._connection: Connection | None = None
        self._file = address.parameters["dbname"] if address.kind == "sqlite" else None

    @property
    def exists(self) -> bool:
        """Whether there is something to connect to: False for a file of SQLite that is still to be made."""
        return self._file is None or Path(self._file).exists()

    def refusal(self) -> Iterator[Problem]:
        """Why this database cannot be connected to, if that will not pass by itself."""
        try:
            self.connection()
        except FOREIGN as e:
            if meaning(e) is not Meaning.PASSING:
                blamed = "connection.password" if "password" in words(e) else "connection.url"
                yield Problem(blamed, f"{self.place} refuses the connection: {words(e)}")
        finally:
            self.close()

    def connection(self) -> Connection:
        """The connection, outside of a transaction.

        Raises: what SQLAlchemy and the driver raise.
        """
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    @contextmanager
    def transaction(self, *, whole: bool = True, zone: str = "UTC") -> Iterator[Connection]:
        """The connection in a transaction that does not wait for ever, nor is waited for."""
        connection = self.connection()
        with connection.begin():
            self.dialect.begin(connection, zone, whole=whole)
            yield connection

    @contextmanager
    def definition(self) -> Iterator[Connection]:
        """The same to make or change tables: all others queue behind such a statement, so that it waits for seconds only."""
        connection = self.connection()
        with connection.begin():
            self.dialect.begin_definition(connection)
            yield connection

    def let_go(self) -> None:
        """Close the connection, whatever is open in it is rolled back; the next use makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.invalidate()
            with suppress(Exception):
                connection.close()

    def close(self) -> None:
        """Release everything."""
        self.let_go()
        self._engine.dispose()


def _postgresql(address: Address, name: str) -> Engine:
    parameters = {"application_name": name, "client_encoding": "utf8", **address.parameters}
    return sqlalchemy.create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(prepare_threshold=None, **parameters),
        poolclass=NullPool,
    )


def _mariadb(address: Address, name: str) -> Engine:
    def connect() -> pymysql.Connection:
        return mariadb_session.connect(address.parameters, name)

    engine = sqlalchemy.create_engine("mysql+pymysql://", creator=connect, poolclass=NullPool)
    event.listen(engine, "connect", lambda _, record: record.info.update(penstock_name=name))
    event.listen(engine, "commit", mariadb_session.let_go)
    event.listen(engine, "rollback", mariadb_session.let_go)
    return engine


def _sqlite(address: Address, *, create: bool) -> Engine:
    def connect() -> sqlite3.Connection:
        file = f"file:{quote(address.parameters['dbname'])}?mode={'rwc' if create else 'rw'}"
        return sqlite3.connect(file, uri=True, isolation_level=None, timeout=_BUSY_SECONDS, check_same_thread=False)

    engine = sqlalchemy.create_engine("sqlite://", creator=connect, poolclass=NullPool)
    # Python's driver begins transactions too late, and never for a savepoint: SQLAlchemy says when.
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine
