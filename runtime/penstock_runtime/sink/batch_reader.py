"""Reads what a sink is given at once by the driver: as much as it writes in a moment."""

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
"""Seconds that the consumer is waited for."""
_FEW: Final = 100
"""Records that are read of a frame before their size is known, and that a frame may hold in any case."""


class BatchReader:
    """How much is read for the next put, and reading it.

    Args:
        context: of the task.
        consumer: reads.
        size: of puts.
        frames: for a sink of frames, which makes files of them: a batch is all that comes within `batch.max.ms`.
        ending: whether to read no more.
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

    def limits(self) -> Limits:
        """Of the next put."""
        return frame_limits(self._size, self._most) if self._frames else self._size.put()

    def read(self, limits: Limits) -> tuple[list[Consumed], dict[TopicPartition, int]]:
        """Records up to these limits or a few more, and the partitions whose end was reached, with their ends.

        Raises:
            OutOfRange: a partition does not have the offset to read from.
            RetriableError, ConnectError: Kafka does not answer, or refuses.
        """
        most, limit = limits.records, limits.bytes
        if not self._frames:
            return self._consumer.consume(min(most, 1 + int(limit / max(1.0, self._size.record_bytes))), _WAIT)
        # The first are few: before their size is known, many could be far more than `batch.max.bytes`.
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
        return consumed, ends

    def wrote(self, summary: Summary) -> None:
        """Learn from a put: where schemas change often, frames are many, and no more is read than is written in time."""
        if not self._frames:
            return
        if summary.unfinished:
            self._most = min(self._context.frame_records, max(_FEW, 2 * summary.written))
        else:
            self._most = min(4 * self._most, self._context.frame_records)


def frame_limits(size: PutSize, most: int) -> Limits:
    """What is read for frames: what is written in time, as far as that is known.

    Args:
        size: knows how fast frames are written.
        most: the most records.
    """
    fitting = size.batch(1, staged=True) if size.rate else Limits(_FEW, size.most.bytes)
    return Limits(max(_FEW, min(most, fitting.records)), fitting.bytes)
