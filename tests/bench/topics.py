"""The broker's half of a measure: topics with one partition, their ends as `read_committed` readers see them, contents."""

import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Final, Self

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

__all__ = ["Headers", "Hidden", "Topic", "Topics"]

Headers = list[tuple[str, str | bytes | None]]
_SECONDS: Final = 30.0
_BLOCK: Final = 20_000
_WAITING: Final = 200_000


class Topic:
    """A topic that exists from entering to leaving the `with` block."""

    def __init__(self, servers: str, name: str) -> None:
        self.name = name
        self._servers = servers
        self._admin = AdminClient({"bootstrap.servers": servers})
        self._ends = self._consumer()
        self._place = TopicPartition(name, 0)

    def __enter__(self) -> Self:
        self._admin.create_topics([NewTopic(self.name, 1, 1)])[self.name].result(_SECONDS)
        deadline = time.monotonic() + _SECONDS
        while True:  # the broker may not have told its clients yet
            try:
                self.end()
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if kind is None:
            self._admin.delete_topics([self.name])[self.name].result(_SECONDS)

    def close(self) -> None:
        """Let go of the broker; the topic stays."""
        self._ends.close()

    def end(self) -> int:
        """The offset up to which committed records can be read now; markers of transactions have offsets, too."""
        return self._ends.get_watermark_offsets(self._place, timeout=_SECONDS, cached=False)[1]

    def read(self) -> Iterator[tuple[list[int], list[bytes]]]:
        """Offsets and values of all committed records, in blocks."""
        consumer = self._consumer()
        try:
            consumer.assign([TopicPartition(self.name, 0, 0)])
            while True:
                messages = consumer.consume(_BLOCK, 1.0)
                good = [m for m in messages if m.error() is None]
                yield [m.offset() or 0 for m in good], [m.value() or b"" for m in good]
                if len(good) < len(messages):  # the end of the partition
                    return
        finally:
            consumer.close()

    def follower(self) -> Consumer:
        """A `read_committed` consumer that begins at the present end."""
        consumer = self._consumer()
        consumer.assign([TopicPartition(self.name, 0, self.end())])
        return consumer

    def _consumer(self) -> Consumer:
        return _consumer(self._servers)


class Topics:
    """Topics of one partition that exist from entering to leaving the `with` block."""

    def __init__(self, servers: str, names: Sequence[str]) -> None:
        self._servers = servers
        self._names = names
        self._admin = AdminClient({"bootstrap.servers": servers})

    def __enter__(self) -> Self:
        for made in self._admin.create_topics([NewTopic(name, 1, 1) for name in self._names]).values():
            made.result(_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            for deleted in self._admin.delete_topics([*self._names]).values():
                deleted.result(_SECONDS)

    def follower(self, offset: int | None = None) -> Consumer:
        """A `read_committed` consumer of all, from the offset on, or from the present ends."""
        consumer = _consumer(self._servers)
        places = [TopicPartition(name, 0, offset or 0) for name in self._names]
        if offset is None:
            for place in places:
                place.offset = consumer.get_watermark_offsets(place, timeout=_SECONDS, cached=False)[1]
        consumer.assign(places)
        return consumer


def _consumer(servers: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "queued.min.messages": 1_000_000,
            "fetch.message.max.bytes": 16 << 20,
        }
    )


class Hidden:
    """Records in one open transaction: in the topic, but not to be read before `show`.

    `name` tells several of a topic apart.
    """

    def __init__(self, servers: str, topic: Topic, name: str = "") -> None:
        self._topic = topic.name
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "transactional.id": f"bench-{name or topic.name}",
                "linger.ms": 20,
                "batch.size": 1 << 20,
                "queue.buffering.max.messages": 0,
                "transaction.timeout.ms": 600_000,
            }
        )
        self._producer.init_transactions(_SECONDS)
        self._producer.begin_transaction()

    def write(self, values: Sequence[str | bytes], headers: Sequence[Headers] | None = None) -> None:
        """Add records; with headers, one after the other."""
        while len(self._producer) > _WAITING:
            self._producer.poll(0.01)
        if headers is not None:
            for value, marks in zip(values, headers, strict=True):
                self._producer.produce(self._topic, value, partition=0, headers=marks)
            return
        self._producer.produce_batch(self._topic, [{"value": v} for v in values], partition=0)

    def flush(self) -> None:
        """Wait until the broker has all of them."""
        self._producer.flush(_SECONDS)

    def show(self) -> None:
        """Let them be read, all at once."""
        self._producer.commit_transaction(_SECONDS)
