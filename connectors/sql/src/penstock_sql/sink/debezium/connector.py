"""DebeziumSqlSink: SqlSink with the property names of Debezium's JDBC sink, and with its change events as input."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from penstock import Config, Offset, Problem, Sink, SourcePartition, Writer
from penstock_sql.address import url_warnings
from penstock_sql.properties import ignored, refused
from penstock_sql.sink.connector import SqlSink
from penstock_sql.sink.debezium.config import AS_ALWAYS, IGNORED, REFUSED, DebeziumSinkConfig

__all__ = ["DebeziumSqlSink"]


class DebeziumSqlSink(SqlSink):
    """Sink connector that writes rows and Debezium's change events to PostgreSQL, MariaDB or SQLite, exactly once."""

    Config: ClassVar[type[Config]] = DebeziumSinkConfig
    java_names: ClassVar[tuple[str, ...]] = ("io.debezium.connector.jdbc.JdbcSinkConnector",)

    def validate(self, config: Any) -> Iterable[Problem]:
        """Return a problem for each unsupported property, and permanent problems with the database."""
        yield from refused(config, REFUSED, AS_ALWAYS)
        yield from super().validate(config.as_sql())

    def warnings(self, config: Any) -> Iterable[Problem]:
        """Return a warning for each property and URL parameter that has no effect."""
        return [*ignored(config, IGNORED), *url_warnings(config.as_sql().url)]

    def sink(self, config: Any) -> Sink:
        return super().sink(config.as_sql())

    def writer(self, config: Any) -> Writer:
        return super().writer(config.as_sql())

    def alter_offsets(self, config: Any, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Set the offsets as SqlSink does."""
        return super().alter_offsets(config.as_sql(), offsets)
