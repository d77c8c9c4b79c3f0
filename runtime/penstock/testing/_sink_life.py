"""One start of a sink task, run like the runtime, without Kafka."""

import gc
import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn

from penstock import _returned as returned
from penstock.batch import RecordBatch
from penstock.context import PluginContext
from penstock.record import Original, Record
from penstock.sink import FrameSink, Sink, SinkConnector, SinkTaskContext, TopicPartition, Writer
from penstock.testing._harness import sent, sink_batch
from penstock.testing._making import fresh, make, parsed

__all__ = ["T0", "T1", "SinkLife", "offset_of", "placed"]

T0: Final = TopicPartition("t", 0)
T1: Final = TopicPartition("t", 1)

_BEGUN: Final = time.time_ns()
_LIVES: Final = itertools.count()


class SinkLife:
    """Sink and its writers from `initialize` to `stop`, as a context manager.

    Attributes:
        opened: the offsets that the last `open` returned.
        written: the offset after the last written record of each partition.
        committed, allowed: the offsets passed to the last `commit`, and those that it returned.
        frame: whether the sink accepts frames; no records are written then, because that requires Spark.
        messages: the messages that the writers returned since the last commit.
        ended: whether the task was stopped or killed.
    """

    def __init__(
        self,
        plugin: type[SinkConnector],
        properties: Mapping[str, str],
        name: str = "suite",
        partitions: Sequence[TopicPartition] = (T0,),
    ) -> None:
        self._connector = make(plugin)
        self._start_id = f"{_BEGUN}-{next(_LIVES):06d}"
        self._connector.context = PluginContext(name, task=0, tasks=1, start_id=self._start_id)
        self._config = parsed(plugin, properties)
        self.name = name
        self.partitions = list(partitions)
        self.opened: Mapping[TopicPartition, int] = {}
        self.written: dict[TopicPartition, int] = {}
        self.committed: Mapping[TopicPartition, int] = {}
        self.allowed: Mapping[TopicPartition, int] = {}
        made = self._connector.sink(self._config)
        self.sink = returned.instance(made, (Sink,), returned.name(self._connector, "sink"))
        self.frame = isinstance(self.sink, FrameSink)
        self._writers: list[Writer] = []
        self.messages: list[Any] = []
        self.ended = False

    def __enter__(self) -> "SinkLife":
        try:
            self.sink.initialize(SinkTaskContext(self.name, 0, self._start_id))
            self.sink.start()
            self.open(self.partitions)
        except BaseException:
            with suppress(Exception):
                self.sink.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def packages(self) -> Sequence[str]:
        """Top-level packages or modules of the author's code."""
        modules = {type(of).__module__.partition(".")[0] for of in (self._connector, self.sink, self._first())}
        return sorted(modules - {"penstock"})

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Open these partitions. Reading continues at the offsets that the sink returns."""
        self.opened = dict(returned.positions(self.sink.open(partitions), returned.name(self.sink, "open")))
        others = set(self.opened) - set(partitions)
        assert not others, f"`open` returned offsets of partitions that were not passed to it: {others}"
        self.written.update(self.opened)
        return self.opened

    def add(self, partition: TopicPartition) -> None:
        """Add and open a partition."""
        self.partitions.append(partition)
        self.open([partition])

    def reopen(self) -> Mapping[TopicPartition, int]:
        """Close and open all partitions, as after a failed batch."""
        self.sink.close(self.partitions)
        return self.open(self.partitions)

    def writer(self) -> Writer:
        """Create another writer, like another process."""
        made = self._connector.writer(self._config)
        self._writers.append(returned.instance(made, (Writer,), returned.name(self._connector, "writer")))
        return self._writers[-1]

    def following(self, records: Sequence[Record], of: TopicPartition = T0) -> list[Record]:
        """Return records as the next ones of a partition, or at their own offsets if it has no records yet."""
        return placed(records, of, self.written.get(of))

    def write(self, records: Sequence[Record]) -> None:
        """Write records of one partition."""
        self.write_batches([sink_batch(records)])

    def write_batches(self, batches: Sequence[RecordBatch], by: Writer | None = None) -> None:
        """Write batches with the given writer, or with the first one."""
        if not self.frame:
            writer = by or self._first()
            self.messages += sent(writer.write(batches, _no_report), returned.name(writer, "write"))
        self._count(batches)

    def part(self, records: Sequence[Record], by: Writer | None = None) -> list[Any]:
        """Stage a part in several calls, with the given writer or the first one, and return its message."""
        if self.frame:
            return []
        writer = by or self._first()
        for start in range(0, len(records), 2):
            batch = sink_batch(records[start : start + 2])
            writer.stage([batch], _no_report)
            self._count([batch])
        return sent(writer.staged(), returned.name(writer, "staged"))

    def lose(self, records: Sequence[Record]) -> int:
        """Write records in a process that is lost before it returns a message; return the offset after the last record."""
        messages, written = list(self.messages), dict(self.written)
        self.write_batches([sink_batch(records)], self.writer())
        self.messages, self.written = messages, written
        return offset_of(records[-1]) + 1

    def commit(self, dropped: int = 0) -> Mapping[TopicPartition, int]:
        """Commit the written records and, after them, `dropped` records of each partition that transforms dropped."""
        messages, self.messages = self.messages, []
        self.committed = {of: offset + dropped for of, offset in self.written.items()}
        allowed = self.sink.commit(messages, dict(self.committed))
        self.allowed = returned.positions(allowed, returned.name(self.sink, "commit"))
        return self.allowed

    def stop(self) -> None:
        """Stop the task in the normal way, unless it has been stopped or killed."""
        if self.ended:
            return
        self.ended = True
        self.sink.close(self.partitions)
        for writer in self._writers:
            writer.close()
        self.sink.stop()

    def kill(self) -> None:
        """End the task without further calls, like a killed process: the resources of its objects are released."""
        self.ended = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # a killed process closes nothing either
            self._writers.clear()
            self.sink = None  # type: ignore[assignment]
            self._connector = None  # type: ignore[assignment]
            gc.collect()

    def _count(self, batches: Sequence[RecordBatch]) -> None:
        for batch in batches:
            if batch.length and batch.offset is not None:
                of = TopicPartition(batch.original_topic or "", batch.original_partition or 0)
                self.written[of] = batch.offset[-1] + 1

    def _first(self) -> Writer:
        return self._writers[0] if self._writers else self.writer()


def placed(records: Sequence[Record], of: TopicPartition, begin: int | None = None) -> list[Record]:
    """Return records as if they had been read from a Kafka partition, at their offsets or starting at `begin`."""
    offsets = [n if r.offset is None else r.offset for n, r in enumerate(records)]
    shift = 0 if begin is None or not offsets else begin - offsets[0]
    return [
        r.replace(offset=offset + shift, original=Original(of.topic, of.partition, offset + shift))
        for r, offset in zip(fresh(records), offsets, strict=True)
    ]


def offset_of(record: Record) -> int:
    """Return the Kafka offset of a record."""
    assert record.offset is not None, f"the record has no offset: {record}"
    return record.offset


def _no_report(record: Record, error: Exception) -> NoReturn:
    record, error = returned.reported(record, error)
    raise AssertionError(f"the sink rejects {record}: {error}")
