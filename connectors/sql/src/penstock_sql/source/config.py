"""The properties of the source, by the names of Confluent's JDBC source."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Final
from zoneinfo import ZoneInfo

from pydantic import ValidationInfo, field_validator

from penstock import Importance, Password, Problem, prop
from penstock.rules import at_least, long, not_blank, words
from penstock_sql.address import dialect_of_url
from penstock_sql.database_config import DatabaseConfig
from penstock_sql.dialects.base import Dialect
from penstock_sql.dialects.fields import NumericMapping
from penstock_sql.dialects.registry import DIALECTS
from penstock_sql.properties import ignored, refused, time_zone
from penstock_sql.source.query_text import bare, limit_of

__all__ = ["SqlSourceConfig", "source_refusals", "source_warnings"]


class SqlSourceConfig(DatabaseConfig):
    """Which rows become records."""

    user: str | None = prop("connection.user", None, doc="The user of the database.", importance=Importance.HIGH)
    password: Password | None = prop(
        "connection.password", None, doc="The user's password.", importance=Importance.HIGH
    )
    mode: Annotated[str, words("bulk", "incrementing", "timestamp", "timestamp+incrementing")] = prop(
        "mode",
        doc="How new rows are found: `incrementing` by a column that only grows, `timestamp` by one or more that say when a "
        "row changed, `timestamp+incrementing` by both, which tells rows of the same moment apart. `bulk` reads everything "
        "again at each `poll.interval.ms`, at least once.",
        importance=Importance.HIGH,
    )
    incrementing_column: str | None = prop(
        "incrementing.column.name", None, doc="The column that only grows, of whole numbers."
    )
    timestamp_columns: list[str] = prop(
        "timestamp.column.name",
        [],
        doc="The columns that say when a row changed; the first one that is not null counts.",
    )
    topic_prefix: Annotated[str, not_blank] = prop(
        "topic.prefix",
        doc="What the names of topics begin with; the rest is the table's. With `query`, the topic.",
        importance=Importance.HIGH,
    )
    whitelist: str = prop(
        "table.whitelist",
        "",
        doc="The tables to read, separated by commas, with or without their schema, and the database of the URL before it; "
        "all where none is named. A name with a dot or a comma needs quotation marks; MariaDB takes backquotes too.",
    )
    blacklist: str = prop("table.blacklist", "", doc="Tables not to read, likewise.")
    schema_pattern: str | None = prop(
        "schema.pattern",
        None,
        doc="The schemas whose tables are read, as a pattern of LIKE. Default: all but the system's; of MariaDB, the "
        "database of the URL.",
    )
    query: str | None = prop(
        "query",
        None,
        doc="A SELECT to be read in place of tables. It is used as a table: conditions are put around it.",
    )
    poll_interval_ms: Annotated[int, at_least(0), long] = prop(
        "poll.interval.ms", 5_000, doc="How often a table in which nothing was new is looked at."
    )
    table_poll_interval_ms: Annotated[int, at_least(1_000), long] = prop(
        "table.poll.interval.ms", 60_000, doc="How often it is looked whether there are other tables."
    )
    ranges: Annotated[int, at_least(1)] = prop(
        "backlog.ranges",
        1,
        doc="Into how many ranges of its keys a backlog of one table is cut, to be read in parallel by Spark's workers. Its "
        "records are then in the order of the rows within each range only.",
    )
    timestamp_delay_ms: Annotated[int, at_least(0), long] = prop(
        "timestamp.delay.interval.ms",
        0,
        doc="How old rows must be by their timestamp. Only needed where timestamps are not the database's own: open "
        "transactions of PostgreSQL and MariaDB are waited for anyway.",
    )
    numeric_mapping: Annotated[str, words(*NumericMapping)] = prop(
        "numeric.mapping",
        "none",
        doc="`none`: NUMERIC becomes Decimal, without a precision a text. `precision_only`: whole numbers of up to 2, 4, 9 "
        "and 18 digits become int8, int16, int32 and int64. `best_fit`: so do they, and up to 18 digits with a fraction "
        "become float64. `best_fit_eager_double`: all with a fraction do.",
    )
    db_timezone: Annotated[str, time_zone] = prop(
        "db.timezone",
        "UTC",
        doc="The time zone of columns that have none of their own (`timestamp`): an IANA name. Where its clocks are set "
        "back, rows of that hour are passed over if they are found by such a column.",
    )
    validate_non_null: bool = prop(
        "validate.non.null",
        True,
        doc="Refuse tables in which the columns of `mode` may be null, since rows with null would be passed over.",
    )
    task_tables: str = prop(
        "task.tables",
        "",
        doc="Which tables a task reads. Set by the connector for each task; not for users.",
        importance=Importance.LOW,
    )

    task_state: str = prop(
        "task.state",
        "",
        doc="Which tables there were, for the task that looks for others. Set by the connector; not for users.",
        importance=Importance.LOW,
    )

    open_prefixes = (
        "batch.max.rows",
        "catalog.pattern",
        "connection.attempts",
        "connection.backoff.ms",
        "dialect.name",
        "incrementing.column.mapping",
        "max.retries",
        "numeric.precision.mapping",
        "query.masked",
        "query.retry.attempts",
        "query.suffix",
        "quote.sql.identifiers",
        "retry.backoff.ms",
        "table.exclude.list",
        "table.include.list",
        "table.monitoring.startup.polling.limit.ms",
        "table.types",
        "timestamp.columns.mapping",
        "timestamp.granularity",
        "timestamp.initial",
        "transaction.isolation.mode",
    )

    @field_validator("query")
    @classmethod
    def _one_select(cls, query: str | None, info: ValidationInfo) -> str | None:
        if query is None or not query.strip():
            return None
        if ";" in bare(query, _dialect(info.data.get("url", ""))).rstrip().rstrip(";"):
            raise ValueError("Write one SELECT, not several statements")
        return query.strip().rstrip(";")

    choosing: ClassVar[tuple[str, ...]] = ("table.whitelist", "query")
    stand_ins: ClassVar[Mapping[str, str]] = {
        "connection.url": "jdbc:sqlite:none",
        "mode": "bulk",
        "topic.prefix": "none",
    }

    def refusals(self) -> Iterable[Problem]:
        return source_refusals(self)

    def broken_rules(self) -> Iterable[Problem]:
        if "incrementing" in self.mode and not self.incrementing_column:
            yield Problem("incrementing.column.name", f"mode: {self.mode} needs the name of a column that only grows")
        if "timestamp" in self.mode and not self.timestamp_columns:
            yield Problem("timestamp.column.name", f"mode: {self.mode} needs the column that says when a row changed")
        if self.ranges > 1 and self.mode == "bulk":
            yield Problem(
                "backlog.ranges", "mode: bulk knows no order of rows, and reads them in one piece: take it out"
            )
        if self.whitelist and self.blacklist:
            yield Problem("table.blacklist", "table.whitelist names all tables to read: set one of the two")
        if self.query and (self.whitelist or self.blacklist or self.schema_pattern):
            yield Problem(
                "query", "is read in place of tables: take table.whitelist, table.blacklist, schema.pattern out"
            )
        if self.query and self.mode != "bulk" and (word := limit_of(self.query, _dialect(self.url))):
            yield Problem(
                "query",
                f"cannot end with {word} in mode: {self.mode}: rows beyond it would never be read. Take it out: "
                "batch.max.records and batch.max.bytes bound a batch",
            )

    @property
    def zone(self) -> ZoneInfo:
        """Of columns without one."""
        return ZoneInfo(self.db_timezone)

    @property
    def catalog(self) -> str | None:
        """The database that is asked for beside the URL, as Confluent's source takes it."""
        return self.open_properties("catalog.pattern").get("") or None

    @property
    def by_timestamp(self) -> bool:
        """Whether a timestamp says what is new."""
        return "timestamp" in self.mode

    @property
    def order(self) -> str:
        """What rows are ordered by, in a word."""
        return json.dumps([self.mode, self.incrementing_column, *self.timestamp_columns])

    @property
    def by_number(self) -> bool:
        """Whether a number says what is new."""
        return "incrementing" in self.mode


def _dialect(url: str) -> Dialect:
    """The dialect of a URL, or any where it names none, which is a problem of its own."""
    return dialect_of_url(url) or DIALECTS[0]


_PACE: Final = "a failure that may pass is tried again with growing pauses, and the status tells why"
_IGNORED: Final[Mapping[str, str]] = {
    "batch.max.rows": "batch.max.records and batch.max.bytes bound a batch",
    "catalog.pattern": "connection.url says which database is read, and schema.pattern which schemas",
    "connection.attempts": _PACE,
    "connection.backoff.ms": _PACE,
    "dialect.name": "connection.url says which database it is",
    "max.retries": _PACE,
    "query.retry.attempts": _PACE,
    "retry.backoff.ms": _PACE,
    "table.monitoring.startup.polling.limit.ms": "tables are looked for when the connector is planned",
    "transaction.isolation.mode": "each batch reads what is committed, and waits for what may still be",
}
_REFUSED: Final[Mapping[str, str]] = {
    "incrementing.column.mapping": "one column name counts for all tables of a connector; make a connector for each name",
    "query.masked": "write it as query, with a variable (${secret:NAME:KEY}) for what is secret",
    "table.exclude.list": "name the tables in table.blacklist",
    "table.include.list": "name the tables in table.whitelist",
    "timestamp.columns.mapping": "one list of names counts for all tables of a connector; make a connector for each",
    "timestamp.initial": "set the offset where it should begin by the annotation for offsets",
}
_AS_ALWAYS: Final[Mapping[str, tuple[str, str]]] = {
    "numeric.precision.mapping": ("false", "numeric.mapping: precision_only does the same"),
    "quote.sql.identifiers": ("always", "names are always quoted"),
    "timestamp.granularity": ("connect_logical", "records have Kafka Connect's Timestamp, in milliseconds"),
}
_TABLES: Final = frozenset({"TABLE", "PARTITIONED TABLE", "BASE TABLE"})
_VIEWS: Final = frozenset({"VIEW", "MATERIALIZED VIEW"})


def source_refusals(config: SqlSourceConfig) -> Iterable[Problem]:
    """Properties of Confluent's source without which other rows would be read, each with the reason."""
    yield from refused(config, _REFUSED, _AS_ALWAYS)
    if suffix := config.open_properties("query.suffix").get("", "").strip():
        yield Problem("query.suffix", _suffix(suffix, _dialect(config.url)))
    types = _table_types(config)
    if unknown := types - _TABLES - _VIEWS:
        yield Problem("table.types", f"cannot read {', '.join(sorted(unknown))}: only tables and views are read")
    elif types and not types & _TABLES and not (config.whitelist or config.query):
        yield Problem("table.types", "cannot read views alone: name the views in table.whitelist")


def _suffix(text: str, dialect: Dialect) -> str:
    if limit_of(text, dialect):
        return (
            "is not supported. Take it out: batch.max.records and batch.max.bytes bound a batch. Do not write LIMIT, OFFSET "
            "or FETCH into query, where rows beyond it would never be read"
        )
    return "is not supported: write the condition into query, in a connector for each table"


def source_warnings(config: SqlSourceConfig) -> Iterable[Problem]:
    """Properties of Confluent's source that have no effect, each with what happens instead."""
    yield from ignored(config, _IGNORED)
    if _table_types(config):
        yield Problem(
            "table.types",
            "has no effect: tables and partitioned tables are read, and the views that table.whitelist names",
        )


def _table_types(config: SqlSourceConfig) -> set[str]:
    text = config.open_properties("table.types").get("", "")
    return {each.strip().upper() for each in text.split(",") if each.strip()}
