"""Functions that run one plugin as the runtime does, without Kafka and without Spark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from penstock.batch import RecordBatch
from penstock.offsets import Offset, Offsets, OffsetUpdates, SourcePartition, updated
from penstock.plugin import Plugin, Transform
from penstock.record import Record
from penstock.sink import SinkConnector, SinkTaskContext
from penstock.source import InputPartition, Limits, PollingSource, Source, SourceConnector, record_batches
from penstock.testing._comparison import wire

__all__ = [
    "PLENTY",
    "SourceRun",
    "apply_all",
    "make",
    "parsed",
    "run_source",
    "run_transform",
    "run_writer",
    "sink_batch",
]

PLENTY: Final = Limits(1_000_000, 1 << 30)
_P = TypeVar("_P", bound=Plugin)


def make(plugin: type[_P]) -> _P:
    """A plugin object, as the runtime makes it."""
    return plugin()


def parsed(plugin: type[Plugin], properties: Mapping[str, str]) -> Any:
    """These properties, parsed by the `Config` of the plugin.

    Raises:
        ConfigError: holds all problems.
    """
    return plugin.Config.parse(properties)


@dataclass
class SourceRun:
    """One start of a source task. `step` delivers one batch.

    Attributes:
        streams: the records of each source partition, in order.
        at: the offsets of the records that were delivered.
        stops: the offsets at the start and after each batch, and the length of each stream at that time.
    """

    connector: type[SourceConnector]
    properties: Mapping[str, str]
    at: Offsets = field(default_factory=dict)
    streams: dict[SourcePartition, list[Record]] = field(default_factory=dict)
    stops: list[tuple[Offsets, dict[SourcePartition, int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        connector = make(self.connector)
        self.config = parsed(self.connector, self.properties)
        self.source: Source | PollingSource = connector.source(self.config)
        self.reader = None if isinstance(self.source, PollingSource) else connector.reader(self.config)

    def start(self) -> "SourceRun":
        """Start. `close` must follow."""
        self.source.start(self.at)
        return self

    def step(self, limits: Limits = PLENTY) -> bool:
        """Deliver and acknowledge one batch; False if there was nothing."""
        self.stops.append((self.at, {p: len(s) for p, s in self.streams.items()}))
        got, end = self.plan(limits)
        if not end:
            self.stops.pop()
            return False
        for partition, records in got.items():
            self.streams.setdefault(partition, []).extend(records)
        self.at = updated(self.at, end)
        self.source.commit(self.at)
        return True

    def plan(self, limits: Limits = PLENTY) -> tuple[dict[SourcePartition, list[Record]], OffsetUpdates]:
        """Read one batch without acknowledging it: the records by source partition, and the changed offsets."""
        if isinstance(self.source, PollingSource):
            records: list[Record] = []
            streams: dict[SourcePartition, list[Record]] = {}
            reached: dict[SourcePartition, Offset | None] = {}
            for portion, offsets in self.source.read(self.at, limits):
                records += [r for batch in record_batches([portion]) for r in batch.records()]
                reached.update(offsets)
                if offsets:  # those before it that came without offsets are held to be of the same stream
                    streams.setdefault(next(iter(offsets)), []).extend(records)
                    records = []
            if reached:
                streams.setdefault(next(iter(reached)), []).extend(records)
            return streams, reached
        end = {p: o for p, o in self.source.latest_offsets(self.at, limits).items() if self.at.get(p) != o}
        got: dict[SourcePartition, list[Record]] = {}
        for part in self.source.partitions(self.at, cast("Offsets", end)) if end else ():
            records = list(self.read(part))
            if part.offsets:
                got[next(iter(part.offsets))] = records
        return got, end

    def read(self, part: InputPartition) -> Iterator[Record]:
        """The records of a part, as another process reads it unless the part is `local`."""
        assert self.reader is not None
        sent = part if part.local else InputPartition(wire(part.data), part.offsets)
        for batch in record_batches(self.reader.read(sent)):
            yield from batch.records()

    def all(self, limits: Limits = PLENTY, max_batches: int = 100) -> "SourceRun":
        """Deliver batches until there is nothing, at most `max_batches`."""
        for _ in range(max_batches):
            if not self.step(limits):
                break
        return self

    def close(self) -> None:
        """Stop both halves."""
        self.source.stop()
        if self.reader is not None:
            self.reader.close()

    def __enter__(self) -> "SourceRun":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


def run_source(
    connector: type[SourceConnector],
    properties: Mapping[str, str],
    *,
    offsets: Offsets | None = None,
    limits: Limits = PLENTY,
    max_batches: int = 100,
) -> list[Record]:
    """The records that a source reads from these offsets on, until it has nothing more or after `max_batches` batches.

    It runs as one task with all properties. Records of one source partition are in order.
    """
    with SourceRun(connector, properties, offsets or {}) as run:
        return [record for stream in run.all(limits, max_batches).streams.values() for record in stream]


def run_transform(
    plugin: type[Transform], properties: Mapping[str, str], records: Iterable[Record], *, side: str = "value"
) -> list[Record | None]:
    """The transformed records, with None for one that is dropped. `side="key"` runs the transform's `$Key` form."""
    transform = make(plugin)
    transform.side = side
    transform.configure(parsed(plugin, properties))
    try:
        return [transform.apply(record) for record in records]
    finally:
        transform.close()


def apply_all(transforms: Sequence[Transform], record: Record) -> Record | None:
    """One record after a chain of configured transforms; None if one of them drops it."""
    for transform in transforms:
        transformed = transform.apply(record)
        if transformed is None:
            return None
        record = transformed
    return record


def sink_batch(records: Sequence[Record], offset: int = 0) -> RecordBatch:
    """A batch as a sink is given it, from one partition of Kafka.

    Args:
        records: those without an offset are taken as the next of partition 0 of their topic.
        offset: of the first record, if it has none.
    """
    placed = [
        r.replace(partition=r.partition or 0, offset=n) if r.offset is None else r
        for n, r in enumerate(records, start=offset)
    ]
    if not placed:
        return RecordBatch.of(placed)
    original = placed[0].original
    topic, partition = (placed[0].topic, placed[0].partition) if original is None else original[:2]
    return RecordBatch.of(placed).replace(original_topic=topic, original_partition=partition)


def run_writer(
    connector: type[SinkConnector], properties: Mapping[str, str], batches: Sequence[Sequence[Record]]
) -> list[tuple[Record, Exception]]:
    """Write batches of records, and commit each before the next.

    A record without an offset gets one, as if it were the next in partition 0 of its topic.

    Returns:
        The records that the sink handed back, each with its error.
    """
    plugin, config = make(connector), parsed(connector, properties)
    refused: list[tuple[Record, Exception]] = []
    sink, writer = plugin.sink(config), plugin.writer(config)
    try:
        sink.initialize(SinkTaskContext("suite", 0, "1"))
        sink.start()
        sink.open([])
        offset = 0
        for records in batches:
            batch = sink_batch(records, offset)
            offset += len(records)
            message = writer.write([batch], lambda record, error: refused.append((record, error)))
            sink.commit([] if message is None else [wire(message)], {})
        sink.close([])
    finally:
        writer.close()
        sink.stop()
    return refused
