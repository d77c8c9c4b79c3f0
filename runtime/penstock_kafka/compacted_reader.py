"""Read compacted topics, either once up to their current end, or continuously."""

import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Final, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as Position

from penstock.errors import ConnectError
from penstock.sink import TopicPartition
from penstock_kafka.errors import translated, translating
from penstock_kafka.murmur2 import partition_of
from penstock_kafka.records import Entry, Record
from penstock_kafka.topic_consumer import (
    IGNORED,
    RECREATED,
    NoSuchTopic,
    ReaderClients,
    TopicConsumer,
    TopicRecreated,
    poll_messages,
)
from penstock_kafka.topic_position import TopicPosition
from penstock_kafka.watermarks import watermarks_of

__all__ = ["CompactedReader", "read_since", "read_to_end"]

_SECONDS: Final = 60.0
_ANSWER_SECONDS: Final = 30.0
_CHECK_AGAIN: Final = 2.0
"""Seconds from a failed check of the topic to the next one."""
_MOST: Final = 1_000


def read_to_end(clients: ReaderClients, topic: str, *, past_open: bool = False) -> Iterator[Record]:
    """Yield every committed record up to the current end of the topic, as it arrives, oldest first within each partition.

    There is no time limit as long as records arrive. None of them is kept in memory.

    Args:
        clients: client properties.
        topic: must exist.
        past_open: for a topic written in transactions, where an open transaction hides records committed after it: wait for
            its end (`transaction.timeout.ms` at most).

    Raises:
        RetriableError: nothing arrived for a minute: the brokers do not answer, or a transaction stays open.
        ConnectError: the topic does not exist (`NoSuchTopic`), or missing authorization.
    """
    connection = TopicConsumer(clients, topic)
    try:
        with translating(f"Reading topic '{topic}'"):
            partitions = connection.partitions(_ANSWER_SECONDS)
            watermarks = (
                _uncommitted_watermarks(clients, topic, partitions)
                if past_open
                else connection.watermarks(partitions, _ANSWER_SECONDS)
            )
            ends = {p: high for p, (low, high) in watermarks.items() if high > low}
            yield from connection.read_between(dict.fromkeys(ends, OFFSET_BEGINNING), ends, _SECONDS)
    finally:
        connection.close()


def _uncommitted_watermarks(
    clients: ReaderClients, topic: str, partitions: Sequence[int]
) -> dict[int, tuple[int, int]]:
    """Return the watermarks, using a separate client: brokers report end offsets for the client's isolation level."""
    consumer = Consumer({**clients.consumer, "isolation.level": "read_uncommitted"})
    try:
        answers = watermarks_of(consumer, [TopicPartition(topic, p) for p in partitions], _ANSWER_SECONDS)
    finally:
        consumer.close()
    return {partition.partition: offsets for partition, offsets in answers.items()}


def read_since(
    clients: ReaderClients, topic: str, since: TopicPosition | None
) -> tuple[list[Record], TopicPosition | None]:
    """Return the records of a topic after a position, and the position of its current end.

    Returns all records of a partition if the position belongs to another topic, or is no longer in the partition.

    Args:
        clients: client properties.
        topic: must exist.
        since: position to start from; None: read the whole topic.

    Returns:
        The records in the order of `read_to_end`, and the position, or None if the broker does not return a topic ID.

    Raises:
        RetriableError, ConnectError: see `read_to_end`.
    """
    connection = TopicConsumer(clients, topic)
    try:
        with translating(f"Reading topic '{topic}'"):
            watermarks = connection.watermarks(connection.partitions(_ANSWER_SECONDS), _ANSWER_SECONDS)
            topic_id = connection.topic_id()
            if since is None or since.topic_id != topic_id:
                since = TopicPosition("", ())
            starts = {p: since.start(p, low, high) for p, (low, high) in watermarks.items()}
            ends = {p: high for p, (low, high) in watermarks.items() if high > max(starts[p], low)}
            records = list(connection.read_between(starts, ends, _SECONDS))
    finally:
        connection.close()
    if topic_id is None:
        return records, None
    return records, TopicPosition(topic_id, tuple(watermarks[p][1] for p in sorted(watermarks)))


class CompactedReader:
    """Reader of a compacted topic from its beginning, then continuously. Connects on the first `poll`. Not thread-safe.

    Checks the topic periodically: a topic that was created again, or has more partitions, is read from its beginning again.
    While brokers are unreachable, the reader waits. After half a minute without an answer it creates a new client and reads
    from the beginning again, because librdkafka may never reconnect (`ClientRenewal`).

    Args:
        clients: client properties.
        topic: should exist: `poll` raises `NoSuchTopic` while it does not.
        keys: read only the partitions that these keys map to; None: all partitions. When partitions are added, those read
            so far are still read, because some producers use the old number of partitions for some minutes.
        since: position to start from, unless the topic has been created again since.
        check_seconds: seconds between two checks of the topic.
        answer_seconds: seconds that a broker may take to answer a check.
        awaits_every_end: a partition without records counts as read only when its end was fetched, which proves the right to
            read it.
        detects_recreation: request the topic ID at each check. Without it, a topic that was created again cannot be
            distinguished from the previous one once it has more records.
        on_answer: called after each check that brokers answered.

    Attributes:
        check_seconds: the argument; may be changed at any time.
        beginnings: how often reading has started from the beginning. When it increases, all entries so far are obsolete.
    """

    def __init__(
        self,
        clients: ReaderClients,
        topic: str,
        *,
        keys: Sequence[bytes] | None = None,
        since: TopicPosition | None = None,
        check_seconds: float = 60.0,
        answer_seconds: float = 2.0,
        awaits_every_end: bool = False,
        detects_recreation: bool = False,
        on_answer: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection = TopicConsumer(clients, topic)
        self._topic = topic
        self._keys = keys
        self._since = since
        self._answer_seconds = answer_seconds
        self._awaits_every_end = awaits_every_end
        self._detects_recreation = detects_recreation
        self._on_answer = on_answer
        self.check_seconds = check_seconds
        self.beginnings = 0
        self._checked = 0.0
        self._is_checked = False
        """Whether the last check had an answer."""
        self._partition_count = 0
        self._partitions_read: set[int] = set()
        self._topic_id: str | None = None
        self._next_offsets: dict[int, int] = {}
        """Next offset by assigned partition; empty: none is assigned."""
        self._behind: dict[int, int] = {}
        """Partitions that were not yet read to the end that they had when reading began."""
        self._error: ConnectError | None = None
        self._kept: list[Message] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def caught_up(self) -> bool:
        """True once each partition was read to the end that it had when reading began."""
        return bool(self._next_offsets) and not self._behind

    @property
    def position(self) -> TopicPosition | None:
        """Position after the records that `poll` has returned; None before `caught_up`, or without a topic id."""
        if self._topic_id is None or not self.caught_up:
            return None
        return TopicPosition(self._topic_id, tuple(self._next_offsets[p] for p in sorted(self._next_offsets)))

    def poll(self, seconds: float) -> list[Entry]:
        """Return new entries, of any key in the assigned partitions.

        Args:
            seconds: how long to wait for the first entry.

        Raises:
            RetriableError, ConnectError: Kafka is unreachable or rejects the request; poll again.
            NoSuchTopic: the topic does not exist; poll again.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error
        self._check()
        messages, self._kept = self._kept, []
        entries: list[Entry] = []
        for message in messages or poll_messages(self._connection.client, _MOST, seconds):
            error = self._take(message, entries)
            self._error = self._error or error
        error = self._error
        if error is not None and not entries:
            self._error = None
            raise error
        return entries  # the next call raises the error: entries are not delivered again

    def close(self) -> None:
        """Close the connections."""
        self._forget_assignment()
        self._connection.close()

    def _take(self, message: Message, entries: list[Entry]) -> ConnectError | None:
        error, partition, offset = message.error(), message.partition() or 0, message.offset() or 0
        if error is None:
            key = message.key()
            if key is not None:
                entries.append((bytes(key), message.value()))
            self._reached(partition, offset + 1)
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (librdkafka's own name of the code)
            self._reached(partition, offset)
        elif error.code() in RECREATED:
            self._begin_again()
            return TopicRecreated(f"Reading topic '{self._topic}': {error.str()} ({error.name()})")
        elif not error.retriable() and error.code() not in IGNORED:
            return translated(error, f"Reading topic '{self._topic}'")
        return None

    def _reached(self, partition: int, offset: int) -> None:
        # An offset may be less than the previous one if a broker without the complete log became the leader.
        if partition in self._next_offsets:
            self._next_offsets[partition] = offset
        if offset >= self._behind.get(partition, offset + 1):
            del self._behind[partition]

    def _check(self) -> None:
        """Request the topic's partitions and ID if due, and start again if they have changed."""
        pause = self.check_seconds if self._is_checked else min(self.check_seconds, _CHECK_AGAIN)
        if self._next_offsets and time.monotonic() - self._checked < pause:
            return
        self._is_checked = False
        try:
            with self._connection.renewed_after_silence():
                partitions = self._connection.partitions(self._answer_seconds)
                if self._next_offsets and self._has_changed(len(partitions)):
                    self._begin_again()
                if not self._next_offsets:
                    self._assign(len(partitions))
                self._serve_errors()
                self._on_answer()
        except NoSuchTopic:
            self._begin_again()
            raise
        except ConnectError:
            if self._connection.is_connected:
                self._serve_errors()
            else:
                self._forget_assignment()
            raise
        finally:
            self._checked = time.monotonic()
        self._is_checked = True

    def _has_changed(self, partition_count: int) -> bool:
        if partition_count != self._partition_count:
            return True
        if not self._detects_recreation:
            return False
        topic_id = self._connection.topic_id(stays_connected=True)
        return topic_id is not None and topic_id != self._topic_id

    def _assign(self, partition_count: int) -> None:
        partitions = set(range(partition_count))
        if self._keys is not None:
            kept = partitions.intersection(self._partitions_read)
            partitions = kept | {partition_of(key, partition_count) for key in self._keys}
        self._partitions_read = partitions
        watermarks = self._connection.watermarks(sorted(partitions), self._answer_seconds)
        since = self._since
        if since is not None or self._detects_recreation:
            self._topic_id = self._connection.topic_id(stays_connected=self._detects_recreation)
            since = since if since is not None and since.topic_id == self._topic_id else None
        starts = {p: OFFSET_BEGINNING if since is None else since.start(p, *watermarks[p]) for p in partitions}
        self._connection.client.assign([Position(self._topic, p, start) for p, start in starts.items()])
        self._behind = {
            p: high for p, (low, high) in watermarks.items() if self._awaits_every_end or high > max(starts[p], low)
        }
        self._next_offsets = {p: max(starts[p], low) for p, (low, _) in watermarks.items()}
        self._partition_count = partition_count
        self.beginnings += 1

    def _begin_again(self) -> None:
        """Drop the assignment and the client, which could still deliver records of its last assignment."""
        self._forget_assignment()
        self._connection.disconnect()

    def _forget_assignment(self) -> None:
        self._next_offsets, self._behind, self._kept = {}, {}, []
        self._topic_id = None

    def _serve_errors(self) -> None:
        """Poll the client, which is the only way to make it call its error callback."""
        with translating(f"Reading topic '{self._topic}'"):
            message = self._connection.client.poll(0)
        if message is not None:
            self._kept.append(message)
