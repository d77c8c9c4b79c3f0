"""Reads compacted topics: once, up to the end that one has now, or continuously."""

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
"""Seconds after a check of the topic that failed, until the next."""
_MOST: Final = 1_000


def read_to_end(clients: ReaderClients, topic: str, *, past_open: bool = False) -> Iterator[Record]:
    """Every committed record up to the end that the topic has now, oldest first within each partition, as they come.

    Goes on for as long as records come, and holds none of them.

    Args:
        clients: how to connect.
        topic: must exist.
        past_open: for a topic that is written in transactions, where any open one hides what was committed behind it: wait
            for its end (`transaction.timeout.ms` at most).

    Raises:
        RetriableError: nothing came for a minute: the brokers do not answer, or a transaction stays open.
        ConnectError: no such topic (`NoSuchTopic`), not authorised.
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
    """By a client of its own, since brokers tell the ends of the client's isolation level."""
    consumer = Consumer({**clients.consumer, "isolation.level": "read_uncommitted"})
    try:
        answers = watermarks_of(consumer, [TopicPartition(topic, p) for p in partitions], _ANSWER_SECONDS)
    finally:
        consumer.close()
    return {partition.partition: offsets for partition, offsets in answers.items()}


def read_since(
    clients: ReaderClients, topic: str, since: TopicPosition | None
) -> tuple[list[Record], TopicPosition | None]:
    """The records of a topic after a position, and the position of its end now.

    All records of the topic if the position is not of this topic, or no longer in it.

    Args:
        clients: how to connect.
        topic: must exist.
        since: None: read all of it.

    Returns:
        The records, as `read_to_end`; the position is None if the broker does not tell an id of the topic.

    Raises:
        RetriableError, ConnectError: as `read_to_end`.
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
    """Reads a compacted topic from its beginning, and then continuously. Connects with the first `poll`. For one thread.

    Now and then it checks the topic: one that was created again, or has more partitions, is read from its beginning again.
    While brokers are away it waits for them; after half a minute without an answer it connects anew, and reads from the
    beginning again, for librdkafka may never find them (`ClientRenewal`).

    Args:
        clients: how to connect.
        topic: should exist: `poll` raises `NoSuchTopic` while it does not.
        keys: read only the partitions in which these keys lie; None: all partitions. When the topic gets partitions, those
            read so far are kept: for some minutes some producers write by the old number.
        since: begin there if the topic is still the same one.
        check_seconds: between two checks of the topic.
        answer_seconds: how long a broker may take to answer a check.
        awaits_every_end: a partition without records counts as read only when its end was fetched, which proves the right to
            read it.
        detects_recreation: ask for the topic's id at each check. A topic that was created again and soon holds more records
            than the one before cannot be distinguished from it otherwise.
        on_answer: called after each check that brokers answered.

    Attributes:
        check_seconds: as above; may be changed at any time.
        beginnings: how often reading has begun from the start. When it grows, what was read before is void.
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
        """By partition that is read; empty: none is assigned."""
        self._behind: dict[int, int] = {}
        """The partitions that were not read yet to the end that they had when reading began."""
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
        """Whether each partition was read to the end that it had when reading began."""
        return bool(self._next_offsets) and not self._behind

    @property
    def position(self) -> TopicPosition | None:
        """The position behind the records that `poll` has returned; None before `caught_up`, or without a topic id."""
        if self._topic_id is None or not self.caught_up:
            return None
        return TopicPosition(self._topic_id, tuple(self._next_offsets[p] for p in sorted(self._next_offsets)))

    def poll(self, seconds: float) -> list[Entry]:
        """The entries that have come, of any key in the partitions that are read.

        Args:
            seconds: how long to wait for the first.

        Raises:
            RetriableError, ConnectError: Kafka is away, or refuses; poll again.
            NoSuchTopic: there is none; poll again.
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
        return entries  # before the error that came with them: the client does not deliver them again

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
        # An offset may be less than the one before, where a broker that did not have all of the log became its leader.
        if partition in self._next_offsets:
            self._next_offsets[partition] = offset
        if offset >= self._behind.get(partition, offset + 1):
            del self._behind[partition]

    def _check(self) -> None:
        """Ask for the topic's partitions and id if that is due, and begin again where they have changed."""
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
        """With a new client: the one before may still deliver records of its last assignment."""
        self._forget_assignment()
        self._connection.disconnect()

    def _forget_assignment(self) -> None:
        self._next_offsets, self._behind, self._kept = {}, {}, []
        self._topic_id = None

    def _serve_errors(self) -> None:
        """Have the client call its error callback, which it does only when it is asked for a record."""
        with translating(f"Reading topic '{self._topic}'"):
            message = self._connection.client.poll(0)
        if message is not None:
            self._kept.append(message)
