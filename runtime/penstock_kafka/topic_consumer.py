"""Consumer of one topic for readers of compacted topics: reads by offsets, outside of any consumer group.

`read_between` fails if no record arrives for a long time before the end, which indicates a hanging transaction.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from penstock.errors import ConnectError, RetriableError
from penstock.sink import TopicPartition
from penstock_kafka.client_renewal import ClientRenewal, close_in_background
from penstock_kafka.errors import translated, translating
from penstock_kafka.records import Record
from penstock_kafka.watermarks import watermarks_of

__all__ = [
    "IGNORED",
    "RECREATED",
    "NoSuchTopic",
    "ReaderClients",
    "TopicConsumer",
    "TopicRecreated",
    "partitions_of",
    "poll_messages",
    "read_between",
]

log = logging.getLogger(__name__)

IGNORED: Final = frozenset(
    (
        KafkaError._TRANSPORT,  # noqa: SLF001 (librdkafka's own names of the codes)
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError.GROUP_AUTHORIZATION_FAILED,
    )
)
"""Errors that do not stop reading. After a lost connection, librdkafka reconnects. A client must name a consumer group and
looks up its coordinator, but readers do not use the group, so they need no ACL for it, as in Kafka Connect."""
RECREATED: Final = frozenset(
    (
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError.INCONSISTENT_TOPIC_ID,
        KafkaError.OFFSET_OUT_OF_RANGE,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
        KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001
    )
)
"""Errors that indicate a topic that was deleted, and possibly created again."""
_FIXED: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",  # the reader itself decides to read a recreated topic from its beginning
    "allow.auto.create.topics": False,
}
_ID_SECONDS: Final = 10.0
_NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""Zero ID, from a broker that does not support topic IDs."""
_LOG_EVERY: Final = 15.0
"""Seconds between log lines during a long read."""


class NoSuchTopic(ConnectError):
    """Raised when the topic does not exist."""


class TopicRecreated(RetriableError):
    """Raised when the topic was deleted while it was read; it may have been created again."""


@dataclass(frozen=True, slots=True)
class ReaderClients:
    """Properties of a reader's clients, with librdkafka's names.

    Attributes:
        consumer: properties of the consumer; those that determine how it reads are fixed here.
        admin: properties of the client that requests the topic ID.
        on_progress: called at least every few seconds while reading.
    """

    consumer: Mapping[str, Any]
    admin: Mapping[str, Any]
    on_progress: Callable[[], None] = lambda: None


class TopicConsumer:
    """Consumer of one topic. Connects on first use, and again after `close`. Not thread-safe."""

    def __init__(self, clients: ReaderClients, topic: str) -> None:
        self.topic = topic
        self._clients = clients
        self._consumer: Consumer | None = None
        self._admin: AdminClient | None = None
        self._renewal = ClientRenewal()

    @property
    def client(self) -> Consumer:
        """Client of librdkafka, created on first access."""
        if self._consumer is None:
            with translating(f"Reading topic '{self.topic}'"):
                self._consumer = Consumer({**self._clients.consumer, **_FIXED})
        return self._consumer

    @property
    def is_connected(self) -> bool:
        """Return whether a client exists."""
        return self._consumer is not None

    @contextmanager
    def renewed_after_silence(self) -> Iterator[None]:
        """Translate errors of requests in the context, and drop the client after half a minute without an answer."""
        try:
            with translating(f"Reading topic '{self.topic}'"):
                yield
        except RetriableError:
            if self._consumer is not None and self._renewal.is_due(f"The reader of topic '{self.topic}'"):
                self.disconnect()
            raise
        self._renewal.answered()

    def partitions(self, seconds: float) -> list[int]:
        """Return the partition numbers of the topic. For errors, see `partitions_of`."""
        return partitions_of(self.client, self.topic, seconds)

    def watermarks(self, partitions: Iterable[int], seconds: float) -> dict[int, tuple[int, int]]:
        """Return the first and the end offset of each partition. For errors such as KafkaException, see `watermarks_of`."""
        answers = watermarks_of(self.client, [TopicPartition(self.topic, p) for p in partitions], seconds)
        return {partition.partition: offsets for partition, offsets in answers.items()}

    def topic_id(self, *, stays_connected: bool = False) -> str | None:
        """Return the topic ID, or None if the broker does not return one; an earlier position then cannot be used.

        Call it after requesting the offsets to which it belongs: otherwise, the end of a deleted topic could be mistaken for
        that of the topic that replaced it.
        """
        try:
            if self._admin is None:
                self._admin = AdminClient(dict(self._clients.admin))
            answers = self._admin.describe_topics(TopicCollection([self.topic]), request_timeout=_ID_SECONDS)
            topic_id = str(answers[self.topic].result(_ID_SECONDS * 2).topic_id)
        except (KafkaException, TimeoutError) as e:
            if isinstance(e, TimeoutError) or _is_of_client(e.args[0]):
                # The consumer had answers just before, so this client has lost all brokers (`ClientRenewal`).
                self._admin = None
            return None
        finally:
            if not stays_connected:
                self._admin = None
        return None if topic_id == _NO_ID else topic_id

    def read_between(self, starts: Mapping[int, int], ends: Mapping[int, int], seconds: float) -> Iterator[Record]:
        """Yield the records of each partition from its start up to its end; see the function `read_between`."""
        return read_between(self.client, self.topic, starts, ends, seconds, self._clients.on_progress)

    def disconnect(self) -> None:
        """Close the client in the background."""
        consumer, self._consumer, self._admin = self._consumer, None, None
        if consumer is not None:
            close_in_background(consumer)

    def close(self) -> None:
        """Close the client."""
        consumer, self._consumer, self._admin = self._consumer, None, None
        if consumer is not None:
            with suppress(KafkaException):
                consumer.close()


def partitions_of(client: Any, topic: str, seconds: float) -> list[int]:
    """Return the partition numbers of a topic, in order.

    Args:
        client: a consumer or a producer.
        topic: name of the topic.
        seconds: timeout of the request.

    Raises:
        RetriableError: the brokers did not answer in time.
        NoSuchTopic: the topic does not exist.
        ConnectError: another failure, such as missing authorization.
    """
    doing = f"Reading topic '{topic}'"
    with translating(doing):
        metadata = client.list_topics(topic, timeout=seconds).topics[topic]
    if metadata.error is not None:
        error = translated(metadata.error, doing)
        if metadata.error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):  # noqa: SLF001
            error = NoSuchTopic(str(error))
        raise error from KafkaException(metadata.error)
    return sorted(metadata.partitions)


def poll_messages(consumer: Consumer, most: int, timeout: float) -> list[Message]:
    """Return the available messages, at most `most`; if there are none, wait up to `timeout` seconds for the first."""
    with translating("Reading records"):
        messages = consumer.consume(most, 0)
        if not messages:
            first = consumer.poll(timeout)
            if first is not None:
                messages = [first, *consumer.consume(most - 1, 0)] if most > 1 else [first]
    return messages


def read_between(
    consumer: Consumer,
    topic: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    seconds: float,
    on_progress: Callable[[], None] = lambda: None,
) -> Iterator[Record]:
    """Yield the records of each partition from its start up to its end, as they arrive. It fails if none arrives in time.

    Args:
        consumer: the partitions of `ends` are assigned to it.
        topic: name of the topic.
        starts: by partition, the first offset to read, or OFFSET_BEGINNING.
        ends: by partition, the first offset not to read.
        seconds: maximum seconds without a record.
        on_progress: called at least every few seconds.

    Raises:
        RetriableError: no record arrived in time: the brokers do not answer, or a transaction stays open.
        TopicRecreated: the topic was deleted while it was read.
        ConnectError: another failure, such as missing authorization.
    """
    left = dict(ends)
    begun = time.monotonic()
    deadline, log_at = begun + seconds, begun + _LOG_EVERY
    if left:
        with translating(f"Reading topic '{topic}'"):
            consumer.assign([Position(topic, p, starts[p]) for p in left])
    count = 0
    while left:
        messages = poll_messages(consumer, 5_000, 1.0)
        now = time.monotonic()
        on_progress()
        if any(m.error() is None and m.partition() in left for m in messages):
            deadline = now + seconds
        for record in _records(messages, topic, left):
            count += 1
            yield record
        if left and now > deadline:
            names = ", ".join(map(str, sorted(left)))
            raise RetriableError(
                f"Reading topic '{topic}': no records received for {seconds:.0f} s before the end of partition {names}: "
                f"a transaction may be open there. If this persists, the transaction is hanging; find it with "
                f"kafka-transactions.sh find-hanging and abort it"
            )
        if now > log_at:
            log.info("Reading topic '%s': %d records in %.0f s, its end is not reached yet", topic, count, now - begun)
            log_at = now + _LOG_EVERY


def _records(messages: Iterable[Message], topic: str, left: dict[int, int]) -> Iterator[Record]:
    """Yield the records in messages. Partitions that reach their end are removed from `left`."""
    for message in messages:
        error, partition, offset = message.error(), message.partition() or 0, message.offset() or 0
        if error is None:
            if message.key() is not None:
                yield Record.of(message)
            # While others write continuously, the client may never report an end.
            if partition in left and offset + 1 >= left[partition]:
                del left[partition]
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (librdkafka's own name of the code)
            if partition in left and offset >= left[partition]:
                del left[partition]
        elif error.code() in RECREATED:
            raise TopicRecreated(f"Reading topic '{topic}': {error.str()} ({error.name()})")
        elif not error.retriable() and error.code() not in IGNORED:
            raise translated(error, f"Reading topic '{topic}'")


def _is_of_client(error: KafkaError) -> bool:
    """Return whether the client raised the error, not a broker: its codes are below -1 (brokers also send -1, unknown)."""
    return error.code() < KafkaError.UNKNOWN
