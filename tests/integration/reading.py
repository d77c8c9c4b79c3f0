"""What is in Kafka, read with a client that has nothing to do with Penstock."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from .machine_time import Deadline

PATIENCE: Final = 90.0
"""Seconds of the machine without a new record, after which a wait fails."""
OPEN_SECONDS: Final = 5.0
"""Seconds for which a transaction that is open may end."""


@dataclass(frozen=True, slots=True)
class Read:
    """A record as it lies in Kafka."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Reader:
    """Follows a topic from its beginning. Close it, or use it in a `with`.

    Args:
        servers, topic: where.
        isolation: level.
        partitions: the minimum number of the topic's partitions: brokers report new ones with a delay.
    """

    def __init__(self, servers: str, topic: str, *, isolation: str = "read_committed", partitions: int = 1) -> None:
        self.topic = topic
        self._least = partitions
        self.records: list[Read] = []
        self._ends: dict[int, int] = {}
        """The offset of each partition's last end that was reached."""
        self._assigned = 0
        self._servers = servers
        self._admin: AdminClient | None = None
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "test-reader",
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 20,
                "topic.metadata.refresh.interval.ms": 500,
                "allow.auto.create.topics": False,
                "log_level": 0,
            }
        )

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *args: object) -> None:
        self._consumer.close()

    def values(self) -> list[bytes | None]:
        """The values so far, as read."""
        return [r.value for r in self.records]

    def poll(self, seconds: float = 0.05) -> Sequence[Read]:
        """Receives the records that have arrived, and returns them."""
        if not self._ready():
            return ()
        before = len(self.records)
        message = self._consumer.poll(seconds)
        for m in [*([message] if message is not None else []), *self._consumer.consume(100_000, 0)]:
            error = m.error()
            if error is None:
                self.records.append(
                    Read(m.partition() or 0, m.offset() or 0, m.key(), m.value(), tuple(m.headers() or ()))  # type: ignore[arg-type]
                )
            elif error.code() == KafkaError._PARTITION_EOF:
                self._ends[m.partition() or 0] = m.offset() or 0
        return self.records[before:]

    def until(self, wanted: Callable[[], object], *, seconds: float = PATIENCE) -> list[Read]:
        """All records so far, once `wanted` holds; AssertionError after `seconds` in which no record came."""
        deadline = Deadline(seconds)
        while not wanted():
            assert not deadline.passed(len(self.records)), (
                f"{len(self.records)} records in {self.topic}, and no more for {seconds:.0f} s"
            )
            self.poll()
        return self.records

    def count(self, number: int, *, seconds: float = PATIENCE) -> list[Read]:
        """All records so far, once there are that many."""
        return self.until(lambda: len(self.records) >= number, seconds=seconds)

    def to_end(self, *, seconds: float = PATIENCE, open_seconds: float = OPEN_SECONDS) -> list[Read]:
        """All records up to the end that every partition has at this call.

        A transaction that is open then is waited for, at most `open_seconds`: a commit is confirmed before its markers are
        written. One of a process that was killed stays open for longer.
        """
        self.until(self._ready, seconds=seconds)
        ends: dict[int, int] = {}

        def are_known() -> bool:
            ends.update(self._latest())
            return bool(ends)

        self.until(are_known, seconds=seconds)
        # librdkafka reports the end of a partition once; a new assignment at the same offsets makes it report again.
        at = dict.fromkeys(range(self._assigned), 0)
        for r in self.records:
            at[r.partition] = max(at[r.partition], r.offset + 1)
        self._ends.clear()
        self._consumer.assign([TopicPartition(self.topic, p, o) for p, o in at.items()])
        open_until = time.monotonic() + open_seconds

        def has_ended() -> bool:
            is_over = all(self._ends.get(p, -1) >= end for p, end in ends.items())
            return is_over or (len(self._ends) == len(ends) and time.monotonic() > open_until)

        return self.until(has_ended, seconds=seconds)

    def _latest(self) -> dict[int, int]:
        """The end of each partition, behind open transactions; nothing while one that is new has no leader."""
        self._admin = self._admin or AdminClient({"bootstrap.servers": self._servers, "log_level": 0})
        latest = {TopicPartition(self.topic, p): OffsetSpec.latest() for p in range(self._assigned)}  # type: ignore[no-untyped-call]
        try:
            answers = self._admin.list_offsets(latest, request_timeout=10)  # without isolation
            return {partition.partition: answer.result().offset for partition, answer in answers.items()}
        except KafkaException:
            return {}

    def _ready(self) -> bool:
        if not self._assigned:
            found = self._consumer.list_topics(self.topic, timeout=10).topics[self.topic]
            if found.error is None and len(found.partitions) >= self._least:
                self._assigned = len(found.partitions)
                self._consumer.assign([TopicPartition(self.topic, p, OFFSET_BEGINNING) for p in found.partitions])
            else:
                time.sleep(0.02)
        return bool(self._assigned)


def read_all(
    servers: str, topic: str, *, isolation: str = "read_committed", open_seconds: float = OPEN_SECONDS
) -> list[Read]:
    """Every visible record of a topic, up to its present end; see `Reader.to_end`."""
    with Reader(servers, topic, isolation=isolation) as reader:
        return reader.to_end(open_seconds=open_seconds)


def await_records(servers: str, topic: str, count: int, *, seconds: float = PATIENCE) -> list[Read]:
    """The records of a topic, once there are `count` of them."""
    with Reader(servers, topic) as reader:
        return reader.count(count, seconds=seconds)


def committed(servers: str, group: str) -> dict[tuple[str, int], int]:
    """The offsets that a consumer group has committed."""
    admin = AdminClient({"bootstrap.servers": servers})
    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(30)
    return {(p.topic, p.partition): p.offset for p in found.topic_partitions if p.offset >= 0}


def produce(servers: str, topic: str, values: Iterable[bytes | None], *, partition: int | None = None) -> None:
    """Write values, acknowledged."""
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "linger.ms": 5, "message.max.bytes": 64 << 20})
    more = {} if partition is None else {"partition": partition}
    for value in values:
        while True:
            try:
                producer.produce(topic, value, **more)  # type: ignore[arg-type]
            except BufferError:
                producer.poll(0.1)
            else:
                break
    assert producer.flush(60) == 0
    producer.close()


def create(servers: str, topic: str, partitions: int = 1, **config: str) -> None:
    """Create a topic; `config`'s names have underscores for dots."""
    admin = AdminClient({"bootstrap.servers": servers})
    settings = {k.replace("_", "."): v for k, v in config.items()}
    admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1, config=settings)])[
        topic
    ].result(30)


def delete(servers: str, topic: str) -> None:
    """Delete a topic and wait until the broker no longer shows it."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([topic])[topic].result(30)
