"""Convert a sink's positions from the form of KIP-875's JSON to Kafka partitions, and check that they exist in Kafka."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from penstock.errors import ConfigError, Problem
from penstock.offsets import OffsetUpdates
from penstock.sink import TopicPartition
from penstock_runtime.job.offsets_target import Target
from penstock_runtime.kafka.consumers import RecordConsumer

__all__ = ["Seen", "check_positions", "positions_of", "seen_by", "why_not"]

_REFUSED: Final = "Failed to alter consumer group offsets for connector {connector}: {why}"
_MOST_NAMED: Final = 20
"""Maximum number of problems in one message; the rest are counted."""


def positions_of(offsets: OffsetUpdates) -> dict[TopicPartition, int]:
    """Return the positions in a sink's validated offsets, without those to remove."""
    return {
        TopicPartition(str(p["kafka_topic"]), cast("int", p["kafka_partition"])): cast("int", o["kafka_offset"])
        for p, o in offsets.items()
        if o is not None
    }


@dataclass(frozen=True)
class Seen:
    """Topics as seen by a sink.

    Attributes:
        counts: number of partitions of every topic that it may see.
        bounds: first offset and end of the requested partitions that exist.
        is_from_beginning: whether it resumes at the first offset if its own does not exist (`auto.offset.reset=earliest`).
    """

    counts: Mapping[str, int]
    bounds: Mapping[TopicPartition, tuple[int, int]]
    is_from_beginning: bool


def seen_by(target: Target, partitions: Iterable[TopicPartition]) -> Seen:
    """Return the sink's view of these partitions.

    Raises:
        RetriableError, ConnectError: Kafka does not answer, or refuses.
    """
    consumer = RecordConsumer(target.place.settings, group=target.group, client_id="penstock-offsets")
    try:
        counts = consumer.partitions()
        bounds = consumer.bounds(p for p in partitions if p.partition < counts.get(p.topic, 0))
        return Seen(counts, bounds, consumer.from_beginning)
    finally:
        consumer.close()


def check_positions(target: Target, positions: Mapping[TopicPartition, int]) -> None:
    """Check that each partition exists, and that a task would start at its position.

    Raises:
        ConfigError: some partitions or positions fail the check; the message names each.
        RetriableError, ConnectError: Kafka does not answer, or refuses.
    """
    seen = seen_by(target, positions)
    wrong = [w for p, o in positions.items() if (w := why_not(p, o, seen))]
    if wrong:
        more = len(wrong) - _MOST_NAMED
        text = "; ".join(wrong[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
        raise ConfigError(Problem("offsets", _REFUSED.format(connector=target.place.connector, why=text)))


def why_not(partition: TopicPartition, offset: int, seen: Seen) -> str:
    """Return why a position is refused; empty if it is accepted. Pure.

    A position before the first offset is accepted with `auto.offset.reset=earliest`, which starts at the first offset. With
    another value the task would skip existing records.
    """
    topic, number = partition
    if topic not in seen.counts:
        return f"topic '{topic}' does not exist, or the connector may not describe it"
    if partition not in seen.bounds:
        return f"topic '{topic}' has no partition {number}; its partition count is {seen.counts[topic]}"
    first, end = seen.bounds[partition]
    if offset > end:
        return f"{offset} is past the end of {topic}-{number}, which is {end}"
    if offset < first and not seen.is_from_beginning:
        return f"{offset} is before the first offset of {topic}-{number}, which is {first}"
    return ""
