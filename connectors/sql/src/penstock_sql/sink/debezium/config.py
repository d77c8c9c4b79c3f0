"""Properties of the sink with the names of Debezium's JDBC sink, and their mapping to SqlSink's."""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Final

from penstock import Importance, Password, Problem, prop
from penstock.rules import not_blank, words
from penstock_sql.database_config import DatabaseConfig
from penstock_sql.names import TableName, table_name
from penstock_sql.properties import refused, time_zone
from penstock_sql.sink.config import PACE, UNAVAILABLE, SqlSinkConfig

__all__ = ["AS_ALWAYS", "IGNORED", "REFUSED", "DebeziumSinkConfig"]

_TOPIC: Final = "${topic}"


class _AsSql(SqlSinkConfig):
    """Properties for SqlSink, with the table names and field lists of Debezium's sink."""

    envelopes: ClassVar[bool] = True
    skips_deletes: ClassVar[bool] = True
    called: ClassVar[Mapping[str, str]] = {
        "pk.mode": "primary.key.mode",
        "pk.fields": "primary.key.fields",
        "table.name.format": "collection.name.format",
        "auto.create: true": "schema.evolution: basic",
        "auto.evolve: true": "schema.evolution: basic",
        "fields.whitelist": "field.exclude.list",
    }

    include: frozenset[str]
    exclude: frozenset[str]
    unavailable: str

    def placeholder(self) -> str:
        return self.unavailable

    def table(self, topic: str) -> TableName:
        return table_name(self.table_name_format, topic.replace(".", "_"), self.name_of("table.name.format"))

    def takes(self, topic: str, field: str) -> bool:
        entry = f"{topic}:{field}"
        return entry not in self.exclude and (not self.include or entry in self.include)


class DebeziumSinkConfig(DatabaseConfig):
    """Properties of DebeziumSqlSink."""

    user: str | None = prop("connection.username", None, doc="The user of the database.", importance=Importance.HIGH)
    password: Password | None = prop(
        "connection.password", None, doc="The user's password.", importance=Importance.HIGH
    )
    insert_mode: Annotated[str, words("insert", "upsert", "update", any_case=True)] = prop(
        "insert.mode",
        "insert",
        doc="`insert` adds a row for each record, `upsert` adds or replaces the row of its primary key, `update` changes "
        "it if it exists.",
        importance=Importance.HIGH,
    )
    pk_mode: Annotated[str, words("none", "kafka", "record_key", "record_value", any_case=True)] = prop(
        "primary.key.mode",
        "none",
        doc="Origin of the primary key: none, the record's position in Kafka, its key, or fields of its value (for a change "
        "event, of `after`).",
        importance=Importance.HIGH,
    )
    pk_fields: list[str] = prop(
        "primary.key.fields",
        [],
        doc="The columns of the primary key: fields of the key or value. Default: all fields.",
    )
    delete_enabled: bool = prop(
        "delete.enabled",
        False,
        doc="A tombstone or a delete event deletes the row of its key, which needs `primary.key.mode: record_key`. "
        "If false, both are skipped.",
    )
    truncate_enabled: bool = prop(
        "truncate.enabled", False, doc="Only `false`: tables are never truncated, and truncate events are skipped."
    )
    schema_evolution: Annotated[str, words("none", "basic", any_case=True)] = prop(
        "schema.evolution", "none", doc="`basic` creates missing tables, and adds missing columns."
    )
    collection_name_format: Annotated[str, not_blank] = prop(
        "collection.name.format",
        _TOPIC,
        doc="The table of a record; `${topic}` is replaced by its topic, with `_` instead of dots.",
    )
    table_name_format: str | None = prop("table.name.format", None, doc="The older name of `collection.name.format`.")
    use_time_zone: Annotated[str, time_zone] = prop(
        "use.time.zone", "UTC", doc="The time zone of columns without one (`timestamp`): an IANA name."
    )
    database_time_zone: Annotated[str | None, time_zone] = prop(
        "database.time_zone", None, doc="The older name of `use.time.zone`."
    )
    include: list[str] = prop(
        "field.include.list",
        [],
        doc="The fields that become columns, in addition to the primary key, each as `TOPIC:FIELD`.",
    )
    exclude: list[str] = prop(
        "field.exclude.list",
        [],
        doc="The fields that do not become columns. Cannot be combined with `field.include.list`.",
    )

    unavailable: Annotated[str, not_blank] = prop(
        "unavailable.value.placeholder",
        UNAVAILABLE,
        doc="The placeholder that the source writes for a large value that an update did not change; the source's property "
        "has the same name.",
    )

    open_prefixes = (
        "batch.size",
        "cloud.events.schema.name.pattern",
        "collection.naming.strategy",
        "collection.table.format",
        "column.naming.strategy",
        "connection.pool.acquire_increment",
        "connection.pool.max_size",
        "connection.pool.min_size",
        "connection.pool.timeout",
        "connection.provider",
        "connection.restart.on.errors",
        "dialect.postgres.postgis.schema",
        "dialect.postgres.unnest.insert.enabled",
        "dialect.sqlserver.identity.insert",
        "flush.max.retries",
        "flush.retry.delay.ms",
        "quote.identifiers",
        "table.naming.strategy",
        "use.reduction.buffer",
    )

    def refusals(self) -> Iterable[Problem]:
        return refused(self, REFUSED, AS_ALWAYS)

    def broken_rules(self) -> Iterable[Problem]:
        if self.insert_mode != "insert" and self.pk_mode == "none":
            yield Problem(
                "primary.key.mode",
                f"insert.mode: {self.insert_mode} needs a primary key: set primary.key.mode to record_key, record_value "
                "or kafka",
            )
        if self.delete_enabled and self.pk_mode != "record_key":
            yield Problem("delete.enabled", "deletes rows by the record's key: set primary.key.mode: record_key")
        if self.truncate_enabled:
            yield Problem(
                "truncate.enabled",
                "cannot be true: tables are never truncated; remove it, and truncate the table yourself after the source's "
                "table was truncated",
            )
        if self.include and self.exclude:
            yield Problem(
                "field.exclude.list",
                "cannot be combined with field.include.list, which selects the fields; set only one of the two",
            )
        for name, listed in (("field.include.list", self.include), ("field.exclude.list", self.exclude)):
            if wrong := [entry for entry in listed if ":" not in entry]:
                yield Problem(name, f"has entries without a topic: {', '.join(wrong)}; write TOPIC:FIELD")
        if "${source." in self._format or "${table}" in self._format:
            yield Problem(
                "collection.name.format",
                f"{self._format} uses a field of the event, but only {_TOPIC} is supported; configure the source's topic "
                "names, or change topics with RegexRouter",
            )

    @property
    def _format(self) -> str:
        return self.table_name_format or self.collection_name_format

    def as_sql(self) -> SqlSinkConfig:
        """Return the equivalent properties of SqlSink."""
        basic = self.schema_evolution == "basic"
        return _AsSql(
            url=self.url,
            user=self.user,
            password=self.password,
            table_name_format=self._format,
            insert_mode=self.insert_mode,
            pk_mode=self.pk_mode,
            pk_fields=[] if self.pk_mode == "kafka" else self.pk_fields,
            delete_enabled=self.delete_enabled,
            auto_create=basic,
            auto_evolve=basic,
            db_timezone=self.database_time_zone or self.use_time_zone,
            include=frozenset(self.include),
            exclude=frozenset(self.exclude),
            unavailable=self.unavailable,
        )


_POOL: Final = "each task has two connections"
IGNORED: Final[Mapping[str, str]] = {
    "batch.size": "a batch is written as a whole, in one transaction; max.poll.records limits it",
    "connection.pool.acquire_increment": _POOL,
    "connection.pool.max_size": _POOL,
    "connection.pool.min_size": _POOL,
    "connection.pool.timeout": _POOL,
    "connection.provider": _POOL,
    "connection.restart.on.errors": PACE,
    "dialect.postgres.postgis.schema": "geometries are not converted",
    "dialect.postgres.unnest.insert.enabled": "rows are written by COPY",
    "dialect.sqlserver.identity.insert": "SQL Server is not supported",
    "flush.max.retries": PACE,
    "flush.retry.delay.ms": PACE,
    "use.reduction.buffer": "only the last row of each key in a batch is written",
}
REFUSED: Final[Mapping[str, str]] = {
    "cloud.events.schema.name.pattern": "CloudEvents are not supported",
    "collection.table.format": "the table's name comes from the topic; see collection.name.format",
}
_NAMES: Final = "Java classes are not supported; change topics and fields with transforms (RegexRouter, ReplaceField)"
AS_ALWAYS: Final[Mapping[str, tuple[str, str]]] = {
    "collection.naming.strategy": ("io.debezium.sink.naming.defaultcollectionnamingstrategy", _NAMES),
    "column.naming.strategy": ("io.debezium.connector.jdbc.naming.defaultcolumnnamingstrategy", _NAMES),
    "quote.identifiers": (
        "true",
        "names are always quoted, since topics and fields could contain SQL; a table with a name in lower case needs a "
        "topic in lower case",
    ),
    "table.naming.strategy": ("io.debezium.connector.jdbc.naming.defaulttablenamingstrategy", _NAMES),
}
