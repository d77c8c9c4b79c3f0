"""Kafka client of a demo, which does not use the runtime that the demo checks."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it is not in their __all__

from penstock.errors import ConnectError

__all__ = ["create_topic", "end_of", "records", "watch", "write_orders"]

_PERIOD: Final = 0.2  # seconds
_PATIENCE: Final = 30.0  # seconds


def watch(servers: str, topic: str) -> Consumer | None:
    """Return a consumer of committed records at the beginning of a topic, or None if the topic does not exist yet.

    At the end of each partition it returns a message with the error _PARTITION_EOF.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "demo-count",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    found = consumer.list_topics(timeout=10).topics.get(topic)
    if found is None:
        consumer.close()
        return None
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in found.partitions])
    return consumer


def records(servers: str, topic: str) -> Iterator[Message]:
    """Yield the committed records of a topic, from its beginning to its current end.

    Raises:
        ConnectError: the topic cannot be read.
    """
    try:
        consumer = watch(servers, topic)
    except KafkaException as e:
        raise ConnectError(f"cannot read topic '{topic}': {e}") from e
    if consumer is None:
        return
    try:
        left = len(consumer.assignment())
        while left:
            message = consumer.poll(10)
            if message is None:
                raise ConnectError(f"cannot read topic '{topic}': Kafka does not answer")
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (the client has no public name for it)
                left -= 1
            else:
                raise ConnectError(f"cannot read topic '{topic}': {error}")
    finally:
        consumer.close()


def create_topic(servers: str, topic: str) -> None:
    """Create a topic with one partition, unless it exists."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    if topic not in admin.list_topics(timeout=30).topics:
        admin.create_topics([NewTopic(topic, 1)])[topic].result(30)


def end_of(servers: str, topic: str) -> int:
    """Return the end offset of the only partition of a topic.

    Raises:
        KafkaException: Kafka has not answered for half a minute, the time allowed for electing leaders after its start.
    """
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "demo-count", "log_level": 0})
    deadline = time.monotonic() + _PATIENCE
    try:
        while True:
            try:
                _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=_PATIENCE)
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PERIOD)
            else:
                return int(end)
    finally:
        consumer.close()


def write_orders(servers: str, topic: str, numbers: range, is_stopping: Callable[[], bool]) -> None:
    """Write orders with coordinates, until all are written or `is_stopping` returns True."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "linger.ms": 20,
            "batch.num.messages": 50_000,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 200_000,
            "log_level": 0,
        }
    )
    draw = random.Random(numbers.start).random  # noqa: S311 (data for a demo)
    for number in numbers:
        value = b'{"order_id":%d,"latitude":%.3f,"longitude":%.3f}' % (number, 36 + 24 * draw(), -9 + 34 * draw())
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0 and is_stopping():
            break
    producer.flush(60)
