"""Each mistake that is planted in a good polling source fails the suite of sources."""

import itertools
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.api.suites.good_sources import COUNT, PolledRows, RowsConfig, records, table_of
from tests.unit.api.suites.runs import failures
from tests.unit.api.suites.source_suites import suite_of

from penstock import Limits, Offsets, Record, RecordBatch


def test_the_good_source_passes() -> None:
    assert list(failures(suite_of(PolledRows))) == []


class GivesOffsetsOfTheNextPortion(PolledRows):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        yield records(name, place, after), {table_of(name): {"next": min(COUNT, after + 2)}}


class GivesOffsetsBeforeTheirRecords(PolledRows):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        yield [], {table_of(name): {"next": after}}
        yield records(name, place, after), {}


class GivesWhereThePortionBegan(PolledRows):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        yield records(name, place, after), {table_of(name): {"next": place}}


class GivesTheLastRowInPlaceOfTheNext(PolledRows):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        yield records(name, place, after), {table_of(name): {"next": after - 1}}


class GivesNoOffsetsAtTheEnd(PolledRows):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        yield records(name, place, after), {table_of(name): {"next": after}} if after < COUNT else {}


class MovesTheOffsetsOfAllTables(PolledRows):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        yield records(name, place, after), {table_of(other): {"next": after} for other in (name, *self.tables)}


class GivesOffsetsOfAnotherTable(PolledRows):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        yield records(name, place, after), {table_of(self.tables[0]): {"next": after}}


class UsesOneRowForAll(PolledRows):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        self.row = getattr(self, "row", {})
        for n in range(place, after):
            self.row["id"] = n
            yield [Record(topic=name, value=self.row)], {table_of(name): {"next": n + 1}}


class GoesOnFromWhatItHasRead(PolledRows):
    def __init__(self, config: RowsConfig) -> None:
        super().__init__(config)
        self.places: dict[str, int] = {}

    def at(self, start: Offsets, name: str) -> int:
        return self.places.get(name, super().at(start, name))

    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        self.places[name] = after
        yield from super().portion(name, place, after)


class DeletesWhatItHasReadInACommit(PolledRows):
    def __init__(self, config: RowsConfig) -> None:
        super().__init__(config)
        self.places: dict[str, int] = {}
        self.deleted: dict[str, int] = {}

    def at(self, start: Offsets, name: str) -> int:
        return max(super().at(start, name), self.deleted.get(name, 0))

    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        self.places[name] = after
        yield from super().portion(name, place, after)

    def commit(self, offsets: Offsets) -> None:
        self.deleted.update(self.places)


class DeletesWhatItHasRead(DeletesWhatItHasReadInACommit):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        yield from super().portion(name, place, after)
        self.deleted[name] = after


class GoesOnFromTheLastCommit(PolledRows):
    def start(self, offsets: Offsets) -> None:
        self.committed = offsets

    def commit(self, offsets: Offsets) -> None:
        self.committed = offsets

    def at(self, start: Offsets, name: str) -> int:
        return super().at(self.committed, name)


class BeginsAtTheOffsetsOfTheStart(PolledRows):
    def start(self, offsets: Offsets) -> None:
        self.began = offsets

    def at(self, start: Offsets, name: str) -> int:
        return super().at(self.began, name)


class IgnoresTheStart(PolledRows):
    def at(self, start: Offsets, name: str) -> int:
        return 0


class IgnoresLimits(PolledRows):
    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[Sequence[Record], Offsets]]:
        for name in self.tables:
            if self.at(start, name) < COUNT:
                yield from self.portion(name, self.at(start, name), COUNT)


class StandsStillUnderSmallLimits(PolledRows):
    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[Sequence[Record], Offsets]]:
        if limits.records >= len(self.tables):
            yield from super().read(start, limits)


class ReadsTheTablesOfOtherTasksAsWell(PolledRows):
    def start(self, offsets: Offsets) -> None:
        self.tables = sorted({*self.tables, *(str(of["table"]) for of in offsets)})


class StampsWithADatetime(PolledRows):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        for rows, offsets in super().portion(name, place, after):
            yield [row.replace(timestamp=datetime(2026, 1, 1, tzinfo=UTC)) for row in rows], offsets


class StampsWithTheClock(PolledRows):
    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        for rows, offsets in super().portion(name, place, after):
            yield [row.replace(value={"at": next(TICKS)}) for row in rows], offsets


TICKS = itertools.count()


class KeepsItsOwnedValues(PolledRows):
    def __init__(self, config: RowsConfig) -> None:
        super().__init__(config)
        self.kept = {name: records(name, 0, COUNT) for name in self.tables}

    def portion(self, name: str, place: int, after: int) -> Iterator[Any]:
        batch = RecordBatch.of(self.kept[name][place:after]).replace(owned=True)
        yield batch, {table_of(name): {"next": after}}


BAD = [bad for bad in PolledRows.__subclasses__() if bad.__module__ == __name__] + [DeletesWhatItHasRead]


@pytest.mark.parametrize("bad", BAD)
def test_a_polling_source_with_a_mistake_fails(bad: type[Any]) -> None:
    assert any(failures(suite_of(bad)))


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (StampsWithTheClock, "do not use a clock, random numbers or state of earlier reads"),
        (KeepsItsOwnedValues, "a transform modified a value of an owned batch that the source reuses"),
    ],
)
def test_what_is_read_again_otherwise_is_reported_with_what_may_do_it(bad: type[Any], told: str) -> None:
    error = dict(failures(suite_of(bad)))["test_a_portion_stays_as_it_was_given"]
    assert str(error).startswith(
        "a second read from the same offsets returns other records: record 0 is Record(topic='a', "
    )
    assert told in str(error)


def test_a_timestamp_that_is_a_datetime_is_reported() -> None:
    found = dict(failures(suite_of(StampsWithADatetime)))
    error = found["test_the_example_gives_records_that_fit_their_schemas"]
    assert str(error).startswith(
        "StampsWithADatetime.read returned a value of type datetime as the timestamp of a record"
    )
