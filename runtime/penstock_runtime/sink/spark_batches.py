"""Backlog batches of a sink: divide them among Spark's workers, and combine the workers' results."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

from penstock.errors import ConnectError, RetriableError
from penstock.sink import TopicPartition
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.pipeline.batch_sizing import PutSize
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.pipeline.splits import Range, bounded, cut, dealt, reached
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink import spark_worker
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.sink.offsets import SinkOffsets
from penstock_runtime.spark.backlog import are_workers_ready
from penstock_runtime.spark.jobs import Entry, Job, in_workers
from penstock_runtime.spark.session import Spark, WorkerLost
from penstock_runtime.spark.worker import Part, part

__all__ = ["SparkBatch", "SparkBatches"]

log = logging.getLogger(__name__)
_REST: Final = 60.0
"""Seconds for which only the driver writes, after a sink has asked to wait."""


@dataclass(frozen=True, slots=True)
class SparkBatch:
    """Combined result of the workers.

    Attributes:
        summary: summary of the workers whose work counts.
        complete: whether all work counts: none of it lies after a gap, and no worker has failed.
        errors: errors of the workers.
    """

    summary: Summary
    complete: bool
    errors: Sequence[ConnectError]

    def raise_first_error(self) -> NoReturn:
        """Raise the first error that is not retriable, else the first one, and log the others."""
        first = next((e for e in self.errors if not isinstance(e, RetriableError)), self.errors[0])
        for other in self.errors:
            if other is not first:
                log.warning("Another worker has failed: %s", other)
        raise first


class SparkBatches:
    """Spark half of a sink task.

    Args:
        context: context of the task.
        spark: its session.
        consumer: looks up the bounds of partitions.
        offsets: holds the positions.
        size: size of puts; learns from the sizes of the workers.
        ending: returns whether workers must end after their current puts.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        context: SinkContext,
        spark: Spark,
        consumer: RecordConsumer,
        offsets: SinkOffsets,
        size: PutSize,
        *,
        ending: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context = context
        self._spark = spark
        self._consumer = consumer
        self._offsets = offsets
        self._size = size
        self._ending = ending
        self._clock = clock
        self._end_file = spark_worker.end_file(context.slots_dir)
        self._turns: dict[TopicPartition, int] = {}
        """Number of the last batch with each partition: partitions left out of one batch come first in the next."""
        self._turn = 0
        self._rests_until = 0.0

    @property
    def resting(self) -> bool:
        """Return whether only the driver writes now, because the sink asked to wait.

        Unlike the workers, the driver retries for as long as configured.
        """
        return self._clock() < self._rests_until

    def rest(self) -> None:
        """Let only the driver write for a minute."""
        self._rests_until = self._clock() + _REST

    def are_workers_ready(self, reports: Reports) -> bool:
        """Return whether Spark is ready (`backlog.are_workers_ready`)."""
        return are_workers_ready(self._spark, reports)

    def splits(self) -> list[list[Range]]:
        """Return the ranges for each worker; an empty list if the consumer must find positions first."""
        context = self._context
        cores = self._spark.cores if context.staged or not context.single_writer else 1
        ranges = self._ranges()
        if not ranges:
            return []
        limits, record_bytes = self._size.batch(cores, staged=context.staged), self._size.record_bytes
        most = min(limits.records, int(limits.bytes / max(1.0, record_bytes)))
        least = max(1, min(self._size.put().records if context.staged else context.put_records, most // cores))
        batch = bounded(ranges, limits, record_bytes=record_bytes, least=least)
        if context.staged:
            return cut(batch, cores, least=least)
        return dealt(batch, cores)

    def run(self, splits: list[list[Range]], *, meanwhile: Callable[[], None] | None) -> SparkBatch:
        """Read and write these ranges in Spark's workers. Each stops when its time is up, and returns the reached offsets.

        Args:
            splits: ranges of each worker.
            meanwhile: called here while the workers run.

        Raises:
            RetriableError: a worker or Spark is lost: it is unknown how much is written.
        """
        parts = [part(result) for result in self._results(splits, spark_worker.consume, in_workers, meanwhile)]
        total, _, gaps = self._joined(splits, parts)
        sizes = [part.size for part in parts if part.size is not None]
        self._size.learn(sizes, total.read, total.bytes, sum(total.seconds.values()))
        errors = [e for e in self._spark.judged([part.error for part in parts]) if e is not None]
        return SparkBatch(total, not gaps and not errors, errors)

    def _results(
        self, splits: list[list[Range]], entry: Entry, through: Job, meanwhile: Callable[[], None] | None
    ) -> list[bytes]:
        begun = self._clock()
        limits = self._range_limits(len(splits))
        payloads = [spark_worker.range_payload(self._context, split, limits) for split in splits]
        self._end_file.unlink(missing_ok=True)
        try:
            return self._spark.run(
                entry,
                payloads,
                timeout=self._context.batch_timeout,
                meanwhile=meanwhile,
                watching=self._watch,
                through=through,
            )
        except WorkerLost as e:
            self._size.lost()
            raise self._explained(e, self._clock() - begun) from e

    def _watch(self) -> None:
        if self._ending():
            with suppress(OSError):
                self._end_file.touch()

    def _joined(self, splits: list[list[Range]], parts: Sequence[Part]) -> tuple[Summary, list[int], bool]:
        """Return the combined summary, the indices of the parts that count, and whether parts after a gap do not count."""
        summaries = [part.summary for part in parts]
        for each in summaries:  # including those after a gap, which are written again
            self._context.plugin_metrics.add(each.measures)
        good, ends = reached(splits, [{TopicPartition(t, p): o for t, p, o in each.offsets} for each in summaries])
        total = Summary()
        for number in good:
            total.add(summaries[number])
        total.offsets = [(*of, offset) for of, offset in ends.items()]
        gaps = any(summaries[number].offsets for number in range(len(parts)) if number not in good)
        if gaps:
            log.info("Some workers ran out of time; later records, which others have staged, are staged again")
        self._turn += 1
        self._turns.update(dict.fromkeys(ends, self._turn))
        return total, good, gaps

    def _explained(self, error: WorkerLost, seconds: float) -> WorkerLost:
        if seconds < self._context.put_seconds:
            return error
        return WorkerLost(
            f"a Spark worker was abandoned: one write has taken longer than consumer.override.max.poll.interval.ms "
            f"({self._context.put_seconds:g} s), or the worker did not answer: {error}",
            "raise consumer.override.max.poll.interval.ms, or lower consumer.override.max.poll.records",
        )

    def _range_limits(self, workers: int) -> spark_worker.RangeLimits:
        context = self._context
        return spark_worker.RangeLimits(
            size=self._size,
            workers=workers,
            room=2 * self._size.put(workers).bytes,
            seconds=context.range_seconds,
            put_seconds=context.put_seconds,
        )

    def _ranges(self) -> list[Range]:
        """Return the ranges to read, longest-waiting partitions first; an empty list if the consumer must find positions."""
        ranges = []
        positions = {of: o for of, o in self._offsets.positions.items() if of not in self._offsets.held}
        bounds = self._consumer.bounds(positions)
        for of, position in positions.items():
            low, high = bounds[of]
            if position is None and (low == high or self._consumer.from_beginning):
                position = low
            if position is None or not low <= position <= high:
                return []
            if position < high:
                ranges.append((of, position, high))
        return sorted(ranges, key=lambda r: self._turns.get(r[0], 0))
