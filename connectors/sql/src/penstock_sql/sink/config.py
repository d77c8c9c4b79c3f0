"""Properties of the sink, with the names of Confluent's JDBC sink."""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Final

from penstock import Importance, Password, Problem, prop
from penstock.rules import not_blank, words
from penstock_sql.database_config import DatabaseConfig
from penstock_sql.names import TableName, table_name
from penstock_sql.properties import ignored, refused, time_zone

__all__ = [
    "KAFKA_COLUMNS",
    "PACE",
    "UNAVAILABLE",
    "SqlSinkConfig",
    "sink_refusals",
    "sink_warnings",
]

KAFKA_COLUMNS: Final = ("__connect_topic", "__connect_partition", "__connect_offset")
"""Columns of `pk.mode: kafka`, unless `pk.fields` names others."""
UNAVAILABLE: Final = "__debezium_unavailable_value"
"""Debezium's default placeholder for a large value that was not available to its source."""


class SqlSinkConfig(DatabaseConfig):
    """Properties of SqlSink.

    Attributes:
        envelopes: whether Debezium's change events are unwrapped.
        skips_deletes: whether deletions that are not enabled are skipped instead of refused.
        called: names of properties in the user's configuration, if they differ from the names here.
    """

    envelopes: ClassVar[bool] = False
    skips_deletes: ClassVar[bool] = False
    called: ClassVar[Mapping[str, str]] = {}

    user: str | None = prop("connection.user", None, doc="The user of the database.", importance=Importance.HIGH)
    password: Password | None = prop(
        "connection.password", None, doc="The user's password.", importance=Importance.HIGH
    )
    table_name_format: Annotated[str, not_blank] = prop(
        "table.name.format",
        "${topic}",
        doc="The table of a record; `${topic}` is replaced by its topic. A dot separates the schema from the table, unless "
        'it is quoted: `shop.${topic}`, `"${topic}"`.',
    )
    insert_mode: Annotated[str, words("insert", "upsert", "update", any_case=True)] = prop(
        "insert.mode",
        "insert",
        doc="`insert` adds a row for each record, `upsert` adds or replaces the row of its primary key, `update` changes "
        "it if it exists.",
        importance=Importance.HIGH,
    )
    pk_mode: Annotated[str, words("none", "kafka", "record_key", "record_value", any_case=True)] = prop(
        "pk.mode",
        "none",
        doc="Origin of the primary key: none, the record's position in Kafka, its key, or fields of its value.",
        importance=Importance.HIGH,
    )
    pk_fields: list[str] = prop(
        "pk.fields",
        [],
        doc="The columns of the primary key: fields of the record's key or value (default: all fields), one column for a "
        "key that is a single value, or three columns for topic, partition and offset.",
    )
    delete_enabled: bool = prop(
        "delete.enabled",
        False,
        doc="A tombstone deletes the row of its key, which needs `pk.mode: record_key`. If false, a tombstone is refused.",
    )
    fields_whitelist: list[str] = prop(
        "fields.whitelist",
        [],
        doc="The fields of the value that become columns, in addition to the primary key. Default: all fields.",
    )
    auto_create: bool = prop(
        "auto.create", False, doc="Create a missing table with columns for the schema of its first record."
    )
    auto_evolve: bool = prop(
        "auto.evolve",
        False,
        doc="Add nullable columns for fields that the table lacks, with types for their schemas. Columns are never changed "
        "or dropped.",
    )
    db_timezone: Annotated[str, time_zone] = prop(
        "db.timezone",
        "UTC",
        doc="The time zone of columns without one (`timestamp`): an IANA name.",
    )

    open_prefixes = (
        "batch.size",
        "connection.attempts",
        "connection.backoff.ms",
        "dialect.name",
        "max.retries",
        "mssql.use.merge.holdlock",
        "quote.sql.identifiers",
        "retry.backoff.ms",
        "table.types",
        "trim.sensitive.log",
    )

    def name_of(self, name: str) -> str:
        """Return the name of a property in the user's configuration."""
        return self.called.get(name, name)

    def placeholder(self) -> str:
        """Return the placeholder that Debezium's sources write for an unavailable value."""
        return UNAVAILABLE

    def table(self, topic: str) -> TableName:
        """Return the table of a topic.

        Raises:
            DataError: no table can have that name.
        """
        return table_name(self.table_name_format, topic)

    def takes(self, topic: str, field: str) -> bool:
        """Return whether a field that is not in the primary key becomes a column."""
        return not self.fields_whitelist or field in self.fields_whitelist

    def refusals(self) -> Iterable[Problem]:
        return sink_refusals(self)

    def broken_rules(self) -> Iterable[Problem]:
        if self.insert_mode != "insert" and self.pk_mode == "none":
            yield Problem(
                "pk.mode",
                f"insert.mode: {self.insert_mode} needs a primary key: set pk.mode to record_key, record_value or kafka",
            )
        if self.delete_enabled and self.pk_mode != "record_key":
            yield Problem("delete.enabled", "deletes rows by the record's key: set pk.mode: record_key")
        if self.pk_mode == "kafka" and len(self.pk_fields) not in (0, 3):
            yield Problem(
                "pk.fields", "pk.mode: kafka has three columns, for topic, partition and offset; name three, or none"
            )
        if len(set(self.pk_fields)) != len(self.pk_fields):
            yield Problem("pk.fields", "names a column twice")


PACE: Final = (
    "transient errors are retried with increasing delays, for as long as sink.retry.timeout.ms allows, and reported in the "
    "status"
)
"""Reason why properties for retries have no effect."""
_IGNORED: Final[Mapping[str, str]] = {
    "batch.size": "a batch is written as a whole, in one transaction; max.poll.records limits it",
    "connection.attempts": PACE,
    "connection.backoff.ms": PACE,
    "dialect.name": "connection.url determines the database",
    "max.retries": PACE,
    "mssql.use.merge.holdlock": "SQL Server is not supported",
    "retry.backoff.ms": PACE,
    "table.types": "tables, partitioned tables and writable views are all accepted",
    "trim.sensitive.log": "values of records are never logged",
}
_AS_ALWAYS: Final[Mapping[str, tuple[str, str]]] = {
    "quote.sql.identifiers": (
        "always",
        "names are always quoted, since topics and fields could contain SQL; change them with a transform (RegexRouter, "
        "ReplaceField)",
    ),
}


def sink_refusals(config: SqlSinkConfig) -> Iterable[Problem]:
    """Return a problem for each property of Confluent's sink that would change the written data, but is not supported."""
    return refused(config, {}, _AS_ALWAYS)


def sink_warnings(config: SqlSinkConfig) -> Iterable[Problem]:
    """Return a warning for each property of Confluent's sink that has no effect, with what happens instead."""
    return ignored(config, _IGNORED)
