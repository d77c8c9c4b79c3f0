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


class PassesOverNothing(StoringWriter):
    def new(self, database: sqlite3.Connection, batch: RecordBatch) -> list[Any]:
        return list(batch.column("value"))


class PassesOverBatchesThatAreStoredToTheirEndAlone(StoringWriter):
    def new(self, database: sqlite3.Connection, batch: RecordBatch) -> list[Any]:
        stored = batch.column("offset")[-1] < self.position(database, batch)
        return [] if stored else list(batch.column("value"))


class PassesOverBatchesOfWhichAPartIsStored(StoringWriter):
    def new(self, database: sqlite3.Connection, batch: RecordBatch) -> list[Any]:
        stored = batch.column("offset")[0] < self.position(database, batch)
        return [] if stored else list(batch.column("value"))


class PassesOverWhatIsStoredAndStoresTheOffsetOfTheRestAlone(StoringWriter):
    def store(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        rows = self.new(database, batch)
        if len(rows) == batch.length:
            self.database.put(database, rows)
        if rows:
            self.database.advance(database, self.partition(batch), self.next(database, batch))


class RefusesWhatIsStored(StoringWriter):
    def new(self, database: sqlite3.Connection, batch: RecordBatch) -> list[Any]:
        if batch.column("offset")[0] < self.position(database, batch):
            raise RetriableError("stored")
        return list(batch.column("value"))


class RefusesABatchOfWhichAPartIsStored(StoringWriter):
    def new(self, database: sqlite3.Connection, batch: RecordBatch) -> list[Any]:
        rows = super().new(database, batch)
        if 0 < len(rows) < batch.length:
            raise RetriableError("stored")
        return rows


class RefusesByAnErrorThatFailsTheTask(StoringWriter):
    def new(self, database: sqlite3.Connection, batch: RecordBatch) -> list[Any]:
        if batch.column("offset")[0] < self.position(database, batch):
            raise ValueError("stored")
        return list(batch.column("value"))


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
        self.database.put(database, self.new(database, batch))
        self.database.advance(database, self.partition(batch), self.next(database, batch))


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
        rows = self.new(database, batch)
        if rows:
            self.rows += rows
            self.database.advance(database, self.partition(batch), self.next(database, batch))

    def close(self) -> None:
        if self.rows:
            with self.database.transaction() as database:
                self.database.put(database, self.rows)


class CommitsRowsBeforeTheirOffsets(StoringWriter):
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        with self.database.transaction() as database:
            new = [(batch, self.new(database, batch)) for batch in batches if batch.length]
            for _, rows in new:
                self.database.put(database, rows)
        with self.database.transaction() as database:
            for batch, rows in new:
                if rows:
                    self.database.advance(database, self.partition(batch), self.next(database, batch))


class CommitsInTheMiddleOfATransaction(StoringWriter):
    def store(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        rows = self.new(database, batch)
        if rows:
            offset = self.next(database, batch)
            self.database.put(database, rows)
            database.execute("commit")
            database.execute("begin immediate")
            self.database.advance(database, self.partition(batch), offset)


class CommitsOffsetsBeforeTheirRows(StoringWriter):
    def store(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        rows = self.new(database, batch)
        if rows:
            self.database.advance(database, self.partition(batch), self.next(database, batch))
            database.execute("commit")
            database.execute("begin immediate")
            self.database.put(database, rows)


class CommitsEachRow(StoringWriter):
    def store(self, database: sqlite3.Connection, batch: RecordBatch) -> None:
        for row in (rows := self.new(database, batch)):
            self.database.put(database, [row])
            if row is not rows[-1]:
                database.execute("commit")
                database.execute("begin immediate")
        if rows:
            self.database.advance(database, self.partition(batch), self.next(database, batch))


WRITERS = [writer for writer in StoringWriter.__subclasses__() if writer.__module__ == __name__]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_writer_with_a_mistake_fails(tmp_path: Path, writer: type[StoringWriter]) -> None:
    assert any(failures(suite_of(tmp_path, writer=writer)))


@pytest.mark.parametrize(
    "writer",
    [
        CommitsRowsBeforeTheirOffsets,
        CommitsInTheMiddleOfATransaction,
        CommitsOffsetsBeforeTheirRows,
        CommitsEachRow,
    ],
)
def test_a_writer_that_commits_rows_and_offsets_apart_is_reported_where(
    tmp_path: Path, writer: type[StoringWriter]
) -> None:
    ((test, error),) = failures(suite_of(tmp_path, writer=writer))
    assert test == "test_records_and_their_offsets_are_stored_together_wherever_it_is_killed"
    assert str(error).startswith("after a kill before line ")
    assert f"{__file__} (in " in str(error) or "good_sinks.py (in " in str(error)
    assert str(error).endswith("store records and their offsets in one transaction")


@pytest.mark.parametrize("writer", [RefusesWhatIsStored, RefusesABatchOfWhichAPartIsStored])
def test_a_writer_that_refuses_what_is_stored_is_asked_to_pass_over_it(
    tmp_path: Path, writer: type[StoringWriter]
) -> None:
    ((test, error),) = failures(suite_of(tmp_path, writer=writer))
    assert test == "test_what_is_stored_is_not_stored_again_by_a_late_writer"
    assert str(error) == (
        "`write` rejects a batch with records before the stored offset 3 times with RetriableError (stored), so the same "
        "batch would be retried forever; skip these records, and store the others"
    )


class ReadsTheStoredOffsetWhereItFindsAnother(StoringWriter):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.known: dict[TopicPartition, int] = {}

    def new(self, database: sqlite3.Connection, batch: RecordBatch) -> list[Any]:
        of, stored = self.partition(batch), self.position(database, batch)
        known, self.known[of] = self.known.get(of, stored), stored
        if known != stored:
            raise RetriableError("another writer has written meanwhile")
        rows = super().new(database, batch)
        if rows:
            self.known[of] = self.next(database, batch)
        return rows


def test_a_writer_that_asks_once_more_and_passes_over_what_is_stored_then_passes(tmp_path: Path) -> None:
    assert "test_what_is_stored_is_not_stored_again_by_a_late_writer" not in dict(
        failures(suite_of(tmp_path, writer=ReadsTheStoredOffsetWhereItFindsAnother))
    )
