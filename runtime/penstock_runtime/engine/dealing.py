"""Who reads what of a backlog: ranges of offsets, or parts of a source's batch, dealt to Spark's workers."""

from collections.abc import Sequence
from typing import TypeVar

from penstock.sink import TopicPartition
from penstock.source import Limits

__all__ = ["Range", "bounded", "cut", "dealt", "dealt_evenly"]

T = TypeVar("T")

Range = tuple[TopicPartition, int, int]
"""A partition, the first offset, and the one after the last."""


def bounded(ranges: Sequence[Range], limits: Limits, *, record_bytes: float) -> list[Range]:
    """The beginning of each range: as much as one batch may hold, shared out evenly.

    Args:
        ranges: what there is to read.
        limits: of the batch.
        record_bytes: what a record holds, as far as one can know before it is read.
    """
    most = min(limits.records, int(limits.bytes / max(1.0, record_bytes)))
    share = max(1, most // max(1, len(ranges)))
    return [(of, start, min(end, start + share)) for of, start, end in ranges]


def dealt(ranges: Sequence[Range], groups: int) -> list[list[Range]]:
    """The ranges, each whole, in at most that many groups of about the same size."""
    found: list[list[Range]] = [[] for _ in range(min(groups, len(ranges)))]
    sizes = [0] * len(found)
    for one in sorted(ranges, key=lambda r: r[1] - r[2]):
        smallest = sizes.index(min(sizes))
        found[smallest].append(one)
        sizes[smallest] += one[2] - one[1]
    return found


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
