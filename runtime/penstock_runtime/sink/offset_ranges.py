"""Read exact ranges of offsets in a Spark worker, with a consumer that is kept from job to job."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from penstock.errors import RetriableError
from penstock.sink import TopicPartition
from penstock.source import Limits
from penstock_runtime.kafka.consumers import Consumed, RecordConsumer
from penstock_runtime.pipeline.splits import Range

__all__ = ["RangeReader", "gathered", "puts"]

_PATIENCE: Final = 60.0
_AWAY: Final = 10.0
"""Seconds to wait while no broker is reachable: the driver reports it, and retries."""
_NEARLY: Final = 4
"""Divisor of the size of a list: no portion is split to fill the last quarter.

Otherwise, each later list would hold two more partial portions.
"""


class RangeReader:
    """Reader of `[start, end)` ranges, one partition at a time.

    Records fetched beyond an end are kept, because the next job of a backlog starts there.
    """

    def __init__(self, consumer: RecordConsumer, *, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._most = most
        self._clock = clock
        self._at: tuple[TopicPartition, int] | None = None
        self._rest: Consumed | None = None
        self._eof = -1

    def read(self, of: TopicPartition, start: int, end: int) -> Iterator[Consumed]:
        """Yield the committed records of the range, in portions; offsets may have gaps.

        Raises:
            RetriableError: nothing arrived for a minute (for 10 s while no broker is reachable), or the offsets of the
                partition have moved; plan the ranges again.
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
                # The end of a partition is reported once, possibly to an earlier job that left records for this one.
                self._eof = max(self._eof, ends.get(of, -1))
            for consumed in found:
                if consumed.source != of:
                    continue
                if consumed.offset[0] < position:
                    raise RetriableError(
                        f"cannot read {of.topic}-{of.partition}: its offsets have moved back, possibly because "
                        "the topic was recreated"
                    )
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
                    f"cannot read {of.topic}-{of.partition} at offset {position}: no records arrived for {patience:.0f} s"
                    f"{': ' + trouble if trouble else ''}"
                )
        self._at = (of, end)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()


def puts(
    ranges: Sequence[Range],
    read: Callable[[TopicPartition, int, int], Iterable[Consumed]],
    put: Callable[[], Limits],
    *,
    until: float,
    room: float,
    ending: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[tuple[TopicPartition, list[Consumed], int]]:
    """Yield records to write together, range after range, until the time is up or enough was read.

    Each range gets its share of the time, and at least one put. The time that passes while the caller writes counts.

    Args:
        ranges: ranges to read.
        read: returns the records of a range.
        put: returns how much the next write may hold.
        until: time of `clock` at which to stop.
        room: number of bytes after which to stop.
        ending: called after each put; returns whether to stop for another reason.
        clock: seconds, monotonic.

    Yields:
        A partition, records of it, and the offset that is reached once they are written. At the end of a range, which may
        be beyond its last record, the records are empty.
    """
    size = 0
    for number, (of, start, end) in enumerate(ranges):
        now = clock()
        due = now + (until - now) / (len(ranges) - number)
        for portions in gathered(read(of, start, end), put):
            yield of, portions, portions[-1].next_offset
            size += sum(p.size() for p in portions)
            if clock() >= due or size >= room or ending():
                break
        else:
            yield of, [], end
        if clock() >= until or size >= room or ending():
            return


def gathered(portions: Iterable[Consumed], limits: Callable[[], Limits]) -> Iterator[list[Consumed]]:
    """Group portions into lists within the records and bytes of `limits()`; a larger record forms a list of one."""
    found: list[Consumed] = []
    records = size = 0
    most = limits()
    for portion in portions:
        left: Consumed | None = portion
        while left is not None:
            room = most.records - records
            if room < len(left.offset) and room <= most.records // _NEARLY and found:
                count = 0
            else:
                count = left.fitting(room, most.bytes - size) or (0 if found else 1)
            whole = count == len(left.offset)
            if count:
                found.append(left if whole else left.cut(0, count))
                records, size = records + count, size + found[-1].size()
            left = None if whole else left.cut(count, len(left.offset)) if count else left
            if left is not None or records >= most.records or size >= most.bytes:
                yield found
                found, records, size, most = [], 0, 0, limits()
    if found:
        yield found


def _split(consumed: Consumed, end: int) -> tuple[Consumed | None, Consumed | None]:
    """Return the part before `end`, and the rest."""
    if consumed.offset[-1] < end:
        return consumed, None
    row = next(i for i, o in enumerate(consumed.offset) if o >= end)
    return (consumed.cut(0, row) if row else None), consumed.cut(row, len(consumed.offset))
