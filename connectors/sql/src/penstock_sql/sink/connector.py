"""SqlSink: writes records as rows of a database, exactly once; Confluent's JDBC sink does so at least once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from penstock import (
    Config,
    ConfigError,
    Offset,
    PluginContext,
    Problem,
    Sink,
    SinkConnector,
    SourcePartition,
    TopicPartition,
    Writer,
)
from penstock_sql.address import address, url_warnings
from penstock_sql.database import Database
from penstock_sql.dialects.base import Address
from penstock_sql.failures import as_connect_errors
from penstock_sql.sink import positions
from penstock_sql.sink.config import SqlSinkConfig, sink_refusals, sink_warnings
from penstock_sql.sink.writer import SqlWriter, writers_name

__all__ = ["SqlSink"]


class SqlSink(SinkConnector):
    """Sink connector that writes records to tables of PostgreSQL, MariaDB or SQLite, exactly once."""

    Config: ClassVar[type[Config]] = SqlSinkConfig
    java_names: ClassVar[tuple[str, ...]] = ("io.confluent.connect.jdbc.JdbcSinkConnector",)

    def validate(self, config: SqlSinkConfig) -> Iterable[Problem]:
        """Return permanent problems only: an unavailable database may be available when the task starts."""
        yield from sink_refusals(config)
        try:
            database = Database(
                address(config.url, config.user, config.password), f"penstock {self.context.connector}"[:63]
            )
        except ConfigError as e:
            yield from e.problems
            return
        if database.exists:
            yield from database.refusal()

    def warnings(self, config: SqlSinkConfig) -> Iterable[Problem]:
        """Return a warning for each property and URL parameter that has no effect."""
        return [*sink_warnings(config), *url_warnings(config.url)]

    def task_configs(
        self, config: SqlSinkConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        """Return a configuration for each of the maximum number of tasks, among which partitions are distributed."""
        return [properties] * max_tasks

    def writes_anywhere(self, config: SqlSinkConfig) -> bool:
        """Return False for SQLite, which is a local file."""
        return address(config.url, config.user, config.password).dialect.is_server

    def sink(self, config: SqlSinkConfig) -> Sink:
        return _SqlSink(address(config.url, config.user, config.password), self.context)

    def writer(self, config: SqlSinkConfig) -> Writer:
        return SqlWriter(config, address(config.url, config.user, config.password), self.context)

    def alter_offsets(self, config: SqlSinkConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Set the offsets in the database as well, since these determine where the sink continues."""
        database = Database(
            address(config.url, config.user, config.password), f"penstock {self.context.connector}"[:63], create=True
        )
        try:
            with as_connect_errors(database.place, "alter offsets"):
                connector = self.context.connector
                positions.create(database)
                with database.transaction() as connection:
                    for partition, offset in offsets.items():
                        of = TopicPartition(str(partition["kafka_topic"]), int(partition["kafka_partition"] or 0))
                        if offset is None:
                            positions.remove(connection, connector, of)
                        else:
                            positions.set_position(connection, connector, of, int(offset["kafka_offset"] or 0))
        finally:
            database.close()
        return True


class _SqlSink(Sink):
    """Driver side of the sink, which reports the offsets stored in the database."""

    def __init__(self, where: Address, context: PluginContext) -> None:
        self._connector = context.connector
        self._start_id = context.start_id
        self._name = writers_name(context)
        self._database = Database(where, self._name, create=True)

    def start(self) -> None:
        """Create the table of offsets."""
        with self._errors("create the table of offsets"):
            positions.create(self._database)

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Claim the partitions for this start of the task. Writers of earlier starts are refused from now on."""
        with self._errors("open partitions"):
            with self._database.transaction() as connection:
                self._database.dialect.end_others(connection, self._name)
            with self._database.transaction() as connection:
                found = positions.claim(connection, self._connector, self._start_id, partitions)
        return {of: position.start for of, position in found.items() if position.start is not None}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Record that reported records are now in the dead letter queue. Rows and offsets are already stored."""
        settled = {TopicPartition(topic, part): reached for message in messages for topic, part, reached in message}
        if settled:
            with self._errors("commit"), self._database.transaction() as connection:
                positions.settle(connection, self._connector, self._start_id, settled)
        return offsets

    def stop(self) -> None:
        """Release the connection."""
        self._database.close()

    @contextmanager
    def _errors(self, action: str) -> Iterator[None]:
        """Convert errors to those of the plugin API. After an error, the next use opens a new connection."""
        with as_connect_errors(self._database.place, action):
            try:
                yield
            except BaseException:
                self._database.let_go()
                raise
