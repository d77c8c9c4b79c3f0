"""Interface between the connectors and a database."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final, NamedTuple, Protocol, cast
from zoneinfo import ZoneInfo

import sqlalchemy
from sqlalchemy import Connection, Engine, Select

from penstock import Problem
from penstock_sql.dialects.error_meaning import QUOTED, Meaning, has_value
from penstock_sql.dialects.fields import Field, NumericMapping
from penstock_sql.dialects.kinds import ColumnKind, kind_of
from penstock_sql.names import TableName

__all__ = [
    "Address",
    "Columns",
    "Dialect",
    "Horizon",
    "Place",
    "Row",
    "Transactions",
    "Url",
    "Write",
    "dialect_of",
    "with_dialect",
]


@dataclass(frozen=True, slots=True)
class Url:
    """Parsed database URL.

    Attributes:
        place: the location of the database for messages, without a password.
        parameters: parameters of the driver.
        warnings: parameters that have no effect, each with the reason.
    """

    place: str
    parameters: Mapping[str, Any] = field(repr=False)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a database.

    Attributes:
        dialect: the dialect of the database.
        place, parameters, warnings: as in `Url`.
    """

    dialect: "Dialect"
    place: str
    parameters: Mapping[str, Any] = field(repr=False)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of a table.

    Attributes:
        types: SQLAlchemy's types by column name.
        required: columns that are never null.
    """

    types: Mapping[str, Any]
    required: frozenset[str]


class Place(NamedTuple):
    """Position of a record: the index of its batch, and its index in the batch."""

    batch: int
    row: int


Row = tuple[Place, tuple[Any, ...]]

_IDENTICAL: Final = {int, str, bytes}
"""Types whose equal values are identical in every column. Equal values of other types may differ: 0.0 and -0.0, the Decimals
1 and 1.00."""


@dataclass(slots=True)
class Write:
    """Rows written to a table by one statement.

    Attributes:
        table, keys, columns, delete, kept: as in `Rows`.
        rows: each row with its record, in the order of the records.
        fixed: columns whose value the database accepts for new rows only.
    """

    table: TableName
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    delete: bool
    kept: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    fixed: frozenset[str] = frozenset()

    def last_rows(self) -> list[Row]:
        """Return the rows; of rows with identical keys only the last one.

        Keys that differ here may still be equal in the database, which compares them by the type of their column.
        """
        count = len(self.keys)
        keys = [row[:count] for _, row in self.rows]
        if not _IDENTICAL.issuperset({type(value) for key in keys for value in key}) or len(set(keys)) == len(keys):
            return self.rows
        last = {key: at for at, key in enumerate(keys)}
        return [self.rows[at] for at in sorted(last.values())]


class Horizon(Protocol):
    """Running transactions that may still commit rows that sort before rows that were already read."""

    def is_passed(self, connection: Connection) -> bool:
        """Return whether all of these transactions have ended."""

    def oldest(self, connection: Connection) -> str:
        """Describe the oldest transaction, and how to end it."""


class Transactions:
    """View of the running transactions of a database, shared by all tables of a task."""

    def begin(self) -> None:
        """Start the next pass over all tables."""

    def running(self, connection: Connection) -> Horizon | None:
        """Return the transactions that run now, or None if rows are committed in the order of their keys."""
        return None


_USUAL_BYTES: Final = 200


class Dialect(ABC):
    """Database-specific operations of the connectors. Stateless."""

    schemes: ClassVar[tuple[str, ...]]
    """Schemes of its URLs, without `jdbc:`."""
    example: ClassVar[str]
    """Example URL, for messages."""
    quote: ClassVar[str] = '"'
    """Quotation mark around names."""
    errors: ClassVar[tuple[type[Exception], ...]]
    """Exceptions that its driver raises."""
    is_unbounded: ClassVar[bool] = False
    """Whether the database supports infinity, and years before 1 and after 9999."""
    rounds: ClassVar[bool] = False
    """Whether time columns round to microseconds; otherwise they truncate."""
    not_code: ClassVar[re.Pattern[str]] = re.compile(
        r"(?P<text>'(?:[^']|'')*')|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?(?:\*/|$)", re.DOTALL
    )
    """Pattern of string literals (group `text`), quoted names and comments; of a nested comment, only the start matches."""
    is_server: ClassVar[bool] = True
    """Whether the database can be reached from several machines."""
    compares_rows: ClassVar[bool] = True
    """Whether an index serves row comparisons, such as (a, b) > (1, 2)."""
    first_moment: ClassVar[str] = "'0001-01-03'"
    """SQL constant for a time that is in the year 1 in every zone, of the type of the column that it is compared with."""
    tick: ClassVar[timedelta] = timedelta(0)
    """Maximum time from a row's timestamp to the statement that wrote the row."""
    timestamp_types: ClassVar[tuple[Any, Any]] = (None, None)
    """The driver's type codes of timestamps, without and with a zone."""

    has_schemas: ClassVar[bool] = True
    """Whether table names may be qualified by a schema, in addition to the database."""
    whole_types: ClassVar[frozenset[Any]] = frozenset()
    """The driver's type codes of integers, and of numbers of a fixed precision, which may be integers."""

    # Connections

    @abstractmethod
    def read_url(self, rest: str, user: str | None, password: str | None) -> Url:
        """Parse the rest of a URL after its scheme.

        Raises:
            ConfigError: the URL cannot be parsed, or has unsupported parameters. Lists all problems.
        """

    @abstractmethod
    def engine(self, address: Address, name: str, *, create: bool) -> Engine:
        """Create an engine without a pool.

        Args:
            address: the address of the database.
            name: the name of the connection on the server.
            create: create the file if it does not exist.
        """

    def exists(self, address: Address) -> bool:
        """Return whether the database exists, as far as this is known without a connection."""
        return True

    @abstractmethod
    def run(self, connection: Connection, statement: str) -> int:
        """Execute a statement verbatim, without parameters, and return how many rows it changed."""

    def name_problem(self, connection: Connection, name: str) -> str | None:
        """Return why this name is not valid for an object in the database, or None."""
        most = connection.dialect.max_identifier_length
        if len(name.encode(errors="replace")) <= most and "\0" not in name:
            return None
        return f"is longer than {most} bytes, or contains a NUL"

    # Writing

    @abstractmethod
    def begin(self, connection: Connection, zone: str) -> None:
        """Set the limits of this transaction, and the zone in which the database interprets timestamps without a zone."""

    @abstractmethod
    def begin_definition(self, connection: Connection) -> None:
        """Set the limits of a transaction that creates or changes a table."""

    @abstractmethod
    def end_others(self, connection: Connection, name: str) -> None:
        """End transactions of other connections with this name and user, left by an earlier start of the task."""

    @abstractmethod
    def prepare(self, connection: Connection, write: Write, mode: str, form: str) -> None:
        """Create the objects that `put` needs, outside of its savepoints."""

    @abstractmethod
    def put(self, connection: Connection, write: Write, rows: list[tuple[Any, ...]], mode: str, form: str) -> int:
        """Insert, upsert, update or delete rows, and return how many rows an update found."""

    def check(self, connection: Connection) -> None:
        """Check deferred constraints now instead of at the end of the transaction.

        Raises:
            Exception: the driver's error if a constraint is violated.
        """

    def violators(
        self,
        connection: Connection,
        writes: Sequence[Write],
        mode: str,
        form: Callable[[TableName], str],
        error: BaseException,
    ) -> set[Place]:
        """Return the records whose rows violate the constraint of an error of `check`; empty if they cannot be found."""
        return set()

    @abstractmethod
    def same_keys(self, connection: Connection, keys: Write, rows: list[tuple[Any, ...]], form: str) -> list[int]:
        """Number the primary keys, with the same number for keys that are equal by the types of their columns.

        `prepare` is called before.
        """

    # Errors

    @abstractmethod
    def meaning(self, error: Any) -> Meaning:
        """Classify one of `errors`."""

    @abstractmethod
    def words(self, error: Any) -> str:
        """Return the database's own message, without values of records."""

    @abstractmethod
    def may_be_of_a_row(self, error: Any) -> bool:
        """Return whether a row may have caused an error of writing rows; if so, rows are retried one by one."""

    def words_of_row(self, error: Any, columns: Sequence[str], row: Sequence[Any]) -> tuple[str, str | None]:
        """Return the database's own message about a refused row, without the row's values, and the column if known."""
        text = self.words(error) if self.meaning(error) is Meaning.DATA else QUOTED.sub("...", self.words(error))
        return "the database rejects a value" if has_value(text, row) else text, None

    def raised_text(self, connection: Connection, error: BaseException) -> str | None:
        """Return which function raised an error, and its message, or None if these may contain a value of a row."""
        return None

    # Tables

    def table_form(self, connection: Connection, table: TableName) -> str:
        """Return a fingerprint of a table's columns and types, and of everything else that `put` depends on.

        The table cannot change until the transaction ends.

        Raises:
            ConnectError: rows of the table cannot be rolled back.
            Exception: the driver's error if there is no such table.
        """
        return ""

    def require_transactions(self, connection: Connection, table: TableName) -> None:
        """Check that writes to a table can be rolled back.

        Raises:
            ConnectError: they cannot.
        """

    def may_keep(self, connection: Connection, table: TableName, columns: Sequence[str]) -> Sequence[str]:
        """Return those of the columns whose stored values this user may read and write."""
        return columns

    def column_name(self, described: str) -> str:
        """Return the name of a column, given the name that SQLAlchemy reports."""
        return described

    def column_type(self, generic: Any, *, key: bool = False) -> Any:
        """Return the type of a new column for SQLAlchemy's generic type.

        Args:
            generic: the type, which holds every value of a record's schema.
            key: the column is part of the primary key.
        """
        return generic

    def kind_of(self, column: Any) -> ColumnKind:
        """Return the kind of a column, which determines how values are written, by its type in SQLAlchemy."""
        return kind_of(column)

    def table_options(self, connection: Connection) -> Mapping[str, Any]:
        """Return SQLAlchemy's options for a new table."""
        return {}

    def adds_if_missing(self, connection: Connection) -> bool:
        """Return whether ALTER TABLE supports ADD COLUMN IF NOT EXISTS."""
        return False

    def same_column(self, name: str, others: Iterable[str]) -> str | None:
        """Return which of the other columns has the same name for the database, or None."""
        return None

    # Reading

    def source_problems(self, address: Address, config: Any) -> Iterable[Problem]:
        """Return why this database cannot be read as configured, without a connection."""
        return ()

    def reading_problems(self, connection: Connection) -> Iterable[Problem]:
        """Return why this user can read tables only in bulk mode, unless the reason is transient."""
        return ()

    @abstractmethod
    def tables(self, connection: Connection, pattern: str | None, schemas: Collection[str]) -> list[TableName]:
        """Return the tables of schemas that match a LIKE pattern; without one, of the default and the named schemas."""

    def database_name(self, connection: Connection) -> str | None:
        """Return the name of the connected database, which may qualify a table name; None if databases are schemas."""
        return None

    def views(self, connection: Connection, name: TableName) -> list[TableName]:
        """Return the views that a name refers to, in any schema if it names none."""
        return []

    @abstractmethod
    def columns(self, connection: Connection, table: TableName) -> Columns | None:
        """Return the columns of a table, or None if it does not exist or is not visible to this user."""

    def may_have_large_rows(self, connection: Connection, table: TableName) -> bool:
        """Return whether rows may be larger than a few kilobytes; False only if it is certain."""
        return True

    def row_bytes(self, connection: Connection, every: Select[Any], rows: Select[Any]) -> int:
        """Return the approximate size of a row in bytes.

        Args:
            connection: in a transaction.
            every: a query of all rows, for their columns.
            rows: a query of a sample of the rows.
        """
        return _USUAL_BYTES

    def require_readable(self, connection: Connection, of: TableName | str) -> None:
        """Check that the server knows all transactions that commit rows.

        Raises:
            ConnectError: it does not.
        """

    def begin_reading(self, connection: Connection) -> None:
        """Declare the session read-only."""

    def has_rows(self, connection: Connection, one: Select[Any]) -> bool:
        """Return False if a cheap check is certain that a statement returns no rows, else True.

        Called outside of a transaction.
        """
        return True

    def transactions(self) -> Transactions:
        """Create the view of running transactions for a task."""
        return Transactions()

    def now(self, connection: Connection) -> datetime:
        """Return the time on the server's clock."""
        at: datetime = connection.execute(sqlalchemy.select(sqlalchemy.func.clock_timestamp())).scalar_one()
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at

    @abstractmethod
    def cursor(self, connection: Connection) -> Any:
        """Return a cursor for `rows`. Its `description` is available after the first row was read."""

    @abstractmethod
    def rows(
        self, connection: Connection, cursor: Any, statement: Select[Any], *, large: bool
    ) -> Generator[Any, None, None]:
        """Yield rows while they arrive from the database, one by one if they may be large."""

    @abstractmethod
    def fields(
        self, cursor: Any, columns: Columns | None, zone: ZoneInfo, mapping: NumericMapping
    ) -> Mapping[str, Field]:
        """Return the record field for each column of the result, as a required field.

        Args:
            cursor: a cursor of `cursor`, after the first row.
            columns: the columns of the table; None for a query.
            zone: the zone of timestamps without a zone.
            mapping: the mapping of numbers (`numeric.mapping`).
        """


_DIALECT: Final = "penstock_dialect"


def with_dialect(engine: Engine, dialect: Dialect) -> Engine:
    """Return the engine with the dialect attached to its connections."""
    return engine.execution_options(**{_DIALECT: dialect})


def dialect_of(connection: Connection) -> Dialect:
    """Return the dialect attached by `with_dialect`."""
    return cast("Dialect", connection.get_execution_options()[_DIALECT])
