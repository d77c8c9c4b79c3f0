"""Spark's Python worker of a sink of frames: reads ranges of offsets and makes rows, which Spark keeps."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

from penstock._schema_json import schema_to_json
from penstock.schema import Schema
from penstock.sink import TopicPartition
from penstock.source import Limits
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline import summary as summaries
from penstock_runtime.pipeline.error_tolerance import Failure
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.sink.frame_rows import check, shape_of, stream_of, table_of
from penstock_runtime.sink.frame_runs import Count, KeptRun, Run, runs_of
from penstock_runtime.sink.offset_ranges import RangeReader
from penstock_runtime.sink.sink_process import SinkProcess
from penstock_runtime.sink.spark_worker import RangesPart, close_sinks, measures_of, sink_of
from penstock_runtime.spark.kept_rows import ANSWER, Row
from penstock_runtime.spark.worker import Answer, failure, redact

__all__ = ["RowsAnswer", "rows_of"]

_CHUNK: Final = Limits(10_000, 4 << 20)
"""Limits of rows that are kept together: Arrow and Spark process the same number of rows as a unit."""


class RowsAnswer(Answer):
    """Result of a part, for the driver.

    Attributes:
        runs: runs of rows that Spark keeps.
        changing: whether the part has ended because schemas change too often.
    """

    runs: list[KeptRun] = msgspec.field(default_factory=list)
    changing: bool = False


def rows_of(data: bytes) -> Iterator[Row]:
    """Read ranges of offsets and make rows of them until the time is up. Spark calls this function for sinks of frames.

    Rows made before an error count, as in `spark_worker.consume`.
    """
    begun = time.monotonic()
    task = RangesPart.decode(data)
    total, ends, made, answer = Summary(), dict[TopicPartition, int](), _Made(task.limits.changes), RowsAnswer()
    try:
        reader, process = sink_of(task)
        yield from _rows_made(task, reader, process, total, ends, made)
    except GeneratorExit:
        raise
    except BaseException as e:  # noqa: BLE001 (errors travel as data)
        answer = RowsAnswer(**msgspec.structs.asdict(failure(as_failure(e), redact)))
    total.measures = measures_of(task)
    if answer.kind:
        close_sinks()  # records that the reader has prefetched cannot be trusted
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
                chunk = made.cut(_converted(process, portions))
                if not chunk.parts:
                    return
                made_of = made.of(chunk)
                process.handle_failures([(c, failed) for c, _, failed in chunk.parts], chunk.summary)
            total.add(chunk.summary)
            made.keep(made_of)  # only now: records refused above are not kept, and are read again
            yield from made_of.rows
            reached = chunk.parts[-1][0].next_offset
        ends[of] = reached


class _Chunk(NamedTuple):
    """Converted records of one partition."""

    parts: list[tuple[Consumed, list[Run], Sequence[Failure]]]
    summary: Summary


def _converted(process: SinkProcess, portions: Sequence[Consumed]) -> _Chunk:
    summary, parts = Summary(), []
    for consumed in portions:
        batch, failed = process.converted(consumed, summary)
        parts.append((consumed, runs_of(consumed.source, batch), failed))
    return _Chunk(parts, summary)


def _before(chunk: _Chunk, number: int, place: int) -> _Chunk:
    """Return the part of a chunk that precedes run `place` of part `number`."""
    consumed, runs, failures = chunk.parts[number]
    row = bisect_left(consumed.offset, runs[place].offset)
    kept = [*chunk.parts[:number]]
    left = [*chunk.parts[number + 1 :]]
    if row:
        kept.append((consumed.cut(0, row), runs[:place], [f for f in failures if f.position < row]))
    rest = consumed.cut(row, len(consumed.offset))
    left.append((rest, runs[place:], [f for f in failures if f.position >= row]))
    read = sum(len(c.offset) for c, _, _ in left)
    summary = chunk.summary
    summary.read -= read
    summary.bytes -= sum(c.size() for c, _, _ in left)
    summary.dropped -= read - sum(len(f) for _, _, f in left) - sum(len(run) for _, runs, _ in left for run in runs)
    return _Chunk(kept, summary)


class _MadeOf(NamedTuple):
    """Rows of a chunk, their description for the driver, and the counts of their partition in the part so far."""

    source: TopicPartition
    rows: list[Row]
    runs: list[KeptRun]
    so_far: Count


class _Made:
    """Rows of one part.

    Args:
        changes: number of schema changes in a partition after which the part ends; None: the order of rows does not matter.
    """

    def __init__(self, changes: int | None = None) -> None:
        self._most = changes
        self._runs: list[KeptRun] = []
        self._counts: dict[TopicPartition, Count] = {}
        self._changes: Counter[TopicPartition] = Counter()
        self._last: dict[TopicPartition, Schema | None] = {}
        self.changing = False
        """Whether the part must end because of schema changes."""

    def cut(self, chunk: _Chunk) -> _Chunk:
        """Return the records before the schema change that ends the part; all of them if none ends it.

        The kept records are not converted again, because a transform may return something else the second time.
        """
        if self._most is None:
            return chunk
        for number, (consumed, runs, _) in enumerate(chunk.parts):
            of = consumed.source
            for place, run in enumerate(runs):
                is_change = of in self._last and run.schema != self._last[of]
                if is_change and self._changes[of] == self._most:
                    self.changing = True
                    return _before(chunk, number, place)
                self._changes[of] += is_change
                self._last[of] = run.schema
        return chunk

    def of(self, chunk: _Chunk) -> _MadeOf:
        """Make the rows of these records; they do not count until `keep`.

        Raises:
            ConnectError: records cannot be converted to rows.
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
        for together in self._of_one_schema(found):
            first, before = together[0]
            schema = first.schema
            same = [run for run, _ in together]
            check(same)
            assert schema is not None
            shape, number = shape_of(schema), len(self._runs) + len(kept)
            rows.append((number, stream_of(table_of(same), shape)))
            length = sum(len(run) for run in same)
            kept.append(KeptRun(number, of, first.offset, schema_to_json(shape), length, before))
        return _MadeOf(of, rows, kept, count)

    def _of_one_schema(self, found: Sequence[tuple[Run, Count]]) -> list[list[tuple[Run, Count]]]:
        if self._most is not None:
            return [[*group] for _, group in groupby(found, lambda one: one[0].schema)]
        groups: dict[Schema | None, list[tuple[Run, Count]]] = {}
        for one in found:
            groups.setdefault(one[0].schema, []).append(one)
        return [*groups.values()]

    def keep(self, made: _MadeOf) -> None:
        """Count these rows as part of the result."""
        self._runs += made.runs
        self._counts[made.source] = made.so_far

    def runs(self) -> list[KeptRun]:
        """Return all kept runs, each with the counts of its partition from there to the end of the part."""
        found = []
        for run in self._runs:
            whole, before = self._counts[TopicPartition(*run.source)], run.rest
            rest = Count(whole.read - before.read, whole.bytes - before.bytes, whole.failed - before.failed)
            found.append(msgspec.structs.replace(run, rest=rest))
        return found
