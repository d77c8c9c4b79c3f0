"""Functions that run one plugin like the runtime, without Kafka and Spark."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from penstock import _returned as returned
from penstock.batch import RecordBatch
from penstock.offsets import Offsets
from penstock.plugin import Transform
from penstock.record import Record
from penstock.sink import Sink, SinkConnector, SinkTaskContext, TopicPartition, Writer
from penstock.source import Limits, SourceConnector
from penstock.testing._comparison import wire
from penstock.testing._making import make, parsed
from penstock.testing._source_run import PLENTY, SourceRun

__all__ = ["apply_all", "checked", "run_source", "run_transform", "run_writer", "sent", "sink_batch"]


def run_source(
    connector: type[SourceConnector],
    properties: Mapping[str, str],
    *,
    offsets: Offsets | None = None,
    limits: Limits = PLENTY,
    max_batches: int = 100,
) -> list[Record]:
    """Return the records that a source reads from these offsets until there are no more, or `max_batches` is reached.

    The source runs as one task with all properties. Records of one source partition are in order.
    """
    with SourceRun(connector, properties, offsets or {}) as run:
        return [record for stream in run.all(limits, max_batches).streams.values() for record in stream]


def run_transform(
    plugin: type[Transform], properties: Mapping[str, str], records: Iterable[Record], *, side: str = "value"
) -> list[Record | None]:
    """Return the transformed records, with None for dropped records. `side="key"` runs the transform's `$Key` form."""
    transform = make(plugin)
    transform.side = side
    transform.configure(parsed(plugin, properties))
    try:
        return [checked(transform, transform.apply(record)) for record in records]
    finally:
        transform.close()


def checked(transform: Transform, found: Any) -> Record | None:
    """Check the result of `apply`, and return it.

    Raises:
        ReturnedWrong: the result is neither a record nor None, or the type of its topic, timestamp, ... is invalid.
    """
    made, method = [] if found is None else [found], returned.name(transform, "apply")
    returned.records(made, method, "a Record, or None to drop it")
    returned.batch(RecordBatch.of(made), method)
    return cast("Record | None", found)


def apply_all(transforms: Sequence[Transform], record: Record) -> Record | None:
    """Apply a chain of configured transforms to a record; return None if one of them drops it."""
    for transform in transforms:
        transformed = transform.apply(record)
        if transformed is None:
            return None
        record = transformed
    return record


def sink_batch(records: Sequence[Record], offset: int = 0) -> RecordBatch:
    """Return a batch as a sink receives it, from one Kafka partition.

    Args:
        records: the records; those without an offset get consecutive offsets in partition 0 of their topic.
        offset: the offset of the first record if it has none.
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


def sent(message: Any, method: str) -> list[Any]:
    """Return a writer's message as `Sink.commit` receives it from another process, in a list; an empty list for None.

    Raises:
        ReturnedWrong: the message contains types that cannot be sent to another process.
    """
    return [] if message is None else [wire(returned.message(message, method))]


def run_writer(
    connector: type[SinkConnector], properties: Mapping[str, str], batches: Sequence[Sequence[Record]]
) -> list[tuple[Record, Exception]]:
    """Write batches of records, and commit each before writing the next.

    Records without an offset get consecutive offsets in partition 0 of their topic, starting at the offset that `open`
    returned, if any.

    Returns:
        The records that the sink reported, each with its error.
    """
    plugin, config = make(connector), parsed(connector, properties)
    refused: list[tuple[Record, Exception]] = []

    def report(record: Record, error: Exception) -> None:
        refused.append(returned.reported(record, error))

    sink = returned.instance(plugin.sink(config), (Sink,), returned.name(plugin, "sink"))
    writer = returned.instance(plugin.writer(config), (Writer,), returned.name(plugin, "writer"))
    try:
        sink.initialize(SinkTaskContext("suite", 0, "1"))
        sink.start()
        partitions = sorted({_partition(batch) for records in batches if records for batch in [sink_batch(records)]})
        reached = dict(returned.positions(sink.open(partitions), returned.name(sink, "open")))
        for records in batches:
            batch = sink_batch(records)
            if records:
                batch = sink_batch(records, reached.get(_partition(batch), 0))
                reached[_partition(batch)] = (batch.offset or [0])[-1] + 1
            messages = sent(writer.write([batch], report), returned.name(writer, "write"))
            returned.positions(sink.commit(messages, {}), returned.name(sink, "commit"))
        sink.close(partitions)
    finally:
        writer.close()
        sink.stop()
    return refused


def _partition(batch: RecordBatch) -> TopicPartition:
    return TopicPartition(batch.original_topic or "", batch.original_partition or 0)
