"""Converted records as columns, ready for a producer, and their sizes in Kafka's batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from penstock.errors import ConnectError

__all__ = ["Outgoing", "Refused", "slices"]

_BATCH: Final = 61
"""Size in bytes of a record batch without records (message format 2)."""
_RECORD: Final = 24
"""Maximum size in bytes of a record, excluding key, value and headers."""


@dataclass(slots=True)
class Outgoing:
    """Converted records as columns, ready for the producer; a constant applies to every record, as in `RecordBatch`."""

    length: int
    topic: str | list[str]
    value: Sequence[bytes | None] | None
    key: Sequence[bytes | None] | None = None
    headers: Sequence[Sequence[tuple[str, bytes | None]]] | None = None
    partition: int | None | list[int | None] = None
    timestamp: int | None | list[int | None] = None
    positions: Sequence[int] = ()
    placed: Callable[[int, Any], None] | None = None
    """Called for each delivered record with its position and the client's message; None if not needed."""
    _size: int | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def topics(self) -> set[str]:
        """Topics that the records are written to."""
        return set(self.topic) if isinstance(self.topic, list) else {self.topic}

    def size(self) -> int:
        """Return the total size of keys, values and headers in bytes."""
        if self._size is None:
            headers = sum(len(n) + len(v or b"") for hs in self.headers or () for n, v in hs)
            self._size = headers + _bytes(self.value) + _bytes(self.key)
        return self._size

    def largest(self) -> int:
        """Return an upper bound on the size in bytes of an uncompressed batch with any single one of the records."""
        headers = max((_headers(hs) for hs in self.headers), default=0) if self.headers is not None else 0
        return _BATCH + _RECORD + headers + _longest(self.value) + _longest(self.key)

    def alone(self, row: int) -> int:
        """Return the size in bytes of an uncompressed batch that contains only this record."""
        key = None if self.key is None else self.key[row]
        value = None if self.value is None else self.value[row]
        headers = () if self.headers is None else self.headers[row]
        body = 3 + _field(key) + _field(value) + _varint(len(headers))
        body += sum(_field(name.encode()) + _field(data) for name, data in headers)
        return _BATCH + _varint(body) + body

    def at(self, row: int) -> tuple[str, int | None]:
        """Return the topic and partition of a record; None if the producer chooses the partition."""
        topic = self.topic[row] if isinstance(self.topic, list) else self.topic
        return topic, (self.partition[row] if isinstance(self.partition, list) else self.partition)

    def take(self, rows: Sequence[int]) -> "Outgoing":
        """Return only these records."""
        return Outgoing(
            len(rows),
            _some(self.topic, rows),
            None if self.value is None else _some(self.value, rows),
            None if self.key is None else _some(self.key, rows),
            None if self.headers is None else _some(self.headers, rows),
            _some(self.partition, rows),
            _some(self.timestamp, rows),
            _some(self.positions, rows) if len(self.positions) else (),
            self.placed,
        )


class Refused(NamedTuple):
    """Record that Kafka will never accept, for example because it is too large."""

    row: int
    error: ConnectError


def slices(outgoing: Outgoing, most: int) -> Iterator[range]:
    """Yield ranges of rows, in order, each of which fits into a batch of `most` bytes or is a single row."""
    start = size = 0
    for row in range(outgoing.length):
        more = outgoing.alone(row) - _BATCH + 8  # room for longer timestamp and offset deltas
        if row > start and _BATCH + size + more > most:
            yield range(start, row)
            start, size = row, 0
        size += more
    if outgoing.length > start:
        yield range(start, outgoing.length)


def _some(column: Any, rows: Sequence[int]) -> Any:
    return column if column is None or isinstance(column, (str, int)) else [column[row] for row in rows]


def _bytes(column: Iterable[bytes | None] | None) -> int:
    return sum(map(len, filter(None, column or ())))


def _longest(column: Iterable[bytes | None] | None) -> int:
    return max(map(len, filter(None, column or ())), default=0)


def _headers(headers: Sequence[tuple[str, bytes | None]]) -> int:
    return sum(10 + 3 * len(name) + len(data or b"") for name, data in headers)


def _field(data: bytes | None) -> int:
    return 1 if data is None else _varint(len(data)) + len(data)


def _varint(number: int) -> int:
    """Return the length in bytes of a non-negative number in Kafka's record format (zigzag)."""
    return max(1, -(-(2 * number).bit_length() // 7))
