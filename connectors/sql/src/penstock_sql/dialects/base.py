"""What the connectors need from a database, whatever its kind."""

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
from penstock_sql.dialects.fields import Field, NumericMapping
from penstock_sql.dialects.kinds import ColumnKind, kind_of
from penstock_sql.dialects.meaning import QUOTED, Meaning, has_value
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
    """What a URL says of a database.

    Attributes:
        place: for messages, without a password.
        parameters: of the driver.
        warnings: parameters that have no effect, each with the reason.
    """

    place: str
    parameters: Mapping[str, Any] = field(repr=False)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Address:
    """A database, and how to reach it.

    Attributes:
        dialect: of the database.
        place, parameters, warnings: as of `Url`.
    """

    dialect: "Dialect"
    place: str
    parameters: Mapping[str, Any] = field(repr=False)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table.

    Attributes:
        types: by name, as SQLAlchemy has them.
        required: those that are never null.
    """

    types: Mapping[str, Any]
    required: frozenset[str]


class Place(NamedTuple):
    """A record: the number of its batch, and its row there."""

    batch: int
    row: int


Row = tuple[Place, tuple[Any, ...]]

_IDENTICAL: Final = {int, str, bytes}
"""Types whose equal values are the same to every column. Others may differ: 0.0 and -0.0, Decimals by their digits."""


@dataclass(slots=True)
class Write:
    """Rows that go into a table by one statement.

    Attributes:
        table, keys, columns, delete, kept: as of `Rows`.
        rows: each row with its record, in the order of the records.
        fixed: columns whose value the database takes for new rows only.
    """

    table: TableName
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    delete: bool
    kept: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    fixed: frozenset[str] = frozenset()

    def last_rows(self) -> list[Row]:
        """The rows, of those with identical keys only the last one.

        Keys that differ may still be the same to the database, which compares them by the type of their column.
        """
        count = len(self.keys)
        keys = [row[:count] for _, row in self.rows]
        if not _IDENTICAL.issuperset({type(value) for key in keys for value in key}) or len(set(keys)) == len(keys):
            return self.rows
        last = {key: at for at, key in enumerate(keys)}
        return [self.rows[at] for at in sorted(last.values())]


class Horizon(Protocol):
    """Transactions that may still bring rows that sort before rows that were seen."""

    def is_passed(self, connection: Connection) -> bool:
        """Return whether all of them have ended."""

    def oldest(self, connection: Connection) -> str:
        """Describe the one that began first, and how to end it."""


class Transactions:
    """What a task knows about the transactions that run in a database."""

    def begin(self) -> None:
        """Begin another look at all tables."""

    def running(self, connection: Connection) -> Horizon | None:
        """Return the transactions that run now; None where rows are committed in the order of their keys."""
        return None


_USUAL_BYTES: Final = 200


class Dialect(ABC):
    """What the connectors need from one kind of database. It has no state of its own."""

    schemes: ClassVar[tuple[str, ...]]
    """What its URLs begin with, after `jdbc:`."""
    example: ClassVar[str]
    """A URL, for messages."""
    quote: ClassVar[str] = '"'
    """The mark around names."""
    errors: ClassVar[tuple[type[Exception], ...]]
    """What its driver raises."""
    is_unbounded: ClassVar[bool] = False
    """Whether columns have infinity, and years before 1 and after 9999."""
    rounds: ClassVar[bool] = False
    """Whether columns of time round to microseconds; others cut."""
    not_code: ClassVar[re.Pattern[str]] = re.compile(
        r"(?P<text>'(?:[^']|'')*')|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?(?:\*/|$)", re.DOTALL
    )
    """Texts (the group `text`), quoted names and comments in a query; of comments that nest, their beginning alone."""
    is_server: ClassVar[bool] = True
    """Whether it can be reached from several machines."""
    compares_rows: ClassVar[bool] = True
    """Whether an index serves comparisons of several columns at once."""
    first_moment: ClassVar[str] = "'0001-01-03'"
    """A constant in the year 1, whatever the zone, of the type of the column that it is compared with."""
    tick: ClassVar[timedelta] = timedelta(0)
    """By how much the moments of rows may lie before the moment of their statement."""
    timestamp_types: ClassVar[tuple[Any, Any]] = (None, None)
    """The driver's types of timestamps, without and with a zone."""

    has_schemas: ClassVar[bool] = True
    """Whether the name of a table may be qualified by a schema, besides the name of the database."""
    whole_types: ClassVar[frozenset[Any]] = frozenset()
    """The driver's types of whole numbers, and of numbers of a fixed precision, which may be whole."""

    # Connections

    @abstractmethod
    def read_url(self, rest: str, user: str | None, password: str | None) -> Url:
        """Read what follows the scheme of a URL.

        Raises:
            ConfigError: it cannot be read, or has parameters that cannot be obeyed; all of them.
        """

    @abstractmethod
    def engine(self, address: Address, name: str, *, create: bool) -> Engine:
        """Make an engine without a pool.

        Args:
            address: where the database is.
            name: by which the server knows the connection.
            create: make a file that does not exist.
        """

    def exists(self, address: Address) -> bool:
        """Return whether there is something to connect to."""
        return True

    @abstractmethod
    def run(self, connection: Connection, statement: str) -> int:
        """Carry out a statement as it is, without parameters, and return how many rows it changed."""

    @abstractmethod
    def name_problem(self, connection: Connection, name: str) -> str | None:
        """Return why the database cannot have an object of this name, or None."""

    # Writing

    @abstractmethod
    def begin(self, connection: Connection, zone: str) -> None:
        """Bound this transaction. Texts without a time zone are read in this one."""

    @abstractmethod
    def begin_definition(self, connection: Connection) -> None:
        """Bound a transaction that creates or changes a table."""

    @abstractmethod
    def end_others(self, connection: Connection, name: str) -> None:
        """End transactions of other connections of this name and user, which an earlier start of the task has left."""

    @abstractmethod
    def prepare(self, connection: Connection, write: Write, mode: str, form: str) -> None:
        """Create what `put` needs outside of its savepoints."""

    @abstractmethod
    def put(self, connection: Connection, write: Write, rows: list[tuple[Any, ...]], mode: str, form: str) -> int:
        """Insert, upsert, update or delete rows, and return how many rows an update has found."""

    def check(self, connection: Connection) -> None:
        """Check now what would be checked at the end of the transaction.

        Raises:
            Exception: what the driver raises where a constraint is violated.
        """

    def violators(
        self,
        connection: Connection,
        writes: Sequence[Write],
        mode: str,
        form: Callable[[TableName], str],
        error: BaseException,
    ) -> set[Place]:
        """Return the records whose rows violate the constraint of an error of `check`; empty where nothing tells."""
        return set()

    @abstractmethod
    def same_keys(self, connection: Connection, keys: Write, rows: list[tuple[Any, ...]], form: str) -> list[int]:
        """Number the primary keys, with the same number for those that are equal by the types of their columns.

        `prepare` is called before.
        """

    # Errors

    @abstractmethod
    def meaning(self, error: Any) -> Meaning:
        """Return what follows from one of `errors`."""

    @abstractmethod
    def words(self, error: Any) -> str:
        """Return the database's own words, without values of records."""

    @abstractmethod
    def may_be_of_a_row(self, error: Any) -> bool:
        """Return whether a row may be the cause of an error of writing rows: then they are tried one by one."""

    def words_of_row(self, error: Any, columns: Sequence[str], row: Sequence[Any]) -> tuple[str, str | None]:
        """Return the database's own words on a row that it refuses, without its values, and the column if it is known."""
        text = self.words(error) if self.meaning(error) is Meaning.DATA else QUOTED.sub("...", self.words(error))
        return "the database refuses a value" if has_value(text, row) else text, None

    def raised_text(self, connection: Connection, error: BaseException) -> str | None:
        """Return which function has raised an error, and its text, if both are known not to hold a value of a row."""
        return None

    # Tables

    def table_form(self, connection: Connection, table: TableName) -> str:
        """Return the columns of a table with their types, and whatever else `put` depends on, as one word.

        They stay so until the transaction ends.

        Raises:
            ConnectError: rows of the table cannot be rolled back.
            Exception: what the driver raises if there is no such table.
        """
        return ""

    def require_transactions(self, connection: Connection, table: TableName) -> None:
        """Check that what is written to a table can be rolled back.

        Raises:
            ConnectError: it cannot.
        """

    def may_keep(self, connection: Connection, table: TableName, columns: Sequence[str]) -> Sequence[str]:
        """Return those of the columns whose stored values this user may read and write."""
        return columns

    def column_name(self, described: str) -> str:
        """Return the name of a column from the one that SQLAlchemy reports."""
        return described

    def column_type(self, generic: Any, *, key: bool = False) -> Any:
        """Return the type of a new column from SQLAlchemy's generic one.

        Args:
            generic: the type, which holds every value of a record's schema.
            key: the column is part of the primary key.
        """
        return generic

    def kind_of(self, column: Any) -> ColumnKind:
        """Return what decides how values are written into a column, by its type in SQLAlchemy."""
        return kind_of(column)

    def table_options(self, connection: Connection) -> Mapping[str, Any]:
        """Return SQLAlchemy's options for a new table."""
        return {}

    def adds_if_missing(self, connection: Connection) -> bool:
        """Return whether ALTER TABLE knows ADD COLUMN IF NOT EXISTS."""
        return False

    def same_column(self, name: str, others: Iterable[str]) -> str | None:
        """Return the one of other columns that has the same name to the database."""
        return None

    # Reading

    def source_problems(self, address: Address, config: Any) -> Iterable[Problem]:
        """Return what keeps this database from being read as configured, without a connection."""
        return ()

    def reading_problems(self, connection: Connection) -> Iterable[Problem]:
        """Return what keeps this user from reading anything but the whole tables, if it will not pass by itself."""
        return ()

    @abstractmethod
    def tables(self, connection: Connection, pattern: str | None, schemas: Collection[str]) -> list[TableName]:
        """Return the tables of schemas like a pattern, or of the usual schemas and those that are named."""

    def database_name(self, connection: Connection) -> str | None:
        """Return the name of the database that may qualify every table; None where databases are schemas."""
        return None

    def views(self, connection: Connection, name: TableName) -> list[TableName]:
        """Return the views of a name."""
        return []

    @abstractmethod
    def columns(self, connection: Connection, table: TableName) -> Columns | None:
        """Return the columns of a table, or None if there is no such table or this user does not see it."""

    def may_have_large_rows(self, connection: Connection, table: TableName) -> bool:
        """Return whether rows may have more than some kilobytes; False only where it is certain."""
        return True

    def row_bytes(self, connection: Connection, every: Select[Any], rows: Select[Any]) -> int:
        """Return about how many bytes a row has.

        Args:
            connection: in a transaction.
            every: all rows, for their columns.
            rows: a sample.
        """
        return _USUAL_BYTES

    def require_readable(self, connection: Connection, of: TableName | str) -> None:
        """Check that the server knows all transactions that bring rows.

        Raises:
            ConnectError: it does not.
        """

    def begin_reading(self, connection: Connection) -> None:
        """Declare the session one that only reads."""

    def has_rows(self, connection: Connection, one: Select[Any]) -> bool:
        """Return False if it is certain, and cheap to know, that a statement returns no row.

        It is called outside of a transaction.
        """
        return True

    def transactions(self) -> Transactions:
        """Return what a new task knows about the transactions that run."""
        return Transactions()

    def now(self, connection: Connection) -> datetime:
        """Return the time by the clock of the server."""
        at: datetime = connection.execute(sqlalchemy.select(sqlalchemy.func.clock_timestamp())).scalar_one()
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at

    @abstractmethod
    def cursor(self, connection: Connection) -> Any:
        """Return a cursor for `rows`, whose `description` is known once the first row was read."""

    @abstractmethod
    def rows(
        self, connection: Connection, cursor: Any, statement: Select[Any], *, large: bool
    ) -> Generator[Any, None, None]:
        """Read rows as they come from the database: one at a time where they may be large."""

    @abstractmethod
    def fields(
        self, cursor: Any, columns: Columns | None, zone: ZoneInfo, mapping: NumericMapping
    ) -> Mapping[str, Field]:
        """Return the field of a record that each column of the result becomes, required.

        Args:
            cursor: of `cursor`, after the first row.
            columns: of the table; None for a query.
            zone: of timestamps without one.
            mapping: of numbers (`numeric.mapping`).
        """


_DIALECT: Final = "penstock_dialect"


def with_dialect(engine: Engine, dialect: Dialect) -> Engine:
    """Return the engine, whose connections know their dialect."""
    return engine.execution_options(**{_DIALECT: dialect})


def dialect_of(connection: Connection) -> Dialect:
    """Return the dialect of a connection of `with_dialect`."""
    return cast("Dialect", connection.get_execution_options()[_DIALECT])
