"""Follows a compacted topic: what it holds now, then what comes, for as long as somebody asks."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from penstock.errors import ConnectError, RetriableError
from penstock.sink import TopicPartition
from penstock_runtime.kafka.broker_health import Renewal, let_go
from penstock_runtime.kafka.compacted_topic import NO_GROUP, Entry, partitions
from penstock_runtime.kafka.consumers import available
from penstock_runtime.kafka.errors import translated, translating
from penstock_runtime.kafka.murmur2 import partition_of
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.topic_position import TopicPosition, topic_id
from penstock_runtime.kafka.watermarks import marks

__all__ = ["Follower"]

_LOOK_SECONDS: Final = 2.0
_COUNT_EVERY: Final = 60.0
"""Seconds for which partitions that the topic gets are not known."""
_FETCH_WAIT_MS: Final = 500
"""How long the broker keeps a request while nothing comes; what comes is answered at once. Ten times as long would save
0.01 % of a core, and a first look that ends with an end event would wait for it."""
_PASSING: Final = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, NO_GROUP}  # noqa: SLF001 (librdkafka's own names)


class Follower:
    """Reads the partitions of some keys from their beginning, and goes on. Connects with the first `poll`.

    A broker that is away is waited for; the client finds it again by itself. Where the topic gets partitions, a key may lie
    in another one from then on: within a minute that one is read from its beginning, as are the others once more.

    Args:
        settings: how to connect.
        topic: must exist.
        keys: whose partitions.
        since: somebody has read the topic up to there: begin there where that still is the same topic.
    """

    def __init__(
        self, settings: ClientSettings, topic: str, keys: Sequence[bytes], since: TopicPosition | None = None
    ) -> None:
        self._since = since
        self._settings = settings
        self._topic = topic
        self._keys = keys
        self._consumer: Consumer | None = None
        self._behind: dict[int, int] | None = None
        self._count = 0
        self._mine: set[int] = set()
        self._counted = 0.0
        self._refused: ConnectError | None = None
        self._renewal = Renewal()

    @property
    def caught_up(self) -> bool:
        """Whether each partition was read to the end that it had at the first look."""
        return self._behind is not None and not self._behind

    def poll(self, seconds: float) -> list[Entry]:
        """The records that have come, of any key in these partitions; waits so long for the first.

        Raises:
            RetriableError, ConnectError: Kafka is away, or refuses; ask again.
        """
        with translating(f"Reading topic '{self._topic}'"):
            refused, self._refused = self._refused, None
            if refused is not None:
                raise refused
            consumer = self._answered()
            found: list[Entry] = []
            for message in available(consumer, 1_000, seconds):
                error, key = message.error(), message.key()
                partition, offset = message.partition() or 0, message.offset() or 0
                if error is None:
                    if key is not None:
                        found.append((bytes(key), message.value()))
                    self._reached(partition, offset + 1)
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    self._reached(partition, offset)
                elif not error.retriable() and error.code() not in _PASSING:
                    refused = translated(error, f"Reading topic '{self._topic}'")
        if refused is not None and not found:
            raise refused
        self._refused = refused
        return found  # before the error that came with them: they do not come again

    def close(self) -> None:
        """Let go of the connection."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with suppress(KafkaException):
                consumer.close()

    def _answered(self) -> Consumer:
        try:
            with translating(f"Reading topic '{self._topic}'"):
                return self._assigned()
        except RetriableError:
            if self._consumer is not None and self._renewal.due(f"The reader of topic '{self._topic}'"):
                let_go(self._consumer)
                self._consumer, self._behind, self._count = None, None, 0
            raise

    def _assigned(self) -> Consumer:
        if self._consumer is None:
            config = self._settings.for_consumer(group_id="penstock-reader", auto_offset_reset="earliest")
            self._consumer = Consumer(
                {**config, "isolation.level": "read_committed", "fetch.wait.max.ms": _FETCH_WAIT_MS,
                 "queued.max.messages.kbytes": 1_024, "socket.timeout.ms": 60_000}
            )  # fmt: skip
        if self._behind is None or time.monotonic() - self._counted > _COUNT_EVERY:
            count = len(partitions(self._consumer, self._topic, _LOOK_SECONDS))
            self._renewal.answered()
            if count == self._count:
                self._counted = time.monotonic()
                return self._consumer
            # Writers that do not know of new partitions yet go on with the ones before.
            mine = {p for p in self._mine if p < count} | {partition_of(key, count) for key in self._keys}
            found = marks(self._consumer, [TopicPartition(self._topic, p) for p in sorted(mine)], _LOOK_SECONDS)
            since = self._since
            if since is not None and since.topic_id != topic_id(self._settings, self._topic):
                since = None
            starts = {
                of.partition: OFFSET_BEGINNING if since is None else since.start(of.partition, *place)
                for of, place in found.items()
            }
            self._consumer.assign([Position(self._topic, p, start) for p, start in starts.items()])
            self._behind = {
                of.partition: high for of, (low, high) in found.items() if high > max(starts[of.partition], low)
            }
            self._count, self._mine, self._counted = count, mine, time.monotonic()
        return self._consumer

    def _reached(self, partition: int, offset: int) -> None:
        if self._behind and offset >= self._behind.get(partition, offset + 1):
            del self._behind[partition]
