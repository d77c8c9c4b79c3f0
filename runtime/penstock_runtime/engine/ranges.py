"""Reading an exact range of offsets in a Spark worker, with a consumer that is kept from job to job."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from penstock.errors import RetriableError
from penstock.sink import TopicPartition
from penstock_runtime.kafka.consumers import Consumed, RecordConsumer

__all__ = ["RangeReader", "gathered"]

_PATIENCE: Final = 60.0
_AWAY: Final = 10.0
"""The patience while no broker answers: the driver tells of it, and asks again."""


class RangeReader:
    """Reads `[start, end)` of one partition after the other.

    What was fetched beyond an end is kept: the next job of a backlog begins there.
    """

    def __init__(self, consumer: RecordConsumer, *, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._most = most
        self._clock = clock
        self._at: tuple[TopicPartition, int] | None = None
        self._rest: Consumed | None = None
        self._eof = -1

    def read(self, of: TopicPartition, start: int, end: int) -> Iterator[Consumed]:
        """The committed records of the range, in portions; offsets may have gaps.

        Raises:
            RetriableError: nothing came for a minute (for 10 s while no broker answers), or the partition's offsets have
                moved: plan again.
        """
        position = start
        rest, self._rest = self._rest, None
        if self._at != (of, start):
            rest = None
            self._eof = -1
            self._consumer.assign({of: start})
        self._at = None
        came = self._clock()
        while position < end:
            if rest is not None:
                found, rest = [rest], None
            else:
                found, ends = self._consumer.consume(self._most, 1.0)
                # An end is told once, perhaps in a job before this one, behind records that are left for this one.
                self._eof = max(self._eof, ends.get(of, -1))
            for consumed in found:
                if consumed.source != of:
                    continue
                if consumed.offset[0] < position:
                    raise RetriableError(f"Offsets of {of.topic}-{of.partition} have moved back; was it recreated?")
                portion, self._rest = _split(consumed, end)
                if portion is not None:
                    position = portion.next_offset
                    yield portion
                if self._rest is not None:
                    position = end
                came = self._clock()
            if self._eof >= end:
                break
            trouble = self._consumer.trouble
            patience = _AWAY if trouble else _PATIENCE
            if self._clock() > came + patience:
                raise RetriableError(
                    f"Nothing came from {of.topic}-{of.partition} at offset {position} for {patience:.0f} s"
                    f"{': ' + trouble if trouble else ''}"
                )
        self._at = (of, end)

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()


def gathered(portions: Iterable[Consumed], most: int) -> Iterator[list[Consumed]]:
    """Portions in lists that hold `most` records each, or a portion more."""
    found: list[Consumed] = []
    count = 0
    for portion in portions:
        found.append(portion)
        count += len(portion.offset)
        if count >= most:
            yield found
            found, count = [], 0
    if found:
        yield found


def _split(consumed: Consumed, end: int) -> tuple[Consumed | None, Consumed | None]:
    """The part before `end`, and the rest."""
    if consumed.offset[-1] < end:
        return consumed, None
    row = next(i for i, o in enumerate(consumed.offset) if o >= end)
    return (consumed.cut(0, row) if row else None), consumed.cut(row, len(consumed.offset))
