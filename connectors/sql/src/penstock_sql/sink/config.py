"""The properties of the sink, by the names of Confluent's JDBC sink."""

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
"""The columns of `pk.mode: kafka`, unless `pk.fields` names others."""
UNAVAILABLE: Final = "__debezium_unavailable_value"
"""What Debezium writes for a large value that it does not have, unless its source is configured otherwise."""


class SqlSinkConfig(DatabaseConfig):
    """How records become rows.

    Attributes:
        envelopes: whether Debezium's change events are opened.
        skips_deletes: whether deletions that are not enabled are passed over, in place of being refused.
        called: what users of the connector call these properties, where it is not by the names here.
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
        doc="The table of a record; `${topic}` stands for its topic. A point parts the schema from the table, unless "
        'it stands in quotation marks: `shop.${topic}`, `"${topic}"`.',
    )
    insert_mode: Annotated[str, words("insert", "upsert", "update", any_case=True)] = prop(
        "insert.mode",
        "insert",
        doc="`insert` adds a row for each record, `upsert` adds or replaces the row of its primary key, `update` changes "
        "it where there is one.",
        importance=Importance.HIGH,
    )
    pk_mode: Annotated[str, words("none", "kafka", "record_key", "record_value", any_case=True)] = prop(
        "pk.mode",
        "none",
        doc="Where the primary key comes from: nowhere, the place of the record in Kafka, its key, or fields of its value.",
        importance=Importance.HIGH,
    )
    pk_fields: list[str] = prop(
        "pk.fields",
        [],
        doc="The columns of the primary key: fields of the record's key or value (all fields where none is named), the "
        "one column for a key that is a single value, or three columns for topic, partition and offset.",
    )
    delete_enabled: bool = prop(
        "delete.enabled",
        False,
        doc="A tombstone deletes the row of its key. Needs `pk.mode: record_key`. Without it a tombstone is refused.",
    )
    fields_whitelist: list[str] = prop(
        "fields.whitelist",
        [],
        doc="The fields of the value that become columns, besides the primary key; all where none is named.",
    )
    auto_create: bool = prop(
        "auto.create", False, doc="Create a table that is missing, by the schema of the first record for it."
    )
    auto_evolve: bool = prop(
        "auto.evolve",
        False,
        doc="Add columns for fields that the table lacks, by their schemas. They allow null. No column is ever changed "
        "or dropped.",
    )
    db_timezone: Annotated[str, time_zone] = prop(
        "db.timezone",
        "UTC",
        doc="The time zone of columns that have none of their own (`timestamp`): an IANA name.",
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
        """What users of the connector call a property."""
        return self.called.get(name, name)

    def placeholder(self) -> str:
        """What Debezium's sources write for a value that they do not have."""
        return UNAVAILABLE

    def table(self, topic: str) -> TableName:
        """The table of a topic.

        Raises:
            DataError: no table can have that name.
        """
        return table_name(self.table_name_format, topic)

    def takes(self, topic: str, field: str) -> bool:
        """Whether a field that is not of the primary key becomes a column."""
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
                "pk.fields", "pk.mode: kafka has three columns, for topic, partition and offset: name three, or none"
            )
        if len(set(self.pk_fields)) != len(self.pk_fields):
            yield Problem("pk.fields", "names a column twice")


PACE: Final = (
    "a failure that may pass is tried again with growing pauses for as long as sink.retry.timeout.ms allows, and the status "
    "tells why"
)
"""Why properties of tries and pauses have no effect."""
_IGNORED: Final[Mapping[str, str]] = {
    "batch.size": "a batch is written as a whole, in one transaction; max.poll.records bounds it",
    "connection.attempts": PACE,
    "connection.backoff.ms": PACE,
    "dialect.name": "connection.url says which database it is",
    "max.retries": PACE,
    "mssql.use.merge.holdlock": "SQL Server is not supported",
    "retry.backoff.ms": PACE,
    "table.types": "a table, a partitioned table or a view that can be written to is taken as it is",
    "trim.sensitive.log": "values of records are never logged",
}
_AS_ALWAYS: Final[Mapping[str, tuple[str, str]]] = {
    "quote.sql.identifiers": (
        "always",
        "names are always quoted, since topics and fields could hold SQL; change them by a transform (RegexRouter, "
        "ReplaceField)",
    ),
}


def sink_refusals(config: SqlSinkConfig) -> Iterable[Problem]:
    """Properties of Confluent's sink without which other data would be written, each with the reason."""
    return refused(config, {}, _AS_ALWAYS)


def sink_warnings(config: SqlSinkConfig) -> Iterable[Problem]:
    """Properties of Confluent's sink that have no effect, each with what happens instead."""
    return ignored(config, _IGNORED)
