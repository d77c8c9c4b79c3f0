"""Who reads what of a backlog: ranges of offsets, or parts of a source's batch, dealt to Spark's workers."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from penstock.sink import TopicPartition
from penstock.source import Limits

__all__ = ["Range", "bounded", "cut", "dealt", "dealt_evenly", "reached"]

T = TypeVar("T")

Range = tuple[TopicPartition, int, int]
"""A partition, the first offset, and the one after the last."""


def bounded(ranges: Sequence[Range], limits: Limits, *, record_bytes: float, least: int = 1) -> list[Range]:
    """The beginning of each range: as much as one batch may hold, shared out evenly.

    Args:
        ranges: what there is to read; where there are too many, the first of them.
        limits: of the batch.
        record_bytes: what a record holds, as far as one can know before it is read.
        least: a share is no smaller, since each range is a write of its own, or several.
    """
    most = min(limits.records, int(limits.bytes / max(1.0, record_bytes)))
    taken = ranges[: max(1, most // max(1, least))]
    share = max(1, most // max(1, len(taken)))
    return [(of, start, min(end, start + share)) for of, start, end in taken]


def dealt(ranges: Sequence[Range], groups: int) -> list[list[Range]]:
    """The ranges, each whole, in at most that many groups of about the same size, in their order in each."""
    found: list[list[int]] = [[] for _ in range(min(groups, len(ranges)))]
    sizes = [0] * len(found)
    for at in sorted(range(len(ranges)), key=lambda n: ranges[n][1] - ranges[n][2]):
        smallest = sizes.index(min(sizes))
        found[smallest].append(at)
        sizes[smallest] += ranges[at][2] - ranges[at][1]
    return [[ranges[at] for at in sorted(group)] for group in found]


def cut(ranges: Sequence[Range], groups: int, *, least: int) -> list[list[Range]]:
    """The ranges in their order, in at most that many groups of about the same size, those at the borders cut in two.

    Args:
        ranges: what there is to read.
        groups: how many may be made.
        least: below this number of offsets a group is not worth its while.
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
    """Parts of which nobody knows how much they hold, in at most that many groups of the same number."""
    count = min(groups, len(parts))
    return [parts[n::count] for n in range(count)]


def reached(
    groups: Sequence[Sequence[Range]], ends: Sequence[Mapping[TopicPartition, int]]
) -> tuple[list[int], dict[TopicPartition, int]]:
    """Which groups count where some have ended before the end of their ranges, and how far each partition is done by them.

    What lies behind a gap of its partition does not count, nor what its group has done beside it: it is read again.

    Args:
        groups: as `dealt` or `cut` gave them.
        ends: of each group how far it has come in the ranges that it has begun.

    Returns:
        The numbers of the groups that count, and the offsets reached.
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
