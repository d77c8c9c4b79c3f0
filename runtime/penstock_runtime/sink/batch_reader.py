"""Read the batches that the driver writes: each as large as can be written in a short time."""

import time
from collections.abc import Callable
from typing import Final

from penstock.sink import TopicPartition
from penstock.source import Limits
from penstock_runtime.kafka.consumers import Consumed, RecordConsumer
from penstock_runtime.pipeline.batch_sizing import PutSize
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.sink.context import SinkContext

__all__ = ["BatchReader", "frame_limits"]

_WAIT: Final = 0.2
"""Maximum seconds to wait for records in one poll."""
_FEW: Final = 100
"""Number of records to read for a frame before their size is known; the limit of a frame is never lower."""


class BatchReader:
    """Reader that decides how much to read for the next put.

    Args:
        context: context of the task.
        consumer: reads the records.
        size: measured and adapted size of puts.
        frames: whether the sink takes frames, and so may write files: a batch then holds all records that arrive within
            `batch.max.ms`.
        ending: returns whether to stop reading.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        context: SinkContext,
        consumer: RecordConsumer,
        size: PutSize,
        *,
        frames: bool,
        ending: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context = context
        self._consumer = consumer
        self._size = size
        self._frames = frames
        self._ending = ending
        self._clock = clock
        self._most = size.records
        self.is_full = False
        """Whether the last read ended at a limit, and not because there were no more records."""

    def limits(self) -> Limits:
        """Return the limits of the next put."""
        return frame_limits(self._size, self._most) if self._frames else self._size.put()

    def read(self, limits: Limits) -> tuple[list[Consumed], dict[TopicPartition, int]]:
        """Read records up to these limits, or slightly more.

        Returns:
            Records, and the end offsets of the partitions whose end was reached.

        Raises:
            OutOfRange: a partition does not have the offset to read from.
            RetriableError, ConnectError: Kafka does not answer, or refuses.
        """
        most, limit = limits.records, limits.bytes
        if not self._frames:
            most = min(most, 1 + int(limit / max(1.0, self._size.record_bytes)))
            consumed, ends = self._consumer.consume(most, _WAIT)
            self.is_full = sum(len(c.offset) for c in consumed) >= most
            return consumed, ends
        # Start with a few: before the size of records is known, many could exceed `batch.max.bytes` by far.
        consumed, ends = self._consumer.consume(min(most, _FEW), _WAIT)
        records, size = sum(len(c.offset) for c in consumed), sum(c.size() for c in consumed)
        deadline = self._clock() + self._context.batch_seconds
        while consumed and records < most and size < limit and not self._ending():
            left = deadline - self._clock()
            if left <= 0:
                break
            fitting = 1 + (limit - size) * records // max(1, size)
            more, later = self._consumer.consume(min(most - records, fitting), min(_WAIT, left))
            records, size = records + sum(len(c.offset) for c in more), size + sum(c.size() for c in more)
            LOOP.turned()
            consumed += more
            ends.update(later)
        self.is_full = records >= most or size >= limit
        return consumed, ends

    def wrote(self, summary: Summary) -> None:
        """Adapt the limit to a put: frequent schema changes need many frames, so read only as much as is written in time."""
        if not self._frames:
            return
        if summary.unfinished:
            self._most = min(self._context.frame_records, max(_FEW, 2 * summary.written))
        else:
            self._most = min(4 * self._most, self._context.frame_records)


def frame_limits(size: PutSize, most: int) -> Limits:
    """Return the limits of a batch of frames: as much as can be written in time, or a few records if the speed is unknown.

    Args:
        size: measures how fast frames are written.
        most: maximum number of records.
    """
    fitting = size.batch(1, staged=True) if size.rate else Limits(_FEW, size.most.bytes)
    return Limits(max(_FEW, min(most, fitting.records)), fitting.bytes)
