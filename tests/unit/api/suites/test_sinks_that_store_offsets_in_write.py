"""Each mistake that is planted in a good sink that stores offsets in `write` fails the suite of sinks."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.unit.api.suites.good_sinks import Database, StoringWriter
from tests.unit.api.suites.runs import failures
from tests.unit.api.suites.sink_suites import suite_of

from penstock import RecordBatch, Reporter, RetriableError, TopicPartition


def test_the_good_sink_passes(tmp_path: Path) -> None:
    assert list(failures(suite_of(tmp_path))) == []


class StoresTheLastOffset(StoringWriter):
    def next(self, database: sqlite3.Connection, batch: RecordBatch) -> int:
        return super().next(database, batch) - 1


class StoresTheLastOffsetButOne(StoringWriter):
    def next(self, database: sqlite3.Connection, batch: RecordBatch) -> int:
        return super().next(database, batch) - 2


class StoresTheOffsetAfterTheNext(StoringWriter):
    def next(self, database: sqlite3.Connection, batch: RecordBatch) -> int:
        return super().next(database, batch) + 1


class StoresTwoOffsetsAfterTheNext(StoringWriter):
    def next(self, database: sqlite3.Connection, batch: RecordBatch) -> int:
        return super().next(database, batch) + 2


class StoresTheFirstOffset(StoringWriter):
    def next(self, database: sqlite3.Connection, batch: RecordBatch) -> int:
        return int(batch.column("offset")[0])


class CountsRecordsInPlaceOfOffsets(StoringWriter):
    def next(self, database: sqlite3.Connection, batch: RecordBatch) -> int:
        return self.position(database, batch) + batch.length


class AddsTheLengthToTheFirstOffset(StoringWriter):
    def next(self, database: sqlite3.Connection, batch: RecordBatch) -> int:
        return int(batch.column("offset")[0]) + batch.length


class RefusesNothing(StoringWriter):
    def refuse(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        pass


class RefusesWhatIsStoredToItsEndAlone(StoringWriter):
    def refuse(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        if batch.column("offset")[-1] < self.position(database, batch):
            raise RetriableError("stored")


class RefusesByAnErrorThatFailsTheTask(StoringWriter):
    def refuse(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        if batch.column("offset")[0] < self.position(database, batch):
            raise ValueError("stored")


class RemembersInTheWriterWhatIsStored(StoringWriter):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.known: dict[TopicPartition, int] = {}

    def position(self, database: sqlite3.Connection, batch: RecordBatch) -> int:
        of = self.partition(batch)
        stored = self.known.get(of, super().position(database, batch))
        self.known[of] = max(stored, self.next(database, batch))
        return stored


class PassesOverWhatIsStoredButSetsTheOffsetBack(StoringWriter):
    def store(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        at = self.position(database, batch)
        rows = zip(batch.column("offset"), batch.column("value"), strict=True)
        self.database.put(database, [value for offset, value in rows if offset >= at])
        self.database.advance(database, self.partition(batch), self.next(database, batch))


class CommitsInPlaceOfRollingBack(StoringWriter):
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        refused: RetriableError | None = None
        with self.database.transaction() as database:
            try:
                for batch in filter(len, batches):
                    self.database.put(database, batch.column("value"))
                    self.refuse(database, batch)
                    self.database.advance(database, self.partition(batch), self.next(database, batch))
            except RetriableError as e:
                refused = e
        if refused is not None:
            raise refused


class StoresTheOffsetOfABatchThatItRefuses(StoringWriter):
    def refuse(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        at = self.position(database, batch)
        if batch.column("offset")[0] < at:
            database.execute("rollback")
            database.execute("begin immediate")
            self.database.advance(database, self.partition(batch), max(at, self.next(database, batch)))
            database.execute("commit")
            database.execute("begin immediate")
            raise RetriableError("stored")


class TakesTheTransformedTopic(StoringWriter):
    def partition(self, batch: RecordBatch) -> TopicPartition:
        return TopicPartition(batch.column("topic")[0], batch.original_partition or 0)


class TakesTheTransformedPartition(StoringWriter):
    def partition(self, batch: RecordBatch) -> TopicPartition:
        return TopicPartition(batch.original_topic or "", batch.column("partition")[0])


class StoresTheLastBatchOfAWriteAlone(StoringWriter):
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        with self.database.transaction() as database:
            for batch in filter(len, batches[:-1]):
                self.database.put(database, batch.column("value"))
            for batch in filter(len, batches[-1:]):
                self.store(database, batch)


class StoresRowsAloneAndOffsetsWhereItIsStopped(StoringWriter):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.reached: dict[TopicPartition, int] = {}

    def store(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        self.database.put(database, batch.column("value"))
        self.reached[self.partition(batch)] = self.next(database, batch)

    def close(self) -> None:
        with self.database.transaction() as database:
            for of, offset in self.reached.items():
                self.database.advance(database, of, offset)


class StoresRowsWhereItIsStopped(StoringWriter):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.rows: list[Any] = []

    def store(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        self.refuse(database, batch)
        self.rows += batch.column("value")
        self.database.advance(database, self.partition(batch), self.next(database, batch))

    def close(self) -> None:
        if self.rows:
            with self.database.transaction() as database:
                self.database.put(database, self.rows)


WRITERS = [writer for writer in StoringWriter.__subclasses__() if writer.__module__ == __name__]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_writer_with_a_mistake_fails(tmp_path: Path, writer: type[StoringWriter]) -> None:
    assert any(failures(suite_of(tmp_path, writer=writer)))
