"""Properties of the source, with the names of Confluent's JDBC source."""

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
    """Properties of SqlSource."""

    user: str | None = prop("connection.user", None, doc="The user of the database.", importance=Importance.HIGH)
    password: Password | None = prop(
        "connection.password", None, doc="The user's password.", importance=Importance.HIGH
    )
    mode: Annotated[str, words("bulk", "incrementing", "timestamp", "timestamp+incrementing")] = prop(
        "mode",
        doc="How new rows are found: `incrementing` by a column whose values only increase, `timestamp` by one or more "
        "columns with the time of the last change, `timestamp+incrementing` by both, which distinguishes rows with the same "
        "timestamp. `bulk` reads everything again at each `poll.interval.ms`, at least once.",
        importance=Importance.HIGH,
    )
    incrementing_column: str | None = prop(
        "incrementing.column.name", None, doc="The integer column whose values only increase."
    )
    timestamp_columns: list[str] = prop(
        "timestamp.column.name",
        [],
        doc="The columns with the time of the last change of a row; the first one that is not null is used.",
    )
    topic_prefix: Annotated[str, not_blank] = prop(
        "topic.prefix",
        doc="Prefix of topic names, followed by the name of the table. With `query`, the name of the topic.",
        importance=Importance.HIGH,
    )
    whitelist: str = prop(
        "table.whitelist",
        "",
        doc="The tables to read, separated by commas, optionally qualified by schema, or by the URL's database and schema. "
        "Default: all tables. A name with a dot or a comma needs quotation marks; MariaDB also accepts backquotes.",
    )
    blacklist: str = prop("table.blacklist", "", doc="The tables not to read, in the same form.")
    schema_pattern: str | None = prop(
        "schema.pattern",
        None,
        doc="The schemas whose tables are read, as a LIKE pattern. Default: all except system schemas; for MariaDB, the "
        "database of the URL.",
    )
    query: str | None = prop(
        "query",
        None,
        doc="A SELECT to read instead of tables. It is used as a subquery, to which conditions are added.",
    )
    poll_interval_ms: Annotated[int, at_least(0), long] = prop(
        "poll.interval.ms", 5_000, doc="How often a table without new rows is polled."
    )
    table_poll_interval_ms: Annotated[int, at_least(1_000), long] = prop(
        "table.poll.interval.ms", 60_000, doc="How often to check for new and dropped tables."
    )
    ranges: Annotated[int, at_least(1)] = prop(
        "backlog.ranges",
        1,
        doc="Number of key ranges into which a backlog of one table is split, to be read in parallel by Spark's workers. "
        "Records are then in the order of the rows only within each range.",
    )
    timestamp_delay_ms: Annotated[int, at_least(0), long] = prop(
        "timestamp.delay.interval.ms",
        0,
        doc="Minimum age of rows by their timestamp. Only needed if timestamps are not set by the database: the source "
        "waits for open transactions of PostgreSQL and MariaDB in any case.",
    )
    numeric_mapping: Annotated[str, words(*NumericMapping)] = prop(
        "numeric.mapping",
        "none",
        doc="`none`: NUMERIC becomes Decimal, or a string if it has no precision. `precision_only`: integers of up to 2, 4, "
        "9 and 18 digits become int8, int16, int32 and int64. `best_fit`: in addition, numbers of up to 18 digits that have "
        "a fraction become float64. `best_fit_eager_double`: all numbers with a fraction become float64.",
    )
    db_timezone: Annotated[str, time_zone] = prop(
        "db.timezone",
        "UTC",
        doc="The time zone of columns without one (`timestamp`): an IANA name. When clocks in the zone are set back, the "
        "rows of that hour are skipped if they are found by such a column.",
    )
    validate_non_null: bool = prop(
        "validate.non.null",
        True,
        doc="Refuse tables in which the columns of `mode` may be null, since rows with null would be skipped.",
    )
    task_tables: str = prop(
        "task.tables",
        "",
        doc="The tables that a task reads. Set by the connector for each task; not for users.",
        importance=Importance.LOW,
    )

    task_state: str = prop(
        "task.state",
        "",
        doc="Fingerprint of the known tables, for the task that checks for others. Set by the connector; not for users.",
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
            raise ValueError("Only one SELECT is supported, not several statements")
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
            yield Problem(
                "incrementing.column.name",
                f"mode: {self.mode} needs the name of a column whose values only increase",
            )
        if "timestamp" in self.mode and not self.timestamp_columns:
            yield Problem(
                "timestamp.column.name", f"mode: {self.mode} needs the column with the time of the last change"
            )
        if self.ranges > 1 and self.mode == "bulk":
            yield Problem("backlog.ranges", "cannot be used with mode: bulk, which does not order rows; remove it")
        if self.whitelist and self.blacklist:
            yield Problem(
                "table.blacklist",
                "cannot be combined with table.whitelist, which names all tables to read; set only one of the two",
            )
        if self.query and (self.whitelist or self.blacklist or self.schema_pattern):
            yield Problem(
                "query", "is read instead of tables; remove table.whitelist, table.blacklist and schema.pattern"
            )
        if self.query and self.mode != "bulk" and (word := limit_of(self.query, _dialect(self.url))):
            yield Problem(
                "query",
                f"cannot end with {word} in mode: {self.mode}: rows beyond it would never be read; remove it, since "
                "batch.max.records and batch.max.bytes limit a batch",
            )

    @property
    def zone(self) -> ZoneInfo:
        """Time zone of columns without a zone."""
        return ZoneInfo(self.db_timezone)

    @property
    def catalog(self) -> str | None:
        """Database that is configured in addition to the URL, as in Confluent's source."""
        return self.open_properties("catalog.pattern").get("") or None

    @property
    def by_timestamp(self) -> bool:
        """Return whether the mode uses timestamp columns."""
        return "timestamp" in self.mode

    @property
    def order(self) -> str:
        """Mode and its columns as a string, to detect a change of the order of rows."""
        return json.dumps([self.mode, self.incrementing_column, *self.timestamp_columns])

    @property
    def by_number(self) -> bool:
        """Return whether the mode uses the incrementing column."""
        return "incrementing" in self.mode


def _dialect(url: str) -> Dialect:
    """Return the dialect of a URL, or an arbitrary one for an unknown database, which is reported separately."""
    return dialect_of_url(url) or DIALECTS[0]


_PACE: Final = "transient errors are retried with increasing delays, and reported in the status"
_IGNORED: Final[Mapping[str, str]] = {
    "batch.max.rows": "batch.max.records and batch.max.bytes limit a batch",
    "catalog.pattern": "connection.url determines which database is read, and schema.pattern which schemas",
    "connection.attempts": _PACE,
    "connection.backoff.ms": _PACE,
    "dialect.name": "connection.url determines the database",
    "max.retries": _PACE,
    "query.retry.attempts": _PACE,
    "retry.backoff.ms": _PACE,
    "table.monitoring.startup.polling.limit.ms": "tables are listed when the connector is planned",
    "transaction.isolation.mode": "each batch reads committed rows, and waits for transactions that may add earlier ones",
}
_REFUSED: Final[Mapping[str, str]] = {
    "incrementing.column.mapping": "all tables of a connector use one column name; create a connector for each name",
    "query.masked": "write it as query, with a variable (${secret:NAME:KEY}) for the secret part",
    "table.exclude.list": "name the tables in table.blacklist",
    "table.include.list": "name the tables in table.whitelist",
    "timestamp.columns.mapping": "all tables of a connector use one list of columns; create a connector for each list",
    "timestamp.initial": "set the initial offset with the annotation for offsets",
}
_AS_ALWAYS: Final[Mapping[str, tuple[str, str]]] = {
    "numeric.precision.mapping": ("false", "numeric.mapping: precision_only does the same"),
    "quote.sql.identifiers": ("always", "names are always quoted"),
    "timestamp.granularity": ("connect_logical", "records have Kafka Connect's Timestamp, in milliseconds"),
}
_TABLES: Final = frozenset({"TABLE", "PARTITIONED TABLE", "BASE TABLE"})
_VIEWS: Final = frozenset({"VIEW", "MATERIALIZED VIEW"})


def source_refusals(config: SqlSourceConfig) -> Iterable[Problem]:
    """Yield a problem for each property of Confluent's source that would change the rows read, but is not supported."""
    yield from refused(config, _REFUSED, _AS_ALWAYS)
    if suffix := config.open_properties("query.suffix").get("", "").strip():
        yield Problem("query.suffix", _suffix(suffix, _dialect(config.url)))
    types = _table_types(config)
    if unknown := types - _TABLES - _VIEWS:
        yield Problem("table.types", f"cannot read {', '.join(sorted(unknown))}: only tables and views are read")
    elif types and not types & _TABLES and not (config.whitelist or config.query):
        yield Problem("table.types", "views are read only by name: name the views in table.whitelist")


def _suffix(text: str, dialect: Dialect) -> str:
    if limit_of(text, dialect):
        return (
            "is not supported; remove it, since batch.max.records and batch.max.bytes limit a batch. Do not write LIMIT, "
            "OFFSET or FETCH into query, since rows beyond it would never be read"
        )
    return "is not supported: write the condition into query, in a connector for each table"


def source_warnings(config: SqlSourceConfig) -> Iterable[Problem]:
    """Yield a warning for each property of Confluent's source that has no effect, with what happens instead."""
    yield from ignored(config, _IGNORED)
    if _table_types(config):
        yield Problem(
            "table.types",
            "has no effect: tables and partitioned tables are read, and the views that table.whitelist names",
        )


def _table_types(config: SqlSourceConfig) -> set[str]:
    text = config.open_properties("table.types").get("", "")
    return {each.strip().upper() for each in text.split(",") if each.strip()}
