"""Divide a backlog among Spark's workers: ranges of offsets, or parts of a source's batch. Without I/O."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from penstock.sink import TopicPartition
from penstock.source import Limits

__all__ = ["Range", "bounded", "cut", "dealt", "dealt_evenly", "reached"]

T = TypeVar("T")

Range = tuple[TopicPartition, int, int]
"""Partition, first offset, and the offset after the last one."""


def bounded(ranges: Sequence[Range], limits: Limits, *, record_bytes: float, least: int = 1) -> list[Range]:
    """Return the first part of each range: at most an equal share of what one batch may contain, and at least one record.

    Args:
        ranges: ranges to read; if there are too many, only the first ones are used.
        limits: limits of the batch.
        record_bytes: estimated size of a record.
        least: smallest share, because each range is at least one write.
    """
    most = min(limits.records, int(limits.bytes / max(1.0, record_bytes)))
    taken = ranges[: max(1, most // max(1, least))]
    share = max(1, most // max(1, len(taken)))
    return [(of, start, min(end, start + share)) for of, start, end in taken]


def dealt(ranges: Sequence[Range], groups: int) -> list[list[Range]]:
    """Distribute undivided ranges over at most `groups` groups of about the same size; each group keeps their order."""
    found: list[list[int]] = [[] for _ in range(min(groups, len(ranges)))]
    sizes = [0] * len(found)
    for at in sorted(range(len(ranges)), key=lambda n: ranges[n][1] - ranges[n][2]):
        smallest = sizes.index(min(sizes))
        found[smallest].append(at)
        sizes[smallest] += ranges[at][2] - ranges[at][1]
    return [[ranges[at] for at in sorted(group)] for group in found]


def cut(ranges: Sequence[Range], groups: int, *, least: int) -> list[list[Range]]:
    """Split ranges, in their order, into at most `groups` groups of about the same size; borders may divide a range.

    Args:
        ranges: ranges to read.
        groups: maximum number of groups.
        least: minimum number of offsets of a group.
    """
    total = sum(end - start for _, start, end in ranges)
    count = max(1, min(groups, total // least))
    found: list[list[Range]] = [[]]
    room = border = -(-total // count)
    for of, start, end in ranges:
        while start < end:
            if not room:
                found.append([])
                room = border
            taken = min(room, end - start)
            found[-1].append((of, start, start + taken))
            start, room = start + taken, room - taken
    return found


def dealt_evenly(parts: Sequence[T], groups: int) -> list[Sequence[T]]:
    """Distribute parts of unknown size over at most `groups` groups, each with the same number."""
    count = min(groups, len(parts))
    return [parts[n::count] for n in range(count)]


def reached(
    groups: Sequence[Sequence[Range]], ends: Sequence[Mapping[TopicPartition, int]]
) -> tuple[list[int], dict[TopicPartition, int]]:
    """Return which groups count, and the offsets that they reach, if some groups ended before the end of their ranges.

    A group that lies after a gap in one of its partitions does not count; all of its records are read again.

    Args:
        groups: result of `dealt` or `cut`.
        ends: offsets that each group has reached in the ranges that it has started.

    Returns:
        Indices of the groups that count, and the offsets reached.
    """
    starts = [{of: start for of, start, _ in group if of in end} for group, end in zip(groups, ends, strict=True)]
    at = {of: start for group in reversed(groups) for of, start, _ in reversed(group)}
    good = []
    for number, start in enumerate(starts):
        if all(at[of] == offset for of, offset in start.items()):
            good.append(number)
            at.update(ends[number])
    moved = {of for number in good for of in ends[number]}
    return good, {of: offset for of, offset in at.items() if of in moved}
