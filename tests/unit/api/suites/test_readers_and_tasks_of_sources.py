"""Each mistake that is planted in the task half of a good source, or in its connector, fails the suite of sources."""

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.api.suites.good_sources import COUNT, RowsConfig, RowsConnector, RowsReader, records
from tests.unit.api.suites.runs import failures
from tests.unit.api.suites.source_suites import suite_of

from penstock import ConnectError, Offset, Record, RecordBatch, SourcePartition


class ReadsBeyondTheEnd(RowsReader):
    def rows(self, name: str, begin: int, end: int) -> Iterator[RecordBatch | Sequence[Record]]:
        yield from super().rows(name, begin, min(COUNT, end + 1))


class DropsTheLastRowOfAPart(RowsReader):
    def rows(self, name: str, begin: int, end: int) -> Iterator[RecordBatch | Sequence[Record]]:
        yield from super().rows(name, begin, end - 1)


class MakesValuesAtRandom(RowsReader):
    def rows(self, name: str, begin: int, end: int) -> Iterator[RecordBatch | Sequence[Record]]:
        yield [Record(topic=name, value={"id": n, "salt": random.random()}) for n in range(begin, end)]


class CountsWhatItReads(RowsReader):
    count = 0

    def rows(self, name: str, begin: int, end: int) -> Iterator[RecordBatch | Sequence[Record]]:
        for n in range(begin, end):
            self.count += 1
            yield [Record(topic=name, value={"id": n, "number": self.count})]


class GoesOnWhereItStopped(RowsReader):
    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def rows(self, name: str, begin: int, end: int) -> Iterator[RecordBatch | Sequence[Record]]:
        yield from super().rows(name, self.places.get(name, begin), end)
        self.places[name] = end


class UsesOneRowForAll(RowsReader):
    def rows(self, name: str, begin: int, end: int) -> Iterator[RecordBatch | Sequence[Record]]:
        row: dict[str, Any] = {}
        for n in range(begin, end):
            row["id"] = n
            yield [Record(topic=name, value=row)]


class GivesItsOwnValuesAway(RowsReader):
    def __init__(self) -> None:
        self.kept: dict[str, list[dict[str, int]]] = {}

    def rows(self, name: str, begin: int, end: int) -> Iterator[RecordBatch | Sequence[Record]]:
        values = self.kept.setdefault(name, [{"id": n} for n in range(COUNT)])[begin:end]
        yield RecordBatch(length=len(values), topic=name, value=values, owned=True)


class NamesNoTopic(RowsReader):
    def rows(self, name: str, begin: int, end: int) -> Iterator[RecordBatch | Sequence[Record]]:
        yield [record.replace(topic="") for record in records(name, begin, end)]


class StampsWithADatetime(RowsReader):
    def rows(self, name: str, begin: int, end: int) -> Iterator[RecordBatch | Sequence[Record]]:
        yield [row.replace(timestamp=datetime(2026, 1, 1, tzinfo=UTC)) for row in records(name, begin, end)]


class GivesAllWorkToEachTask(RowsConnector):
    def task_configs(
        self, config: RowsConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        return [properties] * max_tasks


class LosesTheTablesThatAreLeftOver(RowsConnector):
    def task_configs(
        self, config: RowsConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        tasks = min(max_tasks, len(config.tables))
        each = len(config.tables) // tasks
        return [
            {**properties, "tables": ",".join(config.tables[task * each : (task + 1) * each])} for task in range(tasks)
        ]


class RefusesItsOwnOffsets(RowsConnector):
    def alter_offsets(self, config: RowsConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        if any(offset is None or not isinstance(offset["next"], str) for offset in offsets.values()):
            raise ConnectError("An offset is a text.")
        return True


class FailsToSayThatOffsetsAreGood(RowsConnector):
    def alter_offsets(self, config: RowsConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        super().alter_offsets(config, offsets)
        return None  # type: ignore[return-value]


BAD = [bad for good in (RowsReader, RowsConnector) for bad in good.__subclasses__() if bad.__module__ == __name__]


@pytest.mark.parametrize("bad", BAD)
def test_a_reader_or_a_connector_with_a_mistake_fails(bad: type[Any]) -> None:
    assert any(failures(suite_of(bad)))


def test_a_timestamp_that_is_a_datetime_is_reported() -> None:
    found = dict(failures(suite_of(StampsWithADatetime)))
    error = found["test_the_example_gives_records_that_fit_their_schemas"]
    assert str(error).startswith(
        "StampsWithADatetime.read returned a value of type datetime as the timestamp of a record"
    )
