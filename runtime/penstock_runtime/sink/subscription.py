"""Topics and partitions that a sink task reads: detects new, deleted and recreated ones at each check."""

import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.sink import TopicPartition
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.sink.assignment import assigned
from penstock_runtime.sink.context import SinkContext

__all__ = ["Change", "Subscription"]

_SOON: Final = 5.0
"""Seconds between searches for a listed topic that does not exist."""


@dataclass(frozen=True, slots=True)
class Change:
    """Differences from the last check.

    Attributes:
        added: partitions to start to read.
        gone: partitions that are no longer read: deleted, or of a topic that was created again.
        recreated: topics that were deleted and created again.
        first: partitions in `added` whose topic was created again.
        grown: partitions in `added` whose topic had fewer partitions at the last check.
        topic_ids: ids of the topics from which this task reads partitions.
        partition_counts: number of partitions of every topic.
    """

    added: list[TopicPartition]
    gone: list[TopicPartition]
    recreated: set[str]
    first: set[TopicPartition]
    grown: set[TopicPartition]
    topic_ids: Mapping[str, str]
    partition_counts: Mapping[str, int]


class Subscription:
    """Detector of changes in topics and partitions, every `metadata.max.age.ms`.

    Args:
        context: context of the task.
        consumer: sends the requests to the brokers.
        clock: seconds, monotonic.
    """

    def __init__(
        self, context: SinkContext, consumer: RecordConsumer, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._context = context
        self._consumer = consumer
        self._clock = clock
        self._next_look = 0.0
        self._topic_ids: dict[str, str] = {}
        """Ids of topics, including deleted ones: a topic that comes back has another id."""
        self._partition_counts: Mapping[str, int] = {}
        self.waiting_for: str | None = None
        """Reason why the task waits, reported as its trouble."""

    @property
    def due(self) -> bool:
        """Return whether it is time to check."""
        return self._clock() >= self._next_look

    @property
    def topics(self) -> Collection[str]:
        """Topics that the sink reads in any of its tasks, as of the last check; listed topics need not exist."""
        return {*self._context.topics, *filter(self._context.reads, self._partition_counts)}

    def hurry(self) -> None:
        """Check at the next opportunity: something has failed, perhaps because a partition is gone."""
        self._next_look = 0.0

    def look(self, current: Collection[TopicPartition]) -> Change:
        """Return differences from the partitions that the task has now. Confirm them by calling `changed`.

        Raises:
            RetriableError, ConnectError: Kafka does not answer, or refuses.
        """
        context = self._context
        counts = self._consumer.partitions()
        mine = assigned(
            counts,
            topics=context.topics,
            matches=context.topic_matches,
            task=context.spec.task,
            tasks=context.spec.tasks,
        )
        topics = {tp.topic for tp in mine}
        ids = self._consumer.topic_ids(topics) if topics else {}
        recreated = {topic for topic, id_ in ids.items() if self._topic_ids.get(topic, id_) != id_}
        self._next_look = self._clock() + context.metadata_seconds
        kept = {tp for tp in current if tp.topic not in recreated}
        added = [tp for tp in mine if tp not in kept]
        return Change(
            added=added,
            gone=sorted(set(current) - kept | kept - set(mine)),
            recreated=recreated,
            first={tp for tp in added if tp.topic in recreated},
            grown={tp for tp in added if tp.partition >= self._partition_counts.get(tp.topic, sys.maxsize)},
            topic_ids=ids,
            partition_counts=counts,
        )

    def changed(self, change: Change, current: Collection[TopicPartition]) -> None:
        """Record that the task has dropped the partitions that are gone, and started to read those that were added.

        Args:
            change: result of `look`.
            current: the partitions that the task has now.
        """
        context = self._context
        self._topic_ids.update(change.topic_ids)
        self._partition_counts = change.partition_counts
        missing = sorted(set(context.topics) - set(change.partition_counts))
        if missing or not current:
            self._next_look = self._clock() + min(context.metadata_seconds, _SOON)
        self.waiting_for = None
        if missing:
            self.waiting_for = f"Waiting for topics that do not exist, or that may not be read: {', '.join(missing)}"
        elif not current:
            self.waiting_for = f"Waiting: no partition of {context.topics_text} is assigned to this task"
