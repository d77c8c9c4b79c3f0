"""The positions of a sink, in the form of KIP-875's JSON and as partitions of Kafka; whether Kafka has them."""

from collections.abc import Iterable, Mapping
from typing import Final, cast

from penstock.errors import ConfigError, Problem
from penstock.offsets import OffsetUpdates
from penstock.sink import TopicPartition
from penstock_runtime.job.offsets_target import Target
from penstock_runtime.kafka.consumers import RecordConsumer

__all__ = ["check_positions", "counts_and_ends", "positions_of"]

_REFUSED: Final = "Failed to alter consumer group offsets for connector {connector}: {why}"
_MOST_TOLD: Final = 20
"""Problems that one message has; the rest are counted."""


def positions_of(offsets: OffsetUpdates) -> dict[TopicPartition, int]:
    """The positions in offsets of a sink that were read and checked; those that are removed are left out."""
    return {
        TopicPartition(str(p["kafka_topic"]), cast("int", p["kafka_partition"])): cast("int", o["kafka_offset"])
        for p, o in offsets.items()
        if o is not None
    }


def counts_and_ends(
    target: Target, partitions: Iterable[TopicPartition]
) -> tuple[Mapping[str, int], Mapping[TopicPartition, int]]:
    """The number of partitions of every topic that the sink may see, and the ends of those of these that exist.

    Raises:
        RetriableError, ConnectError: Kafka does not answer, or refuses.
    """
    consumer = RecordConsumer(target.place.settings, group=target.group, client_id="penstock-offsets")
    try:
        counts = consumer.partitions()
        return counts, consumer.ends(p for p in partitions if p.partition < counts.get(p.topic, 0))
    finally:
        consumer.close()


def check_positions(target: Target, positions: Mapping[TopicPartition, int]) -> None:
    """See that each partition exists, and that no position is past the end of its partition.

    Raises:
        ConfigError: some are not; each is named.
        RetriableError, ConnectError: Kafka does not answer, or refuses.
    """
    counts, ends = counts_and_ends(target, positions)
    wrong = [w for p, o in positions.items() if (w := _why_not(p, o, counts, ends))]
    if wrong:
        more = len(wrong) - _MOST_TOLD
        text = "; ".join(wrong[:_MOST_TOLD]) + (f"; and {more} more" if more > 0 else "")
        raise ConfigError(Problem("offsets", _REFUSED.format(connector=target.place.connector, why=text)))


def _why_not(
    partition: TopicPartition, offset: int, counts: Mapping[str, int], ends: Mapping[TopicPartition, int]
) -> str:
    topic, number = partition
    if topic not in counts:
        return f"topic '{topic}' does not exist, or may not be described"
    if partition not in ends:
        return f"topic '{topic}' has no partition {number}, and {counts[topic]} in all"
    if offset > ends[partition]:
        return f"{offset} is past the end of {topic}-{number}, which is {ends[partition]}"
    return ""
