"""What a sink of frames does in Spark's Python workers: it reads ranges of offsets and makes rows, which Spark keeps."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

from penstock._schema_json import schema_to_json
from penstock.sink import TopicPartition
from penstock.source import Limits
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline import summary as summaries
from penstock_runtime.pipeline.record_errors import Failure
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.sink.frame_rows import check, shape_of, stream_of, table_of
from penstock_runtime.sink.frame_runs import Count, KeptRun, Run, runs_of
from penstock_runtime.sink.offset_ranges import RangeReader
from penstock_runtime.sink.process import SinkProcess
from penstock_runtime.sink.spark_worker import RangesPart, let_go, measures_of, sink_of
from penstock_runtime.spark.kept_rows import ANSWER, Row
from penstock_runtime.spark.worker import Answer, failure, redact

__all__ = ["RowsAnswer", "rows_of"]

_CHUNK: Final = Limits(10_000, 4 << 20)
"""What is kept as one: Arrow and Spark take as many rows at once."""
_CHANGES: Final = 16
"""A part ends after so many changes of schema. Each may be a frame, and so a job of Spark's."""


class RowsAnswer(Answer):
    """What the driver is told of a part.

    Attributes:
        runs: what is kept.
        changing: the part has ended because schemas change so often.
    """

    runs: list[KeptRun] = msgspec.field(default_factory=list)
    changing: bool = False


def rows_of(data: bytes) -> Iterator[Row]:
    """Read ranges of offsets and make rows of them until the time is over; the entry that Spark calls for sinks of frames.

    What was made before an error counts, as with `spark_worker.consume`.
    """
    begun = time.monotonic()
    task = RangesPart.decode(data)
    total, ends, made, answer = Summary(), dict[TopicPartition, int](), _Made(), RowsAnswer()
    try:
        reader, process = sink_of(task)
        yield from _rows_made(task, reader, process, total, ends, made)
    except GeneratorExit:
        raise
    except BaseException as e:  # noqa: BLE001 (errors travel as data)
        answer = RowsAnswer(**msgspec.structs.asdict(failure(as_failure(e), redact)))
    total.measures = measures_of(task)
    if answer.kind:
        let_go()  # what the reader had fetched is not to be trusted
    total.offsets = [(*of, offset) for of, offset in ends.items()]
    total.add_time("read", max(0.0, time.monotonic() - begun - sum(total.seconds.values())))
    answer.summary, answer.runs, answer.changing = summaries.encode(total), made.runs(), made.changing
    yield ANSWER, msgspec.msgpack.encode(answer)


def _rows_made(
    task: RangesPart,
    reader: RangeReader,
    process: SinkProcess,
    total: Summary,
    ends: dict[TopicPartition, int],
    made: "_Made",
) -> Iterator[Row]:
    for of, portions, offset in task.puts(reader, lambda: _CHUNK, ending=lambda: made.changing):
        reached = offset
        if portions:
            with task.watched(of):
                whole = _converted(process, portions)
                first = made.before_change_too_many(whole)
                chunk = whole if first is None else _converted(process, first)
                if first is not None:
                    reached = first[-1].next_offset
                rows = made.add(chunk)
                process.handle_failures([(c, failed) for c, _, failed in chunk.parts], chunk.summary)
            total.add(chunk.summary)
            yield from rows
        ends[of] = reached


class _Chunk(NamedTuple):
    """Records of one partition, converted."""

    parts: list[tuple[Consumed, list[Run], Sequence[Failure]]]
    summary: Summary


def _converted(process: SinkProcess, portions: Sequence[Consumed]) -> _Chunk:
    summary, parts = Summary(), []
    for consumed in portions:
        batch, failed = process.converted(consumed, summary)
        parts.append((consumed, runs_of(consumed.source, batch), failed))
    return _Chunk(parts, summary)


class _Made:
    """The rows of one part."""

    def __init__(self) -> None:
        self._runs: list[KeptRun] = []
        self._counts: dict[TopicPartition, Count] = {}
        self._changes: Counter[TopicPartition] = Counter()

    @property
    def changing(self) -> bool:
        """Whether the part is to end because of changes of schema."""
        return max(self._changes.values(), default=0) >= _CHANGES

    def before_change_too_many(self, chunk: _Chunk) -> list[Consumed] | None:
        """The records before the change with which the part ends; None: it does not end there."""
        left = _CHANGES - self._changes[chunk.parts[0][0].source]
        last: Run | None = None
        for number, (consumed, runs, _) in enumerate(chunk.parts):
            for run in runs:
                left -= last is not None and run.schema != last.schema
                last = run
                if left < 0:
                    before = [c for c, _, _ in chunk.parts[:number]]
                    row = bisect_left(consumed.offset, run.offset)
                    return [*before, consumed.cut(0, row)] if row else before
        return None

    def add(self, chunk: _Chunk) -> list[Row]:
        """The rows of these records.

        Raises:
            ConnectError: records cannot become rows.
        """
        of = chunk.parts[0][0].source
        count = self._counts.get(of, Count())
        found: list[tuple[Run, Count]] = []
        for consumed, runs, failures in chunk.parts:
            for run in runs:
                row = bisect_left(consumed.offset, run.offset)
                size = consumed.cut(0, row).size() if row else 0
                failed = sum(f.position < row for f in failures)
                found.append((run, Count(count.read + row, count.bytes + size, count.failed + failed)))
            count = Count(
                count.read + len(consumed.offset), count.bytes + consumed.size(), count.failed + len(failures)
            )
        kept, rows = list[KeptRun](), list[Row]()
        for schema, group in groupby(found, lambda one: one[0].schema):
            together = [*group]
            first, before = together[0]
            same = [run for run, _ in together]
            check(same)
            assert schema is not None
            shape, number = shape_of(schema), len(self._runs) + len(kept)
            rows.append((number, stream_of(table_of(same), shape)))
            length = sum(len(run) for run in same)
            kept.append(KeptRun(number, of, first.offset, schema_to_json(shape), length, before))
        self._changes[of] += max(0, len(kept) - 1)
        self._runs += kept
        self._counts[of] = count
        return rows

    def runs(self) -> list[KeptRun]:
        """What was made: each with what the part holds from there on."""
        for run in self._runs:
            whole, before = self._counts[TopicPartition(*run.source)], run.rest
            run.rest = Count(whole.read - before.read, whole.bytes - before.bytes, whole.failed - before.failed)
        return self._runs
