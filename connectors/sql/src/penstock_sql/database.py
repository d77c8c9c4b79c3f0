"""A connection to a database, made when it is needed and given up after an error."""

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
        address: where it is.
        name: by which the server knows the connection.
        create: a file of SQLite that is not there is made.
    """

    def __init__(self, address: Address, name: str, *, create: bool = False) -> None:
        self.place = address.place
        self.dialect = address.dialect
        self._address = address
        self._engine = with_dialect(self.dialect.engine(address, name, create=create), self.dialect)
        self._connection: Connection | None = None

    @property
    def exists(self) -> bool:
        """Return whether there is something to connect to: False for a file that is still to be made."""
        return self.dialect.exists(self._address)

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
    def transaction(self, *, zone: str = "UTC") -> Iterator[Connection]:
        """The connection in a transaction that does not wait for ever, nor is waited for."""
        connection = self.connection()
        with connection.begin():
            self.dialect.begin(connection, zone)
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
