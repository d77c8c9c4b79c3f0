"""Convert record batches to Spark DataFrames, for sinks that take frames."""

import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, cast

from penstock._schema_json import schema_from_json
from penstock.errors import ConnectError, RetriableError
from penstock.sink import FrameSink, TopicPartition
from penstock.spark import to_spark
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline.error_tolerance import Failure, describe
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.process.plugin_place import raised_in
from penstock_runtime.sink.frame_rows import check, shape_of, table_of
from penstock_runtime.sink.frame_runs import KeptRun, R, Run, merged, runs_of
from penstock_runtime.sink.sink_process import SinkProcess
from penstock_runtime.spark.kept_rows import KeptRows
from penstock_runtime.spark.session import Spark, WorkerLost

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["FramePut"]


class FramePut:
    """Counterpart of `SinkProcess` that passes frames of one schema each to the sink.

    Args:
        process: converts records, and waits when the sink asks to.
        sink: takes the frames.
        spark: session that creates the frames.
        seconds: target duration of a batch; a batch of several frames ends then, and the rest is read again.
        stopping: returns whether to end a batch of several frames early.
    """

    def __init__(
        self, process: SinkProcess, sink: FrameSink, spark: Spark, *, seconds: float, stopping: Callable[[], bool]
    ) -> None:
        self._process = process
        self._sink = sink
        self._spark = spark
        self._seconds = seconds
        self._stopping = stopping

    @property
    def ordered(self) -> bool:
        """Return whether the order of a partition's records matters to the sink."""
        return self._sink.ordered

    def put(self, consumed: Sequence[Consumed]) -> Summary:
        """Write records as `SinkProcess.put` does, possibly only a part of them.

        In this case `Summary.unfinished` is set, and the offsets are those of the part.
        """
        summary = Summary()
        partitions: dict[TopicPartition, list[Run]] = {}
        failures: list[tuple[Consumed, Sequence[Failure]]] = []
        for one in consumed:
            batch, failed = self._process.converted(one, summary)
            failures.append((one, failed))
            partitions.setdefault(one.source, []).extend(runs_of(one.source, batch))
        frames = self._frames(partitions.values())
        for frame in frames:
            check(frame)
        if frames:
            # It may have to start: wait for it before writing dead letters, which a retry would write again.
            self._spark.session()
        # No frame can be left out, so write dead letters first: if Kafka rejects one, nothing is half written.
        if not self.ordered or len(frames) < 2:
            self._process.handle_failures(failures, summary)
            failures = []
        left = self._put_all(frames, self._made_here, summary)
        if left:
            failures = _leave_out(left, failures, summary)
        self._process.handle_failures(failures, summary)
        return summary

    def put_kept(self, kept: KeptRows, runs: Sequence[KeptRun], summary: Summary) -> None:
        """Write rows that workers have made, as `put` does; dead letters of these records are already in Kafka.

        Args:
            kept: holds the rows.
            runs: runs that count, in the order of each partition.
            summary: summary of the workers; on return, of the records written.

        Raises: as `put`.
        """
        partitions: dict[tuple[str, int], list[KeptRun]] = {}
        for run in runs:
            partitions.setdefault(run.source, []).append(run)
        self._spark.session()  # stays from now on
        left = self._put_all(self._frames(partitions.values()), partial(_made_of, kept), summary, _has_not_failed)
        if left:
            _leave_out_kept(left, summary)

    def _frames(self, partitions: Collection[Sequence[R]]) -> list[list[R]]:
        return merged(partitions if self.ordered else [[run] for runs in partitions for run in runs])

    def close(self) -> None:
        """Close everything."""
        with suppress(Exception):
            self._process.close()

    def _put_all(
        self,
        frames: Sequence[Sequence[R]],
        making: Callable[[Sequence[R]], Callable[[], "DataFrame"]],
        summary: Summary,
        may_leave: Callable[[Sequence[Sequence[R]]], bool] = lambda left: True,
    ) -> Sequence[Sequence[R]]:
        """Write frames until the time is up.

        Returns:
            Frames that are not written.
        """
        started = time.perf_counter()
        try:
            for number, frame in enumerate(frames):
                left = frames[number:]
                is_over = time.perf_counter() - started > self._seconds and may_leave(left)
                if self.ordered and number and (is_over or self._stopping()):
                    return left
                lost = self._process.retrying(lambda f=frame: self._given(making(f)), summary)  # type: ignore[misc]
                if lost is not None:
                    raise lost
                summary.written += sum(len(run) for run in frame)
            return []
        finally:
            summary.add_time("deliver", time.perf_counter() - started)

    def _made_here(self, frame: Sequence[Run]) -> Callable[[], "DataFrame"]:
        schema = frame[0].schema
        assert schema is not None
        table = table_of(frame)

        def made() -> "DataFrame":
            fields = cast("StructType", to_spark(shape_of(schema)))
            # Use one Spark partition: writers may work on several at a time, and could write a later record of a Kafka
            # partition before an earlier one. Also, each Spark partition would become a file.
            return self._spark.session().createDataFrame(table, schema=fields).coalesce(1)

        return made

    def _given(self, made: Callable[[], "DataFrame"]) -> WorkerLost | None:
        """Pass a frame to the sink. Return `WorkerLost` instead of raising it.

        Otherwise, the frame would be retried, although the rows that Spark keeps for it may be lost, too.
        """
        try:
            self._put(made)
        except WorkerLost as e:
            return e
        return None

    def _put(self, made: Callable[[], "DataFrame"]) -> None:
        try:
            frame = made()
            # A call into a plugin, which Spark may work on for an hour.
            with LOOP.witnessed(self._spark.at_work), self._spark.watched():
                self._sink.put_frame(frame)
        except BaseException as e:
            self._spark.check(e)
            if isinstance(e, RetriableError):
                raise
            error = as_failure(e)
            raise ConnectError(
                f"Exiting WorkerSinkTask due to unrecoverable exception. {describe(error)}{raised_in(error)}"
            ) from error


def _leave_out(
    frames: Sequence[Sequence[Run]], failures: Sequence[tuple[Consumed, Sequence[Failure]]], summary: Summary
) -> list[tuple[Consumed, Sequence[Failure]]]:
    """End the batch before these frames: each partition continues with its first record in them.

    Returns:
        Failures of records that are not read again.
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


def _made_of(kept: KeptRows, frame: Sequence[KeptRun]) -> Callable[[], "DataFrame"]:
    fields = cast("StructType", to_spark(schema_from_json(frame[0].schema)))
    return lambda: kept.frame([(run.part, run.number) for run in frame], fields)


def _has_not_failed(left: Sequence[Sequence[KeptRun]]) -> bool:
    """Return whether no row has a dead letter that would be written again.

    The dead letters of this batch are already in Kafka.
    """
    return not any(of.rest.failed for frame in left for of in frame)


def _leave_out_kept(frames: Sequence[Sequence[KeptRun]], summary: Summary) -> None:
    """End the batch before these frames, as `_leave_out` does, for rows that workers have made."""
    first: dict[tuple[str, int], KeptRun] = {}
    for frame in frames:
        for of in frame:
            first.setdefault(of.source, of)
    summary.unfinished = True
    summary.offsets = [(t, p, first[t, p].offset if (t, p) in first else offset) for t, p, offset in summary.offsets]
    summary.read -= sum(run.rest.read for run in first.values())
    summary.bytes -= sum(run.rest.bytes for run in first.values())
    rows = sum(len(of) for frame in frames for of in frame)
    summary.dropped -= sum(run.rest.read for run in first.values()) - rows
