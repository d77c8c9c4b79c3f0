"""From record batches to Spark DataFrames, for sinks that take a frame."""

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from penstock.errors import ConnectError, DataError, RetriableError
from penstock.fields import Fields
from penstock.schema import Type, struct
from penstock.sink import FrameSink, TopicPartition
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline.record_errors import Failure, describe
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.process.plugin_place import raised_in
from penstock_runtime.sink.frame_runs import Run, merged, runs_of
from penstock_runtime.sink.process import SinkProcess
from penstock_runtime.spark.session import Spark

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["FramePut"]


class FramePut:
    """Converts like a `SinkProcess`, and gives the sink frames of one schema each.

    Args:
        process: converts, and waits where the sink asks to.
        sink: takes the frames.
        spark: makes them.
        seconds: how long a batch should take; one of many frames ends then, and its rest is read again.
        stopping: ends a batch of many frames as well.
    """

    def __init__(
        self, process: SinkProcess, sink: FrameSink, spark: Spark, *, seconds: float, stopping: Callable[[], bool]
    ) -> None:
        self._process = process
        self._sink = sink
        self._spark = spark
        self._seconds = seconds
        self._stopping = stopping

    def put(self, consumed: Sequence[Consumed]) -> Summary:
        """As `SinkProcess.put`; or a part of it, and `Summary.unfinished` says so: its offsets are those of that part."""
        summary = Summary()
        partitions: dict[TopicPartition, list[Run]] = {}
        failures: list[tuple[Consumed, Sequence[Failure]]] = []
        for one in consumed:
            batch, failed = self._process.converted(one, summary)
            failures.append((one, failed))
            partitions.setdefault(one.source, []).extend(runs_of(one.source, batch))
        ordered = self._sink.ordered
        frames = merged(partitions.values() if ordered else [[run] for runs in partitions.values() for run in runs])
        for frame in frames:
            _check(frame)
        if (
            not ordered or len(frames) < 2
        ):  # none is left out, and a dead letter that is refused leaves nothing half done
            self._process.handle_failures(failures, summary)
            failures = []
        if frames:
            self._spark.session()  # may have to start
        started = time.perf_counter()
        for number, frame in enumerate(frames):
            if ordered and number and (time.perf_counter() - started > self._seconds or self._stopping()):
                failures = _leave_out(frames[number:], failures, summary)
                break
            self._process.retrying(lambda f=frame: self._put(f), summary)  # type: ignore[misc]
            summary.written += sum(len(run.values) for run in frame)
        self._process.handle_failures(failures, summary)
        summary.add_time("deliver", time.perf_counter() - started)
        return summary

    def close(self) -> None:
        """Close everything."""
        with suppress(Exception):
            self._process.close()

    def _put(self, frame: Sequence[Run]) -> None:
        import pyarrow as pa

        from penstock.spark import arrow_table, to_spark

        schema = frame[0].schema
        assert schema is not None
        shape = schema if schema.type is Type.STRUCT else struct({"value": schema})
        rows = (run.values if shape is schema else [{"value": v} for v in run.values] for run in frame)
        table = pa.concat_tables([arrow_table(shape, part) for part in rows]).combine_chunks()
        try:
            fields = cast("StructType", to_spark(shape))
            # In one partition of Spark's, as writers may work on several at once, where a later record of a Kafka
            # partition could be written before an earlier one. And each would be a file.
            frame_ = self._spark.session().createDataFrame(table, schema=fields).coalesce(1)
            with LOOP.witnessed(self._spark.at_work):  # a plugin's call, which Spark may work on for an hour
                self._sink.put_frame(frame_)
        except BaseException as e:
            self._spark.check(e)
            if isinstance(e, RetriableError):
                raise
            error = as_failure(e)
            raise ConnectError(
                f"Exiting WorkerSinkTask due to unrecoverable exception. {describe(error)}{raised_in(error)}"
            ) from error


def _check(frame: Sequence[Run]) -> None:
    """Before any frame of the batch is written: one that fails half way comes again."""
    if any(None in run.values for run in frame if not isinstance(run.values, Fields)):
        raise DataError("A tombstone cannot become a row. Drop them: Filter with predicate RecordIsTombstone.")
    if frame[0].schema is None:
        raise ConnectError(
            "A Spark sink needs values with a schema, and these have none. Use a converter that gives one: "
            "value.converter.schemas.enable=true, or value.converter.schema.content for messages without envelope."
        )


def _leave_out(
    frames: Sequence[Sequence[Run]], failures: Sequence[tuple[Consumed, Sequence[Failure]]], summary: Summary
) -> list[tuple[Consumed, Sequence[Failure]]]:
    """The batch ends before these frames: each partition goes on with the first record of its own in them.

    Returns:
        The failures that do not come again.
    """
    first: dict[TopicPartition, int] = {}
    for frame in frames:
        for run in frame:
            first.setdefault(run.source, run.offset)
    summary.unfinished = True
    summary.offsets = [(t, p, first.get(TopicPartition(t, p), offset)) for t, p, offset in summary.offsets]
    dropped = -sum(len(run.values) for frame in frames for run in frame)
    kept: list[tuple[Consumed, Sequence[Failure]]] = []
    for consumed, failed in failures:
        row = bisect_left(consumed.offset, first.get(consumed.source, consumed.next_offset))
        left, before = consumed.cut(row, len(consumed.offset)), [f for f in failed if f.position < row]
        summary.read -= len(left.offset)
        summary.bytes -= left.size()
        dropped += len(left.offset) - (len(failed) - len(before))
        kept.append((consumed, before))
    summary.dropped -= dropped
    return kept
