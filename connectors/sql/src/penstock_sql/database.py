"""Database connection, opened when needed and discarded after an error."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection

from penstock import Problem
from penstock_sql.dialects.base import Address, with_dialect
from penstock_sql.failures import FOREIGN, Meaning, meaning, words

__all__ = ["Database"]


class Database:
    """One connection to a database, for one thread.

    Args:
        address: the address of the database.
        name: the name of the connection on the server.
        create: create the SQLite file if it does not exist.
    """

    def __init__(self, address: Address, name: str, *, create: bool = False) -> None:
        self.place = address.place
        self.dialect = address.dialect
        self._address = address
        self._engine = with_dialect(self.dialect.engine(address, name, create=create), self.dialect)
        self._connection: Connection | None = None

    @property
    def exists(self) -> bool:
        """Return whether the database exists, as far as this is known without a connection; False for a missing file."""
        return self.dialect.exists(self._address)

    def refusal(self) -> Iterator[Problem]:
        """Yield why the database cannot be connected to, unless the error is transient."""
        try:
            self.connection()
        except FOREIGN as e:
            if meaning(e) is not Meaning.PASSING:
                blamed = "connection.password" if "password" in words(e) else "connection.url"
                remedy = "check the URL, the user and the password"
                yield Problem(blamed, f"cannot connect to {self.place}: {words(e)}; {remedy}")
        finally:
            self.close()

    def connection(self) -> Connection:
        """Return the open connection, outside of a transaction; connect first if needed.

        Raises: any error of SQLAlchemy and the driver.
        """
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    @contextmanager
    def transaction(self, *, zone: str = "UTC") -> Iterator[Connection]:
        """Run a transaction that limits how long it waits for other transactions and how long they wait for it."""
        connection = self.connection()
        with connection.begin():
            self.dialect.begin(connection, zone)
            yield connection

    @contextmanager
    def definition(self) -> Iterator[Connection]:
        """Run a transaction that creates or changes tables.

        It waits only a few seconds for locks, since such a statement blocks all other sessions while it waits.
        """
        connection = self.connection()
        with connection.begin():
            self.dialect.begin_definition(connection)
            yield connection

    def let_go(self) -> None:
        """Close the connection, which rolls back its open transaction. The next use opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.invalidate()
            with suppress(Exception):
                connection.close()

    def close(self) -> None:
        """Close the connection and release its engine."""
        self.let_go()
        self._engine.dispose()
