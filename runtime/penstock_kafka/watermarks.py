"""The first offsets and the end offsets of partitions, asked of their brokers.

Not by `get_watermark_offsets`: librdkafka's query waits without an end when the connection that it goes through is given up
meanwhile (brokers that go away and come back), whatever its timeout is (seen with 2.16; its issue 2588 is the same wait).
"""

from collections.abc import Iterable
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from penstock.errors import RetriableError
from penstock.sink import TopicPartition

__all__ = ["GONE", "end_offsets", "first_offset_since", "names_of", "watermarks_of"]

GONE: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION)  # noqa: SLF001
"""What brokers answer for a partition that was deleted, and for one that has no leader at the moment."""
_FIRST: Final = -2
_END: Final = -1


def watermarks_of(
    consumer: Consumer, partitions: Iterable[TopicPartition], seconds: float
) -> dict[TopicPartition, tuple[int, int]]:
    """The first offset and the end of each partition; the isolation level of the client is also that of the ends.

    A client that fetches gets the answers only after its waiting fetch requests (`fetch.wait.max.ms`), twice.

    Args:
        consumer: any, also one that has nothing assigned.
        partitions: without duplicates.
        seconds: how long each of the two requests may take.

    Raises:
        RetriableError: a partition is gone, or has no leader, as for a moment when a broker comes back.
        KafkaException: no answer in time, or not for all of them.
    """
    asked = list(partitions)
    low, high = _offsets_at(consumer, asked, _FIRST, seconds), _offsets_at(consumer, asked, _END, seconds)
    return {partition: (low[partition], high[partition]) for partition in asked}


def end_offsets(consumer: Consumer, partitions: Iterable[TopicPartition], seconds: float) -> dict[TopicPartition, int]:
    """The end of each partition, in one request. Raises KafkaException as `watermarks_of`."""
    return _offsets_at(consumer, list(partitions), _END, seconds)


def first_offset_since(consumer: Consumer, partition: TopicPartition, time: int, seconds: float) -> int:
    """The first offset whose record is of this time (milliseconds since 1970) or later; -1 where there is none.

    Raises KafkaException as `watermarks_of`.
    """
    return _offsets_at(consumer, [partition], time, seconds)[partition]


def names_of(partitions: Iterable[tuple[str, int]]) -> str:
    """Partitions in a message: the first three, and how many more there are."""
    names = [f"{topic}-{number}" for topic, number in partitions]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _offsets_at(
    consumer: Consumer, partitions: list[TopicPartition], time: int, seconds: float
) -> dict[TopicPartition, int]:
    if not partitions:
        return {}
    try:
        answers = consumer.offsets_for_times([Position(topic, p, time) for topic, p in partitions], timeout=seconds)
        for answer in answers:
            if answer.error is not None:
                raise KafkaException(answer.error)
    except KafkaException as e:
        if e.args[0].code() in GONE:
            raise RetriableError(
                f"Asking for the end of {names_of(partitions)}: a partition is gone, or has no leader ({e.args[0].name()})"
            ) from e
        raise
    return {TopicPartition(answer.topic, answer.partition): answer.offset for answer in answers}
