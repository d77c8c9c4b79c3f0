"""DebeziumSqlSink: SqlSink by the property names of Debezium's JDBC sink, with its change events as input."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from penstock import Config, Offset, Problem, Sink, SourcePartition, Writer
from penstock_sql.address import address_warnings
from penstock_sql.properties import ignored, refused
from penstock_sql.sink.connector import SqlSink
from penstock_sql.sink.debezium.config import AS_ALWAYS, IGNORED, REFUSED, DebeziumSinkConfig

__all__ = ["DebeziumSqlSink"]


class DebeziumSqlSink(SqlSink):
    """Writes rows and Debezium's change events to tables of PostgreSQL or SQLite, exactly once."""

    Config: ClassVar[type[Config]] = DebeziumSinkConfig
    java_names: ClassVar[tuple[str, ...]] = ("io.debezium.connector.jdbc.JdbcSinkConnector",)

    def validate(self, config: Any) -> Iterable[Problem]:
        """Refuses what has no meaning here, and what will not pass by itself."""
        yield from refused(config, REFUSED, AS_ALWAYS)
        yield from super().validate(config.as_sql())

    def warnings(self, config: Any) -> Iterable[Problem]:
        """Tells which properties have no effect."""
        yield from ignored(config, IGNORED)
        yield from address_warnings(config.url, config.user, config.password)

    def sink(self, config: Any) -> Sink:
        return super().sink(config.as_sql())

    def writer(self, config: Any) -> Writer:
        return super().writer(config.as_sql())

    def alter_offsets(self, config: Any, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """As SqlSink does."""
        return super().alter_offsets(config.as_sql(), offsets)
