"""A producer with a bound that keeps order: what waits in librdkafka is counted here, in portions as they were given.

librdkafka's own bound refuses single records in the middle of a batch and takes later ones when room appears, which would
change the order within a partition. Here a portion waits as a whole until there is room for it.
"""

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, NamedTuple, Protocol

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.errors import ConnectError, RetriableError
from penstock_runtime.kafka.errors import Fenced, TransactionAborted, translated, translating

__all__ = ["Outbox", "Outgoing", "Refused"]

_ABSENT: Final = 5.0
"""Seconds for which a topic must be missing: one that was just created is not known at once."""

_ANY: Final = -1
"""librdkafka's RD_KAFKA_PARTITION_UA: the partitioner chooses."""


@dataclass(slots=True)
class Outgoing:
    """Converted records as columns, ready for the producer; constants hold for every record, as in `RecordBatch`."""

    length: int
    topic: str | list[str]
    value: Sequence[bytes | None] | None
    key: Sequence[bytes | None] | None = None
    headers: Sequence[Sequence[tuple[str, bytes | None]]] | None = None
    partition: int | None | list[int | None] = None
    timestamp: int | None | list[int | None] = None
    positions: Sequence[int] = ()

    def size(self) -> int:
        """Bytes of keys, values and headers."""
        headers = sum(len(n) + len(v or b"") for hs in self.headers or () for n, v in hs)
        return headers + sum(map(len, filter(None, self.value or ()))) + sum(map(len, filter(None, self.key or ())))


class Refused(NamedTuple):
    """A record that the client would not take (too large for `message.max.bytes`, say)."""

    row: int
    error: ConnectError


class Delivered(Protocol):
    """Called by the client for each record that failed after it was taken."""

    def __call__(self, error: KafkaError | None, message: Any) -> None: ...


class Outbox:
    """Gives portions to a `confluent_kafka.Producer` in order, with a bound in bytes on what waits."""

    def __init__(self, producer: Producer, *, bytes_limit: int, patience: float, servers: str) -> None:
        self._producer = producer
        self._limit = bytes_limit
        self._patience = patience
        self._servers = servers
        self._waiting: deque[tuple[int, int]] = deque()  # (records, bytes) of each portion, oldest first
        self._records = 0
        self._bytes = 0
        self._topics: set[str] = set()
        self._absent: dict[str, float] = {}

    def forget(self) -> None:
        """What comes from now on is a batch of its own."""
        self._topics.clear()
        self._absent.clear()

    def ask(self) -> None:
        """Look for the topics of this batch, when its records do not arrive.

        The client waits for a topic that was deleted until `delivery.timeout.ms`, and does not say so. To ask for it by
        name makes a broker that creates topics create it again.

        Raises:
            RetriableError: a topic is not there, and has not been for some seconds.
        """
        for topic in sorted(self._topics):
            try:
                error = self._producer.list_topics(topic, timeout=1.0).topics[topic].error
            except KafkaException:  # no broker answers, which is another matter
                self._absent.clear()
                return
            if error is None or error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                self._absent.pop(topic, None)
            elif time.monotonic() - self._absent.setdefault(topic, time.monotonic()) > _ABSENT:
                raise RetriableError(
                    f"Topic '{topic}' is not there (any more) at {self._servers}, and the brokers do not create it by "
                    f"themselves. Create it; its records are written then."
                )

    def give(self, outgoing: Outgoing, on_failure: Delivered | None = None) -> list[Refused]:
        """Hand records to the client, waiting for room.

        Returns:
            The records that the client refused; all others are on their way.

        Raises:
            RetriableError: nothing left the queue for `patience` seconds: the brokers take nothing.
        """
        size = outgoing.size()
        self._topics.update(_topics_of(outgoing))
        self._await_room(size)
        refused = self._batch(outgoing, on_failure) if _plain(outgoing) else self._singly(outgoing, on_failure)
        blameless = (RetriableError, Fenced, TransactionAborted)
        for r in refused:
            if isinstance(
                r.error, blameless
            ):  # no fault of the record: the whole batch is tried again, or left to others
                raise r.error
        taken = outgoing.length - len(refused)
        self._waiting.append((taken, size))
        self._records += taken
        self._bytes += size
        return refused

    def _await_room(self, size: int) -> None:
        self._settle()
        if self._bytes + size <= self._limit or not self._waiting:
            return
        last_progress, left = time.monotonic(), self._records
        while self._waiting and self._bytes + size > self._limit:
            self._producer.poll(0.002)
            self._settle()
            if self._records != left:
                last_progress, left = time.monotonic(), self._records
            elif time.monotonic() - last_progress > self._patience:
                raise RetriableError(
                    f"Kafka ({self._servers}) took none of {left} waiting records for {self._patience:.0f} s"
                )

    def _settle(self) -> None:
        gone = self._records - len(self._producer)
        while self._waiting and gone >= self._waiting[0][0]:
            records, size = self._waiting.popleft()
            gone -= records
            self._records -= records
            self._bytes -= size

    def _batch(self, out: Outgoing, on_failure: Delivered | None) -> list[Refused]:
        values = out.value if out.value is not None else [None] * out.length
        messages: list[dict[str, Any]]
        if out.key is not None:
            messages = [{"value": v, "key": k} for v, k in zip(values, out.key, strict=True)]
        else:
            messages = [{"value": v} for v in values]
        more: dict[str, Any] = {} if on_failure is None else {"on_delivery": on_failure}
        if isinstance(out.partition, int):
            more["partition"] = out.partition
        with translating(f"Writing to topic '{out.topic}'"):
            taken = self._producer.produce_batch(str(out.topic), messages, **more)
        if taken == len(messages):
            return []
        return [
            Refused(row, translated(m["_error"], f"Writing to topic '{out.topic}'"))
            for row, m in enumerate(messages)
            if m.get("_error") is not None
        ]

    def _singly(self, out: Outgoing, on_failure: Delivered | None) -> list[Refused]:
        """One by one: the client's batches take no headers, no timestamps, one topic."""
        refused = []
        produce = self._producer.produce
        columns = (_each(c) for c in (out.topic, out.value, out.key, out.partition, _times(out.timestamp), out.headers))
        for row, (topic, value, key, partition, timestamp, headers) in zip(range(out.length), zip(*columns)):  # noqa: B905 (constants have no end)
            try:
                produce(
                    topic, value=value, key=key, partition=_ANY if partition is None else partition,
                    timestamp=timestamp or 0, headers=headers or None, on_delivery=on_failure,
                )  # fmt: skip
            except KafkaException as e:
                refused.append(Refused(row, translated(e.args[0], f"Writing to topic '{topic}'")))
            except BufferError:
                refused.append(Refused(row, RetriableError(f"Writing to topic '{topic}': the client's queue is full")))
        return refused


def _each(column: Any) -> Iterable[Any]:
    return repeat(column) if column is None or isinstance(column, (str, int)) else column


def _times(column: int | None | list[int | None]) -> int | None | list[int | None]:
    """Librdkafka takes 0 for now; a millisecond later is the least that can be said."""
    if isinstance(column, list):
        return [1 if t == 0 else t for t in column] if 0 in column else column
    return 1 if column == 0 else column


def _topics_of(out: Outgoing) -> Iterable[str]:
    return set(out.topic) if isinstance(out.topic, list) else (out.topic,)


def _plain(out: Outgoing) -> bool:
    """Whether `produce_batch` can take it: one topic, no headers, no timestamps, no partition per record."""
    plain = out.headers is None and out.timestamp is None
    return plain and not isinstance(out.topic, list) and not isinstance(out.partition, list)
