"""Request the first offsets and the end offsets of partitions from their brokers.

`get_watermark_offsets` is not used: despite its timeout, librdkafka's query never returns if its connection is dropped
because brokers became unreachable and returned (seen with 2.16; its issue 2588 describes the same hang).
"""

from collections.abc import Iterable
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from penstock.errors import RetriableError
from penstock.sink import TopicPartition

__all__ = ["GONE", "end_offsets", "first_offset_since", "names_of", "watermarks_of"]

GONE: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION)  # noqa: SLF001
"""Errors for a partition that was deleted or currently has no leader."""
_FIRST: Final = -2
_END: Final = -1


def watermarks_of(
    consumer: Consumer, partitions: Iterable[TopicPartition], seconds: float
) -> dict[TopicPartition, tuple[int, int]]:
    """Return the first offset and the end offset of each partition. End offsets depend on the client's isolation level.

    A client that fetches gets each of the two answers only after its pending fetch requests (`fetch.wait.max.ms`).

    Args:
        consumer: any consumer, with or without an assignment.
        partitions: partitions without duplicates.
        seconds: timeout of each of the two requests.

    Raises:
        RetriableError: a partition does not exist or has no leader, for example shortly after a broker has restarted.
        KafkaException: no answer in time, or not for all partitions.
    """
    asked = list(partitions)
    low, high = _offsets_at(consumer, asked, _FIRST, seconds), _offsets_at(consumer, asked, _END, seconds)
    return {partition: (low[partition], high[partition]) for partition in asked}


def end_offsets(consumer: Consumer, partitions: Iterable[TopicPartition], seconds: float) -> dict[TopicPartition, int]:
    """Return the end offset of each partition, with one request. For errors such as KafkaException, see `watermarks_of`."""
    return _offsets_at(consumer, list(partitions), _END, seconds)


def first_offset_since(consumer: Consumer, partition: TopicPartition, time: int, seconds: float) -> int:
    """Return the first offset whose record has this timestamp (milliseconds since 1970) or a later one, or -1.

    For errors such as KafkaException, see `watermarks_of`.
    """
    return _offsets_at(consumer, [partition], time, seconds)[partition]


def names_of(partitions: Iterable[tuple[str, int]]) -> str:
    """Return the names of partitions for a message: the first three, and the number of others."""
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
                f"cannot read the offsets of {names_of(partitions)}: a partition does not exist or has no leader "
                f"({e.args[0].name()})"
            ) from e
        raise
    return {TopicPartition(answer.topic, answer.partition): answer.offset for answer in answers}
