"""One start of a source task, run like the runtime, without Kafka."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from penstock import _returned as returned
from penstock.batch import RecordBatch
from penstock.context import PluginContext
from penstock.offsets import Offset, Offsets, OffsetUpdates, SourcePartition, updated
from penstock.record import Record
from penstock.source import InputPartition, Limits, PartitionReader, PollingSource, Source, SourceConnector
from penstock.testing._comparison import wire
from penstock.testing._making import make, parsed

__all__ = ["PLENTY", "SourceRun", "Streams"]

PLENTY: Final = Limits(1_000_000, 1 << 30)
Streams = dict[SourcePartition, list[Record]]
"""Records of each source partition, in order."""


@dataclass
class SourceRun:
    """One start of a source task. `step` delivers one batch.

    Attributes:
        streams: the records of each source partition, in order.
        at: the offsets after the delivered records.
        stops: the offsets before each batch, and the length of each stream at that time.
        sizes: the number of records in each batch, or in each portion of a polling source.
        context: the context of the plugin.
        without_offsets: the number of records at the end of a complete read that were not followed by offsets.
    """

    connector: type[SourceConnector]
    properties: Mapping[str, str]
    at: Offsets = field(default_factory=dict)
    streams: Streams = field(default_factory=dict)
    stops: list[tuple[Offsets, dict[SourcePartition, int]]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    without_offsets: int = 0
    context: PluginContext = field(default_factory=PluginContext)

    def __post_init__(self) -> None:
        connector = make(self.connector)
        connector.context = self.context
        self.config = parsed(self.connector, self.properties)
        made = connector.source(self.config)
        self.source = returned.instance(made, (Source, PollingSource), returned.name(connector, "source"))
        self.reader: PartitionReader | None = None
        if not isinstance(self.source, PollingSource):
            reader = connector.reader(self.config)
            self.reader = returned.instance(reader, (PartitionReader,), returned.name(connector, "reader"))

    def start(self) -> "SourceRun":
        """Start the source. Call `close` afterward."""
        self.source.start(self.at)
        return self

    def step(self, limits: Limits = PLENTY, *, commit: bool = True, portions: int | None = None) -> bool:
        """Deliver one batch and acknowledge it. Return whether there was one. For `portions`, see `plan`."""
        got, end = self.plan(limits, portions)
        if not end:
            return False
        self.stops.append((self.at, {p: len(s) for p, s in self.streams.items()}))
        for partition, records in got.items():
            self.streams.setdefault(partition, []).extend(records)
        self.at = updated(self.at, end)
        if commit:
            self.source.commit(self.at)
        return True

    def plan(self, limits: Limits = PLENTY, portions: int | None = None) -> tuple[Streams, OffsetUpdates]:
        """Read one batch without acknowledging it; return the records by source partition, and the changed offsets.

        Args:
            limits: the limits of the batch.
            portions: end a polling source after this number of portions with offsets.
        """
        if isinstance(self.source, PollingSource):
            return self._poll(self.source, limits, portions)
        parts, changed = self.parts(self.source, limits)
        got: Streams = {}
        for part in parts:
            records = list(self.read(part))
            if part.offsets:
                got[next(iter(part.offsets))] = records
        self.sizes.append(sum(len(records) for records in got.values()))
        return got, changed

    def parts(self, source: Source, limits: Limits) -> tuple[Sequence[InputPartition], OffsetUpdates]:
        """Return the input partitions of the next batch, and its changed offsets."""
        end = returned.offsets(source.latest_offsets(self.at, limits), returned.name(source, "latest_offsets"))
        changed = {p: o for p, o in end.items() if self.at.get(p) != o}
        if not changed:
            return (), changed
        return returned.parts(
            source.partitions(self.at, cast("Offsets", end)), returned.name(source, "partitions")
        ), changed

    def portions(self, limits: Limits) -> Iterator[RecordBatch]:
        """Yield the portions of the next batch as they are read, without their offsets."""
        if isinstance(self.source, PollingSource):
            for portion, _ in self._pairs(self.source, self.source.read(self.at, limits)):
                yield from self._checked(self.source, portion)
        else:
            for part in self.parts(self.source, limits)[0]:
                yield from self.batches(part)

    def _poll(self, source: PollingSource, limits: Limits, portions: int | None) -> tuple[Streams, OffsetUpdates]:
        records: list[Record] = []
        streams: Streams = {}
        reached: dict[SourcePartition, Offset | None] = {}
        read, complete = 0, True
        reading = source.read(self.at, limits)
        for portion, offsets in self._pairs(source, reading):
            records += [r for batch in self._checked(source, portion) for r in batch.records()]
            reached.update(offsets)
            read += len(portion)
            self.sizes.append(len(portion))
            complete = complete and (bool(offsets) or not len(portion))
            if offsets:  # earlier records without offsets are assumed to belong to the same stream
                streams.setdefault(next(iter(offsets)), []).extend(records)
                records = []
                portions = None if portions is None else portions - 1
            if complete and (
                portions == 0 or read >= 2 * limits.records
            ):  # with `portions`, the runtime may end the read here; beyond the limits, it does
                break
        if isinstance(reading, Generator):
            reading.close()
        self.without_offsets += len(records)
        if reached and records:
            streams.setdefault(next(iter(reached)), []).extend(records)
        return streams, reached

    def _pairs(
        self, source: PollingSource, reading: object
    ) -> Iterator[tuple[RecordBatch | Sequence[Record], OffsetUpdates]]:
        method = returned.name(source, "read")
        for pair in returned.iterable(reading, method, "an iterator of pairs of records and offsets"):
            records, offsets, _ = returned.portion(pair, method)
            yield records, offsets

    def _checked(self, source: PollingSource, portion: object) -> Iterator[RecordBatch]:
        return returned.portions([portion], returned.name(source, "read"), str)

    def read(self, part: InputPartition) -> Iterator[Record]:
        """Yield the records of an input partition, which is read as in another process unless it is `local`."""
        for batch in self.batches(part):
            yield from batch.records()

    def batches(self, part: InputPartition) -> Iterator[RecordBatch]:
        """Yield the records of an input partition like `read`, in the batches of the reader."""
        assert self.reader is not None
        found = self.reader.read(part if part.local else InputPartition(wire(dict(part.data)), part.offsets))
        return returned.portions(found, returned.name(self.reader, "read"), str)

    def all(self, limits: Limits = PLENTY, max_batches: int = 100) -> "SourceRun":
        """Deliver batches until there are no more, or `max_batches` is reached."""
        for _ in range(max_batches):
            if not self.step(limits):
                break
        return self

    def close(self) -> None:
        """Stop the source and close the reader."""
        self.source.stop()
        if self.reader is not None:
            self.reader.close()

    def __enter__(self) -> "SourceRun":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()
