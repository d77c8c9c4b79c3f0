"""Two good sinks of exactly once, over SQLite: one stores offsets in `write`, the other one in `commit`."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, ClassVar

from penstock import Config, RecordBatch, Reporter, Sink, SinkConnector, TopicPartition, Writer, prop

__all__ = ["CommitWriter", "CommittingSink", "DatabaseConfig", "StoringConnector", "StoringSink", "StoringWriter"]


class DatabaseConfig(Config):
    database: str = prop("database", doc="The file of the database.")


class Database:
    """Rows, and the next offset of each partition of each connector."""

    def __init__(self, path: str, connector: str) -> None:
        self.connector = connector
        self._path = path

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as database:
            database.execute("pragma synchronous=off")
            database.execute("begin immediate")
            try:
                yield database
            except BaseException:
                database.execute("rollback")
                raise
            database.execute("commit")

    def make(self) -> None:
        with self.transaction() as database:
            database.execute("create table if not exists rows (value text)")
            database.execute(
                "create table if not exists offsets (connector text, topic text, part integer, next integer,"
                " primary key (connector, topic, part))"
            )

    def put(self, database: sqlite3.Connection, values: Sequence[Any]) -> None:
        database.executemany("insert into rows values (?)", [(v,) for v in values])

    def position(self, database: sqlite3.Connection, of: TopicPartition) -> int | None:
        query = "select next from offsets where (connector, topic, part) = (?, ?, ?)"
        row = database.execute(query, (self.connector, *of)).fetchone()
        return None if row is None else int(row[0])

    def advance(self, database: sqlite3.Connection, of: TopicPartition, offset: int) -> None:
        database.execute("insert or replace into offsets values (?, ?, ?, ?)", (self.connector, *of, offset))


class StoringSink(Sink):
    """The driver half of a sink whose writer stores offsets."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def start(self) -> None:
        self.database.make()

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        with self.database.transaction() as database:
            found = {of: self.database.position(database, of) for of in partitions}
        return {of: offset for of, offset in found.items() if offset is not None}


class StoringWriter(Writer):
    """Stores rows and offsets in one transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        with self.database.transaction() as database:
            for batch in batches:
                if batch.length:
                    self.store(database, batch)

    def store(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        rows = self.new(database, batch)
        if rows:
            self.database.put(database, rows)
            self.database.advance(database, self.partition(batch), self.next(database, batch))

    def new(self, database: sqlite3.Connection, batch: RecordBatch) -> list[Any]:
        stored = self.position(database, batch)
        rows = zip(batch.column("offset"), batch.column("value"), strict=True)
        return [value for offset, value in rows if offset >= stored]

    def position(self, database: sqlite3.Connection, batch: RecordBatch) -> int:
        return self.database.position(database, self.partition(batch)) or 0

    def partition(self, batch: RecordBatch) -> TopicPartition:
        return TopicPartition(batch.original_topic or "", batch.original_partition or 0)

    def next(self, database: sqlite3.Connection, batch: RecordBatch) -> int:
        return int(batch.column("offset")[-1]) + 1


class CommittingSink(StoringSink):
    """The driver half of a sink that stores rows and offsets in one transaction in `commit`."""

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        with self.database.transaction() as database:
            for message in messages:
                self.database.put(database, message)
            for of, offset in self.due(offsets).items():
                self.database.advance(database, of, offset)
        return offsets

    def due(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return offsets


class CommitWriter(StoringWriter):
    """Hands rows on to `commit`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.part: list[Any] = []

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        return [value for batch in batches for value in batch.column("value")] or None

    def stage(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        self.part += self.write(batches, report) or []

    def staged(self) -> Any:
        part, self.part = self.part, []
        return part or None


class StoringConnector(SinkConnector):
    """A sink of these halves."""

    Config: ClassVar[type[Config]] = DatabaseConfig
    database_class: ClassVar[type[Database]] = Database
    sink_class: ClassVar[type[StoringSink]] = StoringSink
    writer_class: ClassVar[type[StoringWriter]] = StoringWriter

    def sink(self, config: DatabaseConfig) -> Sink:
        return self.sink_class(self.database_class(config.database, self.context.connector))

    def writer(self, config: DatabaseConfig) -> Writer:
        return self.writer_class(self.database_class(config.database, self.context.connector))
