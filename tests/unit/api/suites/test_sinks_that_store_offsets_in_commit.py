"""Each mistake that is planted in a good sink that stores offsets in `commit` fails the suite of sinks."""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.api.suites.good_sinks import CommittingSink, CommitWriter, Database, StoringSink, StoringWriter
from tests.unit.api.suites.runs import failures
from tests.unit.api.suites.sink_suites import suite_of

from penstock import RecordBatch, Reporter, TopicPartition
from penstock.testing import SinkSuite


def test_the_good_sink_passes(tmp_path: Path) -> None:
    assert list(failures(suite_of(tmp_path, CommittingSink, CommitWriter))) == []


@pytest.mark.parametrize("has_stored", [True, False])
def test_exactly_once_without_what_is_stored_fails(tmp_path: Path, *, has_stored: bool) -> None:
    class Suite(suite_of(tmp_path, CommittingSink, CommitWriter)):  # type: ignore[misc]
        stored = (lambda self, properties: None) if has_stored else SinkSuite.stored

    ((test, error),) = failures(Suite)
    assert test == "test_exactly_once_is_shown_by_what_is_stored"
    assert str(error).startswith("`exactly_once` requires `stored`, but Suite.stored returns None: override it")


class KnowsPartitionsByTheirTopic(Database):
    def position(self, database: sqlite3.Connection, of: TopicPartition) -> int | None:
        return super().position(database, TopicPartition(of.topic, 0))

    def advance(self, database: sqlite3.Connection, of: TopicPartition, offset: int) -> None:
        super().advance(database, TopicPartition(of.topic, 0), offset)


class KnowsPartitionsByTheirNumber(Database):
    def position(self, database: sqlite3.Connection, of: TopicPartition) -> int | None:
        return super().position(database, TopicPartition("", of.partition))

    def advance(self, database: sqlite3.Connection, of: TopicPartition, offset: int) -> None:
        super().advance(database, TopicPartition("", of.partition), offset)


class TakesTheOffsetsOfAllConnectors(Database):
    def __init__(self, path: str, connector: str) -> None:
        super().__init__(path, "")


class StoresOneLessThanCommitted(Database):
    def advance(self, database: sqlite3.Connection, of: TopicPartition, offset: int) -> None:
        super().advance(database, of, offset - 1)


class StoresOneMoreThanCommitted(Database):
    def advance(self, database: sqlite3.Connection, of: TopicPartition, offset: int) -> None:
        super().advance(database, of, offset + 1)


class StoresTwoMoreThanCommitted(Database):
    def advance(self, database: sqlite3.Connection, of: TopicPartition, offset: int) -> None:
        super().advance(database, of, offset + 2)


class EmptiesItsTablesAtTheStart(Database):
    def make(self) -> None:
        super().make()
        with self.transaction() as database:
            database.execute("delete from rows")


class ForgetsOffsetsOfOtherPartitions(Database):
    def advance(self, database: sqlite3.Connection, of: TopicPartition, offset: int) -> None:
        database.execute("delete from offsets where (topic, part) <> (?, ?)", of)
        super().advance(database, of, offset)


DATABASES = [database for database in Database.__subclasses__() if database.__module__ == __name__]


@pytest.mark.parametrize("database", DATABASES)
def test_a_sink_with_a_mistake_in_what_it_stores_fails(tmp_path: Path, database: type[Database]) -> None:
    assert any(failures(suite_of(tmp_path, CommittingSink, CommitWriter, database)))


class ReturnsNoOffsets(CommittingSink):
    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {}


class ReturnsTheFirstOffsetAlone(CommittingSink):
    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return super().open(partitions[:1])


class ReturnsWhatItRemembers(CommittingSink):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.known: dict[TopicPartition, int] = {}

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {of: offset for of, offset in self.known.items() if of in partitions}

    def due(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self.known.update(offsets)
        return {}


class StoresOffsetsWhenItIsClosed(ReturnsWhatItRemembers):
    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return StoringSink.open(self, partitions)

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        with self.database.transaction() as database:
            for of, offset in self.known.items():
                self.database.advance(database, of, offset)


class KeepsTheOffsetsOfTheLastCommitAlone(CommittingSink):
    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        with self.database.transaction() as database:
            database.execute("delete from offsets where connector = ?", (self.database.connector,))
        return super().commit(messages, offsets)


class StoresRowsWhenItIsClosed(CommittingSink):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.rows: list[Any] = []

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self.rows += [row for message in messages for row in message]
        return super().commit([], offsets)

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        with self.database.transaction() as database:
            self.database.put(database, self.rows)
        self.rows.clear()


class AllowsMoreThanItIsGiven(CommittingSink):
    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return {of: offset + 1 for of, offset in super().commit(messages, offsets).items()}


class TakesTheLastMessageAlone(CommittingSink):
    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return super().commit(messages[-1:], offsets)


class TakesMessagesBackwards(CommittingSink):
    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return super().commit(messages[::-1], offsets)


class KeepsWhatItDidNotCommit(CommittingSink):
    """Takes the rows that all writers have left behind, in place of those of its messages."""

    def start(self) -> None:
        super().start()
        with self.database.transaction() as database:
            database.execute("create table if not exists left_behind (value text)")

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        with self.database.transaction() as database:
            database.execute("insert into rows select value from left_behind order by rowid")
            database.execute("delete from left_behind")
        return super().commit([], offsets)


class CommitsRowsBeforeTheirOffsets(CommittingSink):
    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        with self.database.transaction() as database:
            for message in messages:
                self.database.put(database, message)
        return super().commit([], offsets)


class CommitsOffsetsBeforeTheirRows(CommittingSink):
    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        super().commit([], offsets)
        return super().commit(messages, offsets)


SINKS = [sink for sink in CommittingSink.__subclasses__() if sink is not KeepsWhatItDidNotCommit]


@pytest.mark.parametrize("sink", [*SINKS, StoresOffsetsWhenItIsClosed])
def test_a_sink_with_a_mistake_fails(tmp_path: Path, sink: type[StoringSink]) -> None:
    assert any(failures(suite_of(tmp_path, sink, CommitWriter)))


class LeavesRowsBehind(StoringWriter):
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        with self.database.transaction() as database:
            for batch in batches:
                values = [(value,) for value in batch.column("value")]
                database.executemany("insert into left_behind values (?)", values)


class StoresRowsBeforeTheirOffsets(StoringWriter):
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        with self.database.transaction() as database:
            for batch in batches:
                self.database.put(database, batch.column("value"))


class StoresOffsetsBeforeTheirRows(CommitWriter):
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        with self.database.transaction() as database:
            for batch in batches:
                if batch.length and self.new(database, batch):
                    self.database.advance(database, self.partition(batch), self.next(database, batch))
        return super().write(batches, report)


@pytest.mark.parametrize(
    ("sink", "writer"),
    [
        (KeepsWhatItDidNotCommit, LeavesRowsBehind),
        (CommittingSink, StoresRowsBeforeTheirOffsets),
        (CommittingSink, StoresOffsetsBeforeTheirRows),
    ],
)
def test_halves_that_do_not_go_together_fail(
    tmp_path: Path, sink: type[StoringSink], writer: type[StoringWriter]
) -> None:
    assert any(failures(suite_of(tmp_path, sink, writer)))


class HandsOnTheLastPartAlone(CommitWriter):
    def stage(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        self.part = self.write(batches, report) or []


class HandsOnAPartTwice(CommitWriter):
    def staged(self) -> Any:
        return self.part or None


@pytest.mark.parametrize("writer", [HandsOnTheLastPartAlone, HandsOnAPartTwice])
def test_a_writer_with_a_mistake_in_staging_fails(tmp_path: Path, writer: type[StoringWriter]) -> None:
    assert any(failures(suite_of(tmp_path, CommittingSink, writer)))


class HandsOnATime(CommitWriter):
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        return {"rows": super().write(batches, report), "at": datetime(2026, 1, 1, tzinfo=UTC)}

    def stage(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        self.part += super().write(batches, report) or []


class HandsOnASetOfAPart(CommitWriter):
    def staged(self) -> Any:
        return set(super().staged() or ())


@pytest.mark.parametrize(
    ("writer", "message"),
    [
        (HandsOnATime, "HandsOnATime.write returned a message for `Sink.commit` that a worker cannot send: datetime"),
        (
            HandsOnASetOfAPart,
            "HandsOnASetOfAPart.staged returned a message for `Sink.commit` that a worker cannot send: set",
        ),
    ],
)
def test_a_message_that_a_worker_cannot_send_is_reported(
    tmp_path: Path, writer: type[StoringWriter], message: str
) -> None:
    found = [str(error) for _, error in failures(suite_of(tmp_path, CommittingSink, writer))]
    assert found
    assert all(error.startswith(f"{message} cannot be sent to another process") for error in found)
