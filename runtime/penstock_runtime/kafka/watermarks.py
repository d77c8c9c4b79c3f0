"""The first offsets and the ends of partitions, asked of their brokers.

Not by `get_watermark_offsets`: librdkafka's query waits without an end when the connection that it goes through is given up
meanwhile (brokers that go away and come back), whatever its timeout is (seen with 2.16; its issue 2588 is the same wait).
"""

from collections.abc import Iterable
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from penstock.errors import RetriableError
from penstock.sink import TopicPartition

__all__ = ["GONE", "ends", "filled", "first_since", "marks", "named"]

GONE: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION)  # noqa: SLF001
"""What is said of a partition that was deleted, and of one that has no leader at the moment."""
_FIRST: Final = -2
_END: Final = -1


def marks(
    consumer: Consumer, partitions: Iterable[TopicPartition], seconds: float
) -> dict[TopicPartition, tuple[int, int]]:
    """First offset and end of each; a client that reads what is committed is told of the ends of that.

    A client that fetches gets the answers behind what its brokers wait for (`fetch.wait.max.ms`), twice.

    Args:
        consumer: any, also one that has nothing assigned.
        partitions: none of them twice.
        seconds: how long each of the two questions may take.

    Raises:
        RetriableError: one of them is gone, or has no leader: so it is for a moment when a broker comes back.
        KafkaException: no answer in time, or not for all of them.
    """
    wanted = list(partitions)
    low, high = _asked(consumer, wanted, _FIRST, seconds), _asked(consumer, wanted, _END, seconds)
    return {of: (low[of], high[of]) for of in wanted}


def ends(consumer: Consumer, partitions: Iterable[TopicPartition], seconds: float) -> dict[TopicPartition, int]:
    """The end of each, in one question. Raises KafkaException as `marks`."""
    return _asked(consumer, list(partitions), _END, seconds)


def first_since(consumer: Consumer, partition: TopicPartition, time: int, seconds: float) -> int:
    """The first offset whose record is of this time (milliseconds since 1970) or later; -1 where there is none.

    Raises KafkaException as `marks`.
    """
    return _asked(consumer, [partition], time, seconds)[partition]


def filled(consumer: Consumer, topic: str, numbers: Iterable[int], seconds: float) -> dict[int, int]:
    """The ends of those of a topic's partitions that hold anything, by their numbers. Raises KafkaException as `marks`."""
    found = marks(consumer, [TopicPartition(topic, number) for number in numbers], seconds)
    return {of.partition: high for of, (low, high) in found.items() if high > low}


def named(partitions: Iterable[tuple[str, int]]) -> str:
    """Partitions in a message, which may be hundreds."""
    names = [f"{topic}-{number}" for topic, number in partitions]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _asked(consumer: Consumer, wanted: list[TopicPartition], time: int, seconds: float) -> dict[TopicPartition, int]:
    if not wanted:
        return {}
    try:
        found = consumer.offsets_for_times([Position(topic, p, time) for topic, p in wanted], timeout=seconds)
        for one in found:
            if one.error is not None:
                raise KafkaException(one.error)
    except KafkaException as e:
        if e.args[0].code() in GONE:
            raise RetriableError(
                f"Asking for the end of {named(wanted)}: a partition is gone, or has no leader ({e.args[0].name()})"
            ) from e
        raise
    return {TopicPartition(one.topic, one.partition): one.offset for one in found}
