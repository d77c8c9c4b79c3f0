"""Each mistake that is planted in a good source that plans its batches fails the suite of sources."""

import itertools
from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest
from tests.unit.api.suites.good_sources import COUNT, Rows, RowsConfig, RowsConnector, table_of
from tests.unit.api.suites.runs import failures
from tests.unit.api.suites.source_suites import suite_of

from penstock import (
    InputPartition,
    Limits,
    Offset,
    Offsets,
)


def test_the_good_source_passes() -> None:
    assert list(failures(suite_of(RowsConnector))) == []


class BeginsALifeOneRowTooEarly(Rows):
    def start(self, offsets: Offsets) -> None:
        self.began = offsets

    def at(self, offsets: Offsets, name: str) -> int:
        return max(0, super().at(offsets, name) - (offsets == self.began))


class BeginsALifeOneRowTooLate(Rows):
    def start(self, offsets: Offsets) -> None:
        self.began = offsets

    def at(self, offsets: Offsets, name: str) -> int:
        return super().at(offsets, name) + (offsets == self.began and table_of(name) in offsets)


class BeginsEachBatchOneRowTooEarly(Rows):
    def part(self, name: str, start: Offsets, end: Offsets) -> InputPartition:
        good = super().part(name, start, end)
        span = [name, max(0, self.at(start, name) - 1), self.at(end, name)]
        return InputPartition({"span": span}, good.offsets)


class StoresWhereTheBatchBegan(Rows):
    def part(self, name: str, start: Offsets, end: Offsets) -> InputPartition:
        good = super().part(name, start, end)
        return InputPartition(good.data, {table_of(name): self.offset(self.at(start, name))})


class BeginsAtTheFirstRowInEachLife(Rows):
    def start(self, offsets: Offsets) -> None:
        self.before = {of: int(str(offset["next"])) for of, offset in offsets.items()}

    def at(self, offsets: Offsets, name: str) -> int:
        return max(0, super().at(offsets, name) - self.before.get(table_of(name), 0))


class GoesOnFromWhatItHasPlanned(Rows):
    def __init__(self, config: RowsConfig) -> None:
        super().__init__(config)
        self.planned: Offsets | None = None

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        self.began = {**start, **(self.planned or {})}
        end = super().latest_offsets(self.began, limits)
        self.planned = {**self.began, **end}
        return end

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return super().partitions(self.began, end)


class GoesOnFromTheLastCommit(Rows):
    def start(self, offsets: Offsets) -> None:
        self.committed = offsets

    def commit(self, offsets: Offsets) -> None:
        self.committed = offsets

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        return super().latest_offsets(self.committed, limits)

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return super().partitions(self.committed, end)


class DeletesWhatItHasPlannedInACommit(Rows):
    def __init__(self, config: RowsConfig) -> None:
        super().__init__(config)
        self.planned: Offsets = {}
        self.deleted: Offsets = {}

    def at(self, offsets: Offsets, name: str) -> int:
        return max(super().at(offsets, name), super().at(self.deleted, name))

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        end = super().latest_offsets(start, limits)
        self.planned = {**start, **end}
        return end

    def commit(self, offsets: Offsets) -> None:
        self.deleted = self.planned


class KeepsItsPlaceFromLifeToLife(Rows):
    places: ClassVar[dict[str, int]] = {}

    def at(self, offsets: Offsets, name: str) -> int:
        place = self.places[name] = max(super().at(offsets, name), self.places.get(name, 0))
        return place


class TakesTheTimeForAnOffset(Rows):
    clock: ClassVar[Iterator[int]] = itertools.count()

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        return {table_of(n): {"next": self.end(start, n, limits), "asked": next(self.clock)} for n in self.tables}

    def end(self, start: Offsets, name: str, limits: Limits) -> int:
        return min(COUNT, self.at(start, name) + self.share(limits))


class MovesTheOffsetsOfAllTablesTogether(Rows):
    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        place = max(self.at(start, name) for name in self.tables)
        end = min(COUNT + len(self.tables), place + 1 + limits.records // len(self.tables))
        return {table_of(name): self.offset(end) for name in self.tables}


class TakesTheOffsetOfOneTableForAll(Rows):
    def at(self, offsets: Offsets, name: str) -> int:
        return super().at(offsets, self.tables[0])


class ReadsTheTablesOfOtherTasksAsWell(Rows):
    def start(self, offsets: Offsets) -> None:
        self.tables = sorted({*self.tables, *(str(of["table"]) for of in offsets)})


class IgnoresLimits(Rows):
    def share(self, limits: Limits) -> int:
        return COUNT - 1


class StandsStillUnderSmallLimits(Rows):
    def share(self, limits: Limits) -> int:
        return limits.records // len(self.tables)


class NeverEnds(Rows):
    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        return {table_of(name): self.offset(self.at(start, name) + self.share(limits)) for name in self.tables}


class ReadsWholePagesAlone(Rows):
    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        end = super().latest_offsets(start, limits)
        return {of: offset for of, offset in end.items() if int(str(offset["next"])) < COUNT or limits.records > COUNT}


class NestsOffsets(Rows):
    def offset(self, place: int) -> Offset:
        return {"next": place, "page": {"number": place // 10}}  # type: ignore[dict-item]


class HasListsInOffsets(Rows):
    def offset(self, place: int) -> Offset:
        return {"next": place, "all": (place, COUNT)}  # type: ignore[dict-item]


class HasNumbersForNamesInOffsets(Rows):
    def offset(self, place: int) -> Offset:
        return {"next": place, 1: True}  # type: ignore[dict-item]


class ForgetsTheOffsetOfATable(Rows):
    def part(self, name: str, start: Offsets, end: Offsets) -> InputPartition:
        good = super().part(name, start, end)
        return good if name == self.tables[0] else InputPartition(good.data)


class CutsATableIntoTwoParts(Rows):
    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return [part for one in super().partitions(start, end) for part in (one, one)]


class SendsAnObjectToTheReader(Rows):
    def part(self, name: str, start: Offsets, end: Offsets) -> InputPartition:
        good = super().part(name, start, end)
        return InputPartition({**good.data, "seen": {1, 2}}, good.offsets)


BAD = [bad for bad in Rows.__subclasses__() if bad.__module__ == __name__]


@pytest.mark.parametrize("bad", BAD)
def test_a_source_with_a_mistake_fails(bad: type[Rows]) -> None:
    assert any(failures(suite_of(bad)))
