"""Backlog batches of a sink of frames: Spark's workers make rows, and the driver passes them to the sink as frames."""

from collections.abc import Callable
from typing import Final

import msgspec

from penstock.source import Limits
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.pipeline.batch_sizing import PutSize
from penstock_runtime.pipeline.splits import Range, bounded, cut, dealt
from penstock_runtime.sink import spark_worker
from penstock_runtime.sink.batch_reader import frame_limits
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.sink.frame_worker import RowsAnswer, rows_of
from penstock_runtime.sink.frames import FramePut
from penstock_runtime.sink.offsets import SinkOffsets
from penstock_runtime.sink.spark_batches import SparkBatch, SparkBatches
from penstock_runtime.spark.kept_rows import KeptRows
from penstock_runtime.spark.session import Spark, WorkerLost
from penstock_runtime.spark.worker import part

__all__ = ["FrameBatches"]

_CHANGES: Final = 16
"""Number of schema changes after which a part ends. Each may need a frame, and so a Spark job."""


class FrameBatches(SparkBatches):
    """Spark half of a task whose sink takes frames.

    Args:
        context, spark, consumer, offsets, size, ending, clock: see `SparkBatches`.
        put: passes frames to the sink.
        look: raises an error if there is a newer incarnation; called before data is passed to the sink.
    """

    def __init__(
        self,
        context: SinkContext,
        spark: Spark,
        consumer: RecordConsumer,
        offsets: SinkOffsets,
        size: PutSize,
        *,
        put: FramePut,
        look: Callable[[], None],
        ending: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        super().__init__(context, spark, consumer, offsets, size, ending=ending, clock=clock)
        self._put = put
        self._look = look

    def splits(self) -> list[list[Range]]:
        """See `SparkBatches.splits`. Returns no more records than a frame may hold.

        If the order matters, Kafka partitions are not divided, so that the rows of each are in one Spark partition.
        """
        ranges = self._ranges()
        if not ranges:
            return []
        cores, limits, record_bytes = self._spark.cores, self._limits(), self._size.record_bytes
        most = min(limits.records, int(limits.bytes / max(1.0, record_bytes)))
        least = max(1, min(self._context.put_records, most // cores))
        batch = bounded(ranges, limits, record_bytes=record_bytes, least=least)
        return dealt(batch, cores) if self._put.ordered else cut(batch, cores, least=least)

    def run(self, splits: list[list[Range]], *, meanwhile: Callable[[], None] | None) -> SparkBatch:
        """Make rows of these ranges in Spark's workers, and pass frames of these rows to the sink.

        Raises:
            ConnectError: the sink failed, or there is a newer incarnation.
            RetriableError: as in `SparkBatches.run`, or the task stops while the sink asks to wait.
        """
        begun, kept = self._clock(), KeptRows()
        try:
            results = self._results(splits, rows_of, kept.fill, meanwhile)
            parts = [part(result) for result in results]
            total, good, gaps = self._joined(splits, parts)
            answers = [msgspec.msgpack.decode(result, type=RowsAnswer) for result in results]
            self._look()
            runs = [msgspec.structs.replace(run, part=number) for number in good for run in answers[number].runs]
            try:
                self._put.put_kept(kept, runs, total)
            except WorkerLost:
                self._size.lost()
                raise
        finally:
            kept.remove()
        if total.unfinished or any(answer.changing for answer in answers):
            self.rest()  # the driver measures how many frames it writes in time
        self._size.learn([self._size], total.read, total.bytes, self._clock() - begun)
        errors = [part.error for part in parts if part.error is not None]
        return SparkBatch(total, not gaps and not errors, errors)

    def _range_limits(self, workers: int) -> spark_worker.RangeLimits:
        context = self._context
        return spark_worker.RangeLimits(
            size=self._size,
            workers=workers,
            room=self._limits().bytes // workers,
            seconds=context.batch_seconds,
            put_seconds=context.put_seconds,
            changes=_CHANGES if self._put.ordered else None,
        )

    def _limits(self) -> Limits:
        return frame_limits(self._size, self._context.frame_records)
