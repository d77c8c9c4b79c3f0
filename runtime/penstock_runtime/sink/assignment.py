"""Assignment of topic partitions to sink tasks: each task computes it with the same rule, without a consumer group."""

import re
import zlib
from collections.abc import Callable, Mapping, Sequence

from penstock.sink import TopicPartition

__all__ = ["assigned", "owner"]


def owner(topic: str, partition: int, tasks: int) -> int:
    """Return the task that reads partition p of topic t: `(crc32(t) + p) mod tasks`."""
    return (zlib.crc32(topic.encode()) + partition) % tasks


def assigned(
    existing: Mapping[str, int],
    *,
    topics: Sequence[str],
    matches: Callable[[str], object] | None,
    task: int,
    tasks: int,
) -> list[TopicPartition]:
    """Return the partitions of this task, in order.

    Args:
        existing: number of partitions of every topic of the cluster.
        topics: names listed in `topics`; may be empty.
        matches: returns whether a whole name matches `topics.regex`; None if that is not set.
        task: number of this task.
        tasks: number of tasks.
    """
    listed = set(topics)
    names = [t for t in existing if t in listed or (matches is not None and matches(t) and not _internal(t))]
    return [TopicPartition(t, p) for t in sorted(names) for p in range(existing[t]) if owner(t, p, tasks) == task]


def _internal(topic: str) -> bool:
    return re.fullmatch(r"__(consumer_offsets|transaction_state|share_group_state)", topic) is not None
