"""Reading a compacted topic to its end, and writing single records to it: the offsets topic and the status topic."""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Position

from penstock.errors import ConnectError, RetriableError
from penstock.sink import TopicPartition
from penstock_runtime.kafka.broker_health import Renewal, let_go
from penstock_runtime.kafka.consumers import available
from penstock_runtime.kafka.errors import translated, translating
from penstock_runtime.kafka.murmur2 import partition_of
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.topic_position import TopicPosition, topic_id
from penstock_runtime.kafka.watermarks import ends, filled, first_since, marks
from penstock_runtime.task.liveness import LOOP

__all__ = [
    "NO_GROUP", "Entry", "NoSuchTopic", "Stamped", "StatusWriter", "Tail", "partitions", "read_on", "read_to_end",
    "stamped_until_end", "until_end",
]  # fmt: skip

log = logging.getLogger(__name__)

Entry = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""

NO_GROUP: Final = KafkaError.GROUP_AUTHORIZATION_FAILED
"""A client must name a group, and asks for its coordinator, though readers here have none: who may not use the group of
that name may read all the same, as with Kafka Connect."""
_PASSED_OVER: Final = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, NO_GROUP)  # noqa: SLF001 (librdkafka's names)
_BY_KEY: Final = -1
"""librdkafka's RD_KAFKA_PARTITION_UA."""
_SECONDS: Final = 60.0
_TOLD: Final = 15.0
"""Seconds between two lines about a long reading."""
# As Kafka Connect writes them. An idempotent producer would wait half a second for its id before the first record.
_ONE_BY_ONE: Final = {
    "enable.idempotence": False,
    "acks": "all",
    "max.in.flight.requests.per.connection": 1,
    "linger.ms": 0,
    "batch.size": 16_384,
}


class Stamped(NamedTuple):
    """An entry with its time (milliseconds since 1970, or what its writer took for it) and its place in its partition."""

    key: bytes
    value: bytes | None
    timestamp: int
    offset: int
    partition: int = 0


class NoSuchTopic(ConnectError):
    """The topic does not exist."""


def read_to_end(settings: ClientSettings, topic: str, **how: Any) -> list[Entry]:
    """`until_end` as a list, for topics that hold little."""
    return list(until_end(settings, topic, **how))


def read_on(
    settings: ClientSettings, topic: str, since: TopicPosition | None
) -> tuple[list[Entry], TopicPosition | None]:
    """What has come to a topic since it was read up to a position, and the position that it is read to now.

    Where the position is not of this topic, or not in it any more, all that the topic holds.

    Args:
        settings: how to connect.
        topic: must exist.
        since: None: read all of it.

    Returns:
        The records, as `until_end`; the position is None where the broker tells no id of the topic.

    Raises:
        RetriableError, ConnectError: as `until_end`.
    """
    config = settings.for_consumer(group_id="penstock-reader", auto_offset_reset="earliest")
    with translating(f"Reading topic '{topic}'"):
        consumer = Consumer({**config, "fetch.wait.max.ms": 50, "isolation.level": "read_committed"})
        try:
            wanted = [TopicPartition(topic, p) for p in partitions(consumer, topic)]
            found = {of.partition: place for of, place in marks(consumer, wanted, _SECONDS / 2).items()}
            own = topic_id(
                settings, topic
            )  # asked last: of a topic made anew before it, no end is taken for the old one's
            if since is None or since.topic_id != own:
                since = TopicPosition("", ())
            starts = {p: since.start(p, low, high) for p, (low, high) in found.items()}
            ends = {p: high for p, (low, high) in found.items() if high > max(starts[p], low)}
            entries = [_entry(m) for m in _read(consumer, topic, starts, ends, _SECONDS)]
        finally:
            consumer.close()
    return entries, None if own is None else TopicPosition(own, tuple(found[p][1] for p in sorted(found)))


def until_end(
    settings: ClientSettings,
    topic: str,
    *,
    servers: str | None = None,
    past_open: bool = False,
) -> Iterator[Entry]:
    """Every committed record up to the end that the topic has now, oldest first within each partition, as they come.

    However long it takes, as long as records come.

    Args:
        settings: how to connect.
        topic: must exist.
        servers: of another cluster than the consumers'.
        past_open: the topic is written in transactions, and one that is open, whoever's, hides what was committed behind
            it: wait for its end (`transaction.timeout.ms` at most).

    Raises:
        RetriableError: nothing came for a minute: the brokers do not answer, or a transaction stays open.
        ConnectError: no such topic, not authorised.
    """
    for message in _until_end(settings, topic, servers=servers, past_open=past_open):
        yield _entry(message)


def stamped_until_end(settings: ClientSettings, topic: str, **how: Any) -> Iterator[Stamped]:
    """As `until_end`, with times and places."""
    for message in _until_end(settings, topic, **how):
        yield Stamped(*_entry(message), message.timestamp()[1], message.offset() or 0, message.partition() or 0)


def _until_end(
    settings: ClientSettings,
    topic: str,
    *,
    servers: str | None = None,
    past_open: bool = False,
) -> Iterator[Message]:
    config = settings.for_consumer(group_id="penstock-reader", auto_offset_reset="earliest")
    if servers is not None:
        config["bootstrap.servers"] = servers
    config["fetch.wait.max.ms"] = 50
    with translating(f"Reading topic '{topic}'"):
        consumer = Consumer({**config, "isolation.level": "read_committed"})
        try:
            wanted = partitions(consumer, topic)
            if past_open:  # a client's isolation level is also that of the ends that it is told
                other = Consumer({**config, "isolation.level": "read_uncommitted"})
                try:
                    ends = filled(other, topic, wanted, _SECONDS / 2)
                finally:
                    other.close()
            else:
                ends = filled(consumer, topic, wanted, _SECONDS / 2)
            yield from _read(consumer, topic, dict.fromkeys(ends, OFFSET_BEGINNING), ends, _SECONDS)
        finally:
            consumer.close()


def _read(
    consumer: Consumer, topic: str, starts: Mapping[int, int], ends: dict[int, int], seconds: float
) -> Iterator[Message]:
    begun = time.monotonic()
    deadline, told = begun + seconds, begun + _TOLD
    if ends:
        consumer.assign([Position(topic, p, starts[p]) for p in ends])
    count = 0
    while ends:
        messages = available(consumer, 5_000, 1.0)
        now = time.monotonic()
        LOOP.turned()
        if any(m.error() is None and m.partition() in ends for m in messages):
            deadline = now + seconds
        for message in _records(messages, topic, ends):
            count += 1
            yield message
        if ends and now > deadline:
            left = ", ".join(map(str, sorted(ends)))
            raise RetriableError(
                f"Reading topic '{topic}': nothing came for {seconds:.0f} s before the end of partition {left}: somebody's "
                f"transaction may be open there. If that lasts, it hangs: kafka-transactions.sh find-hanging names it, and "
                f"abort ends it"
            )
        if now > told:
            log.info("Reading topic '%s': %d records in %.0f s, not at its end yet", topic, count, now - begun)
            told = now + _TOLD


def _entry(message: Message) -> Entry:
    return bytes(message.key() or b""), message.value()


def _records(messages: Iterable[Message], topic: str, ends: dict[int, int]) -> Iterator[Message]:
    for message in messages:
        error, partition = message.error(), message.partition()
        if error is None:
            if message.key() is not None:
                yield message
            # Where others write on and on, the client may never tell of an end.
            if partition in ends and (message.offset() or 0) + 1 >= ends[partition]:
                del ends[partition]
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (librdkafka's own name of the code)
            if partition in ends and (message.offset() or 0) >= ends[partition]:
                del ends[partition]
        elif not error.retriable() and error.code() not in _PASSED_OVER:
            raise translated(error, f"Reading topic '{topic}'")


def partitions(client: Consumer | Producer, topic: str, seconds: float = _SECONDS / 2) -> list[int]:
    """The partitions of a topic.

    Raises:
        RetriableError: the brokers did not answer in time.
        NoSuchTopic: there is none of that name.
        ConnectError: not authorised.
    """
    with translating(f"Reading topic '{topic}'"):
        metadata = client.list_topics(topic, timeout=seconds).topics[topic]
    if metadata.error is not None:
        ours = translated(metadata.error, f"Reading topic '{topic}'")
        if metadata.error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):  # noqa: SLF001
            raise NoSuchTopic(str(ours))
        raise ours
    return sorted(metadata.partitions)


class Tail:
    """What comes under one key, asked for now and then: three small requests while nothing has come.

    A topic that somebody has made anew may hold as many records as before, or more: so it is also asked where the records
    of the last one's time begin. A topic of another time, or with other partitions, is read from its beginning.

    The first call looks into all partitions, later ones into the key's alone. A topic that gets partitions keeps its records
    where they are, and for some minutes some producers write by the old number: from then on all are looked into again.

    Connects with the first question, and keeps its connection.

    Args:
        settings: how to connect.
        topic: must exist.
        key: of the records.
        since: somebody has read the topic up to there: the first call begins there where that still is the same topic.

    Attributes:
        begun: whether the last call read the key's partition from its beginning: the first one, unless `since` holds; later
            where the topic was made anew or got partitions.
        last: the last record of the key that the last call found in the partition where it lies now.
    """

    def __init__(self, settings: ClientSettings, topic: str, key: bytes, since: TopicPosition | None = None) -> None:
        self._since = since
        self._settings = settings
        self._topic = topic
        self._key = key
        self._consumer: Consumer | None = None
        self._renewal = Renewal()
        self._first = 0
        """How many partitions the topic had when all of them were read first."""
        self._of = 0
        """How many it has."""
        self._at: dict[int, int] = {}
        self._time: tuple[int, int] | None = None
        """Milliseconds since 1970, and the first offset of that time or a later one: what tells this topic from another."""
        self.begun = False
        self.last: Entry | None = None

    def news(self, seconds: float) -> list[Entry]:
        """The records of the key since the last call, all of them in the first; oldest first within each partition.

        Args:
            seconds: how long an answer may take.

        Raises:
            RetriableError, ConnectError: as `read_to_end`; the next call brings what this one did not.
        """
        try:
            found = self._news(seconds)
        except RetriableError:
            if self._consumer is not None and self._renewal.due(f"The reader of topic '{self._topic}'"):
                let_go(self._consumer)
                self._consumer = None
            raise
        self._renewal.answered()
        return found

    def _news(self, seconds: float) -> list[Entry]:
        with translating(f"Reading topic '{self._topic}'"):
            if self._consumer is None:
                config = self._settings.for_consumer(group_id="penstock-reader", auto_offset_reset="earliest")
                self._consumer = Consumer({**config, "isolation.level": "read_committed", "fetch.wait.max.ms": 50})
            consumer = self._consumer
            count = len(partitions(consumer, self._topic, seconds))
            own = TopicPartition(self._topic, partition_of(self._key, count))
            here = [own] if count == self._first else [TopicPartition(self._topic, p) for p in range(count)]
            same = count == self._of and self._is_same(consumer, own, seconds)
            if same and all(self._at.get(of.partition) == end for of, end in ends(consumer, here, seconds).items()):
                self.begun, self.last = False, None
                return []
            found = {of.partition: between for of, between in marks(consumer, here, seconds).items()}
            goes_on = same and all(low <= self._at.get(p, -1) <= end for p, (low, end) in found.items())
            starts = {p: self._at[p] if goes_on else OFFSET_BEGINNING for p in found}
            if self._since is not None and self._since.topic_id == topic_id(self._settings, self._topic):
                starts = {p: self._since.start(p, low, end) for p, (low, end) in found.items()}
            wanted = {p: end for p, (low, end) in found.items() if end > max(starts[p], low)}
            entries, last, time_of_last = [], None, 0
            try:
                for message in _read(consumer, self._topic, starts, wanted, seconds):
                    lies_here = message.partition() == own.partition
                    if lies_here:
                        time_of_last = message.timestamp()[1]
                    if message.key() == self._key:
                        entries.append(_entry(message))
                        last = entries[-1] if lies_here else last
            finally:
                consumer.unassign()  # what is assigned is fetched, all the time
            begins = starts[own.partition] == OFFSET_BEGINNING
            if time_of_last > 0:
                self._time = _time_of(consumer, own, time_of_last, seconds)
            elif begins:
                self._time = None
        self._first, self._of, self._since = self._first or count, count, None
        self._at = {p: end for p, (_, end) in found.items()}
        self.begun, self.last = begins, last
        return entries

    def _is_same(self, consumer: Consumer, own: TopicPartition, seconds: float) -> bool:
        """Whether the last record that was read is still there; compaction may have taken it, and then all is read anew."""
        return self._time is None or first_since(consumer, own, self._time[0], seconds) == self._time[1]

    def close(self) -> None:
        """Let go of the connection."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with suppress(KafkaException):
                consumer.close()


def _time_of(consumer: Consumer, here: TopicPartition, last: int, seconds: float) -> tuple[int, int]:
    """The last record's time; the time after it where all records are of that one, as in a new topic all may be later."""
    since = first_since(consumer, here, last, seconds)
    return (last, since) if since else (last + 1, first_since(consumer, here, last + 1, seconds))


class StatusWriter:
    """A plain producer for records of compacted topics; each write is acknowledged before it returns."""

    def __init__(self, settings: ClientSettings, *, client_id: str) -> None:
        self._settings = settings
        config = settings.for_producer(client_id=client_id)
        config.pop("transactional.id", None)
        self._config = {**config, **_ONE_BY_ONE}
        self._renewal = Renewal()
        self._producer = self._made()

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has now: what is written goes by them from then on. Raises as `partitions`."""
        try:
            count = len(partitions(self._producer, topic))
        except RetriableError:
            self._unanswered()
            raise
        self._renewal.answered()
        return count

    def write(self, topic: str, entries: Iterable[Entry], *, timeout: float = 30.0, partition: int = _BY_KEY) -> None:
        """Write records and wait for their acknowledgement; in smaller portions where the topic takes no such batch.

        Args:
            topic: where to.
            entries: the records.
            timeout: seconds.
            partition: where they go; without it, where their keys lie.

        Raises:
            RetriableError: not acknowledged in time; they may still arrive.
            ConnectError: refused.
        """
        entries = list(entries)
        failed = self._written(topic, entries, timeout, partition)
        if len(entries) > 1 and any(e.code() == KafkaError.MSG_SIZE_TOO_LARGE for e in failed):
            middle = len(entries) // 2
            self.write(topic, entries[:middle], timeout=timeout, partition=partition)
            self.write(topic, entries[middle:], timeout=timeout, partition=partition)
        elif failed:
            raise translated(failed[0], f"Writing to topic '{topic}'")

    def _written(self, topic: str, entries: Iterable[Entry], timeout: float, partition: int) -> list[KafkaError]:
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is not None:
                failed.append(error)

        with translating(f"Writing to topic '{topic}'"):
            for key, value in entries:
                self._producer.produce(topic, key=key, value=value, partition=partition, on_delivery=delivered)
            if self._producer.flush(timeout):
                self._producer.purge()
                self._unanswered()
                raise RetriableError(f"Writing to topic '{topic}': no answer from {self._settings.bootstrap}")
        if not failed:
            self._renewal.answered()
        return failed

    def _made(self) -> Producer:
        with translating("Starting a producer"):
            return Producer(self._config)

    def _unanswered(self) -> None:
        if self._renewal.due("The producer of single records"):
            let_go(self._producer)
            self._producer = self._made()

    def close(self) -> None:
        """Let go of the connection."""
        with suppress(KafkaException):
            self._producer.purge()
            self._producer.close()
