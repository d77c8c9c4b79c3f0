"""Two good sources of the rows of tables: one knows its offsets before it reads, the other one only while it reads."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from penstock import (
    Config,
    ConnectError,
    InputPartition,
    Limits,
    Offset,
    Offsets,
    PartitionReader,
    PollingSource,
    Record,
    RecordBatch,
    Source,
    SourceConnector,
    SourcePartition,
    prop,
)

__all__ = ["COUNT", "PolledRows", "Rows", "RowsConfig", "RowsConnector", "RowsReader", "records", "table_of"]

COUNT = 13
"""Rows of each table."""


class RowsConfig(Config):
    tables: list[str] = prop("tables", ["a", "b", "c"], doc="The tables to read.")


def table_of(name: str) -> SourcePartition:
    return SourcePartition({"table": name})


def records(name: str, begin: int, end: int) -> list[Record]:
    return [Record(topic=name, value={"table": name, "id": n}) for n in range(begin, end)]


class Rows(Source):
    """The driver half."""

    def __init__(self, config: RowsConfig) -> None:
        self.tables = config.tables

    def start(self, offsets: Offsets) -> None:
        pass

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        ends = {name: min(COUNT, self.at(start, name) + self.share(limits)) for name in self.tables}
        return {table_of(name): self.offset(end) for name, end in ends.items() if end > self.at(start, name)}

    def share(self, limits: Limits) -> int:
        return max(1, limits.records // len(self.tables))

    def offset(self, place: int) -> Offset:
        return {"next": place}

    def at(self, offsets: Offsets, name: str) -> int:
        return int(offsets.get(table_of(name), {}).get("next") or 0)

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return [self.part(name, start, end) for name in self.tables if table_of(name) in end]

    def part(self, name: str, start: Offsets, end: Offsets) -> InputPartition:
        span = [name, self.at(start, name), self.at(end, name)]
        return InputPartition({"span": span}, {table_of(name): end[table_of(name)]})


class RowsReader(PartitionReader):
    """The task half."""

    def read(self, partition: InputPartition) -> Iterator[RecordBatch | Sequence[Record]]:
        name, begin, end = partition.data["span"]
        yield from self.rows(name, begin, end)

    def rows(self, name: str, begin: int, end: int) -> Iterator[RecordBatch | Sequence[Record]]:
        for place in range(begin, end, 2):
            yield records(name, place, min(end, place + 2))


class PolledRows(PollingSource):
    """Reads its share of each table, in portions of two rows."""

    def __init__(self, config: RowsConfig) -> None:
        self.tables = config.tables

    def start(self, offsets: Offsets) -> None:
        pass

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[Sequence[Record], Offsets]]:
        for name in self.tables:
            place = self.at(start, name)
            end = min(COUNT, place + max(1, limits.records // len(self.tables)))
            while place < end:
                after = min(end, place + 2)
                yield from self.portion(name, place, after)
                place = after

    def at(self, start: Offsets, name: str) -> int:
        return int(start.get(table_of(name), {}).get("next") or 0)

    def portion(self, name: str, place: int, after: int) -> Iterator[tuple[Sequence[Record], Offsets]]:
        yield records(name, place, after), {table_of(name): {"next": after}}


class RowsConnector(SourceConnector):
    """A source of these halves."""

    Config: ClassVar[type[Config]] = RowsConfig
    source_class: ClassVar[type[Rows] | type[PolledRows]] = Rows
    reader_class: ClassVar[type[RowsReader]] = RowsReader

    def task_configs(
        self, config: RowsConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        tasks = min(max_tasks, len(config.tables))
        return [{**properties, "tables": ",".join(config.tables[task::tasks])} for task in range(tasks)]

    def source(self, config: RowsConfig) -> Source | PollingSource:
        return self.source_class(config)

    def reader(self, config: RowsConfig) -> PartitionReader:
        return self.reader_class()

    def alter_offsets(self, config: RowsConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        for offset in offsets.values():
            if offset is not None and not isinstance(offset.get("next"), int):
                raise ConnectError("An offset is the number of the next row.")
        return True
