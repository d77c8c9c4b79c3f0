"""Read records by partition and offset without joining the group, and commit offsets as a client that is not a member."""

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
)
from confluent_kafka import TopicPartition as Position

from penstock._unread import RawHeader
from penstock.errors import RetriableError
from penstock.sink import TopicPartition
from penstock_kafka.client_renewal import ClientRenewal, close_in_background
from penstock_kafka.errors import passing, translated, translating
from penstock_kafka.topic_consumer import poll_messages
from penstock_kafka.watermarks import GONE, end_offsets, names_of, watermarks_of
from penstock_runtime.kafka.admin import topic_ids
from penstock_runtime.kafka.broker_health import BrokerHealth
from penstock_runtime.kafka.groups import Groups
from penstock_runtime.kafka.message_columns import MessageColumn
from penstock_runtime.kafka.offset_commits import GroupCommits
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.process.liveness import LOOP

__all__ = ["Consumed", "OutOfRange", "RecordConsumer"]

T = TypeVar("T")

log = logging.getLogger(__name__)
_SECONDS: Final = 30.0
_SHORTLY: Final = 10.0
"""Timeout in seconds of requests that are repeated often."""
_HURRY: Final = 10
_RESETS: Final = {"latest": "latest", "largest": "latest", "end": "latest", "error": "none"}
_TIMESTAMP_TYPES: Final = {
    TIMESTAMP_NOT_AVAILABLE: "NoTimestampType",
    TIMESTAMP_CREATE_TIME: "CreateTime",
    TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime",
}


class OutOfRange(RetriableError):
    """Raised when a partition does not contain the offset to read. It is not read until it is assigned again."""

    def __init__(self, partition: TopicPartition, offset: int) -> None:
        super().__init__(f"{partition.topic}-{partition.partition} does not contain offset {offset}")
        self.partition = partition
        self.offset = offset


@dataclass(slots=True)
class Consumed:
    """Raw records of one partition as columns, in order."""

    source: TopicPartition
    offset: list[int]
    value: list[bytes | None]
    key: list[bytes | None] | None
    headers: Sequence[list[RawHeader]] | None
    timestamp: Sequence[int | None]
    timestamp_type: int | list[int] = TIMESTAMP_CREATE_TIME
    """confluent_kafka's constant for the timestamp type: one for all records, or one for each."""
    _size: int = field(default=-1, init=False, repr=False, compare=False)

    @property
    def next_offset(self) -> int:
        """Offset after the last record."""
        return self.offset[-1] + 1

    def size(self) -> int:
        """Return the total size of keys and values in bytes."""
        if self._size < 0:
            self._size = _bytes(self.key or ()) + _bytes(self.value)
        return self._size

    def fitting(self, records: int, size: int) -> int:
        """Return how many of the first records fit into both limits: `records` records and `size` bytes."""
        rows = min(len(self.offset), max(0, records))
        if rows == len(self.offset) and self.size() <= size:
            return rows
        values = (len(v or b"") for v in self.value)
        each = values if self.key is None else (n + len(k or b"") for n, k in zip(values, self.key, strict=True))
        return min(rows, bisect_right(list(accumulate(each)), size))

    def timestamp_type_of(self, row: int) -> str:
        """Return Kafka's name for the timestamp type of a record."""
        kind = self.timestamp_type
        return _TIMESTAMP_TYPES[kind[row] if isinstance(kind, list) else kind]

    @property
    def timestamp_types(self) -> str | list[str | None]:
        """Kafka's name for the timestamp type: one for all records, or one for each."""
        kind = self.timestamp_type
        return [_TIMESTAMP_TYPES[each] for each in kind] if isinstance(kind, list) else _TIMESTAMP_TYPES[kind]

    def cut(self, start: int, end: int) -> "Consumed":
        """Return the rows from `start` up to, but not including, `end`."""
        return Consumed(
            self.source,
            self.offset[start:end],
            self.value[start:end],
            None if self.key is None else self.key[start:end],
            None if self.headers is None else self.headers[start:end],
            self.timestamp[start:end],
            self.timestamp_type[start:end] if isinstance(self.timestamp_type, list) else self.timestamp_type,
        )


class RecordConsumer:
    """Consumer with assigned partitions. Not thread-safe.

    Args:
        settings: client settings.
        group: the consumer group that offsets are committed to.
        client_id: `client.id`, as brokers see it.
        hurried: whether the records to read already exist, so that brokers need not wait for more.
    """

    def __init__(self, settings: ClientSettings, *, group: str, client_id: str, hurried: bool = False) -> None:
        config = settings.for_consumer(group_id=group, client_id=client_id)
        self._settings = settings
        self._hurried = hurried
        self._known: set[str] = set()
        if hurried:
            config["fetch.wait.max.ms"] = _HURRY
        config.pop("max.poll.records", None)
        self.group = group
        self._servers = config.get("bootstrap.servers")
        self.reset = _RESETS.get(str(config["auto.offset.reset"]).lower(), "earliest")
        """`auto.offset.reset`: `earliest`, `latest` or `none`."""
        config["auto.offset.reset"] = "error"  # librdkafka would skip deleted records silently: see `OutOfRange`
        # The answer may have to wait for a fetch request that the broker is holding.
        self._patience = _SHORTLY + int(config["fetch.wait.max.ms"]) / 1000
        self._health = BrokerHealth(self._ask)
        self._commits = GroupCommits(config)
        config["error_cb"] = lambda error: self._health.failed(_text(error))
        self._config = config
        self._renewal = ClientRenewal()
        self._consumer = self._made()
        self._only: TopicPartition | None = None
        self._topic = ""
        self._error: str | None = None

    @property
    def trouble(self) -> str | None:
        """Reason why reading is blocked; None: it is not.

        An error of a fetch, such as a deleted topic, applies until a fetch succeeds or partitions are assigned; unreachable
        brokers, until one answers.
        """
        return self._error or self._health.trouble

    @property
    def from_beginning(self) -> bool:
        """Return whether partitions without an offset are read from the beginning (`auto.offset.reset=earliest`)."""
        return self.reset == "earliest"

    def partitions(self) -> dict[str, int]:
        """Return all topics with their number of partitions.

        Raises:
            RetriableError: no broker answered. The consumer may have been replaced; then nothing is assigned.
        """
        try:
            with translating(f"Fetching the topics of {self._servers}"):
                topics = self._consumer.list_topics(timeout=_SECONDS).topics
        except RetriableError:
            if self._renewal.is_due("The consumer"):
                close_in_background(self._consumer)
                self._consumer = self._made()
                self._known.clear()
            raise
        self._renewal.answered()
        return {name: len(t.partitions) for name, t in topics.items() if t.error is None}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the ids of the topics, as `admin.topic_ids` does."""
        return topic_ids(self._settings, topics)

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the committed offsets, as `GroupCommits.committed` does."""
        return self._commits.committed(partitions)

    def members(self) -> list[str] | None:
        """Return the members of the group, as `Groups.members` does."""
        return Groups(self._settings).members(self.group)

    def assign(self, positions: Mapping[TopicPartition, int | None]) -> None:
        """Read exactly these partitions from these offsets; None is the position that `auto.offset.reset` selects."""
        if self._hurried:
            self._look_up({topic for topic, _ in positions})
        unknown = OFFSET_END if self.reset == "latest" else OFFSET_BEGINNING
        with translating("Assigning partitions"):
            self._consumer.assign([Position(t, p, unknown if o is None else o) for (t, p), o in positions.items()])
        self._only = next(iter(positions)) if len(positions) == 1 else None
        self._topic = next((topic for topic, _ in positions), self._topic)
        self._error = None  # its partition may no longer be assigned

    def _look_up(self, topics: set[str]) -> None:
        """Fetch the metadata of topics now: a new client may otherwise look up assigned topics only after a second.

        Raises:
            RetriableError: no broker answered.
        """
        for topic in topics - self._known:
            with translating(f"Fetching the metadata of topic '{topic}' from {self._servers}"):
                self._consumer.list_topics(topic, timeout=_SECONDS)
            LOOP.turned()
            self._known.add(topic)

    def watermarks(self, partition: TopicPartition) -> tuple[int, int]:
        """Return the first offset and the end offset as of the last fetch; -1001 for both before the first fetch."""
        with translating(f"Fetching the end offset of {partition.topic}-{partition.partition}"):
            found = self._consumer.get_watermark_offsets(Position(partition.topic, partition.partition), cached=True)
        return found or (-1001, -1001)

    def bounds(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Fetch the first offset and the end offset (for `read_committed`, the last stable offset) of each partition.

        Raises:
            RetriableError: no answer, or a partition no longer exists; the next refresh of the assignment drops it.
        """
        return self._of_brokers(watermarks_of, partitions)

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Fetch the end offset of each partition, with one request instead of the two of `bounds`.

        Raises:
            RetriableError: as `bounds`.
        """
        return self._of_brokers(end_offsets, partitions)

    def _of_brokers(self, ask: Callable[[Consumer, list[TopicPartition], float], T], of: Iterable[TopicPartition]) -> T:
        wanted = list(of)
        if not wanted:
            return ask(self._consumer, wanted, 0.0)
        doing = f"Fetching the end offsets of {names_of(wanted)}"
        try:
            found = ask(self._consumer, wanted, self._patience)
        except KafkaException as e:
            raise translated(e.args[0], doing) from e
        self._health.answered()
        return found

    def consume(self, most: int, timeout: float) -> tuple[list[Consumed], dict[TopicPartition, int]]:
        """Return available records, in order within each partition, and the end offsets of partitions read to their end.

        Raises:
            OutOfRange: a partition does not contain the offset to read.
            ConnectError: another failure, such as missing authorization.
        """
        messages = poll_messages(self._consumer, most, timeout)
        self._health.probe()
        if not messages:
            return [], {}
        ends: dict[TopicPartition, int] = {}
        if any(map(Message.error, messages)):
            records = []
            for m in messages:
                error = m.error()
                if error is None:
                    records.append(m)
                    self._error = None
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    ends[TopicPartition(m.topic() or "", m.partition() or 0)] = m.offset() or 0
                    self._error = None
                elif error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001
                    at = m.offset()
                    if at is None or at < 0:  # the client could not look up its beginning or end
                        raise RetriableError(f"Reading {m.topic()}-{m.partition()}: {error.str()}")
                    raise OutOfRange(TopicPartition(m.topic() or "", m.partition() or 0), at)
                else:
                    self._trouble(error)
            messages = records
        else:
            self._error = None
        return [_columns(of, run) for of, run in _runs(messages, self._only).items()], ends

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit these offsets, as `GroupCommits.commit` does."""
        self._commits.commit(offsets)

    def close(self) -> None:
        """Close the connections without committing."""
        with suppress(KafkaException):
            self._consumer.close()
        self._commits.close()

    def _made(self) -> Consumer:
        with translating(f"Starting a consumer for {self._servers}"):
            return Consumer(self._config)

    def _trouble(self, error: KafkaError) -> None:
        if error.code() not in GONE and not passing(error):
            raise translated(error, "Reading records")
        self._error = _text(error)

    def _ask(self, seconds: float) -> None:
        self._consumer.list_topics(self._topic or None, timeout=seconds)


def _text(error: KafkaError) -> str:
    return f"{error.str()} ({error.name()})"


def _bytes(column: Sequence[bytes | None]) -> int:
    try:
        return sum(map(len, column))  # type: ignore[arg-type]
    except TypeError:  # some are None
        return sum(map(len, filter(None, column)))


def _runs(messages: list[Message], only: TopicPartition | None) -> dict[TopicPartition, list[Message]]:
    """Group records by partition, in order. `only` is the assigned partition, if there is exactly one."""
    if only is not None and messages and all((m.topic(), m.partition()) == only for m in (messages[0], messages[-1])):
        return {only: messages}  # records of an earlier assignment would come first
    topics, partitions = set(map(Message.topic, messages)), set(map(Message.partition, messages))
    if len(topics) == len(partitions) == 1:
        return {TopicPartition(topics.pop() or "", partitions.pop() or 0): messages}
    runs: dict[TopicPartition, list[Message]] = {}
    for m in messages:
        runs.setdefault(TopicPartition(m.topic() or "", m.partition() or 0), []).append(m)
    return runs


def _columns(of: TopicPartition, run: list[Message]) -> Consumed:
    keys = list(map(Message.key, run))
    # In practice a topic changes its timestamp type at most once: checking every record would be wasteful.
    kind: int | list[int] = run[0].timestamp()[0]
    if kind != run[-1].timestamp()[0]:
        kind = [k for k, _ in map(Message.timestamp, run)]
    return Consumed(
        source=of,
        offset=list(map(Message.offset, run)),  # type: ignore[arg-type]
        value=list(map(Message.value, run)),
        key=None if keys.count(None) == len(keys) else keys,
        headers=MessageColumn(run, _headers),
        timestamp=MessageColumn(run, _timestamps),
        timestamp_type=kind,
    )


def _headers(messages: Sequence[Message]) -> list[list[RawHeader]]:
    return [headers or [] for headers in map(Message.headers, messages)]  # type: ignore[misc]


def _timestamps(messages: Sequence[Message]) -> list[int | None]:
    """Return the timestamps; None replaces the client's -1 for a missing one, as in Kafka Connect."""
    return [None if kind == TIMESTAMP_NOT_AVAILABLE else time for kind, time in map(Message.timestamp, messages)]
