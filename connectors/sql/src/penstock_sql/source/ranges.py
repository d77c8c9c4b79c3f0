"""A backlog of one table in ranges of its keys, which are read in parallel. Pure.

A range is a source partition of its own, whose offset is committed with its records. So that each row is read once whatever
dies meanwhile, the offset of every range tells the whole round: whoever finds one of them knows the others. A round begins
when all that the one before has left is in it, so the last round that is found says where the table stands. The table's own
offset stays where it was until a batch is read in one piece again; that batch removes the ranges.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock import ConnectError, Offset, Offsets, OffsetUpdates, SourcePartition

__all__ = ["RANGE", "Range", "Round", "TableProgress", "progress_of_tables", "range_of", "table_of"]

RANGE: Final = "range"
"""The field that a range has more than the source partition of its table."""

Range = tuple[Offset | None, Offset]
"""The rows behind one offset up to another."""


@dataclass(frozen=True, slots=True)
class Round:
    """Ranges that may be read side by side.

    Attributes:
        number: later rounds have greater ones.
        of: the offset of the table while its ranges are read; they count for no other one.
        by: what rows are ordered by; they count for no other order.
        end: where the table stands once they are read.
        ranges: where each begins and ends.
        done: those that were read.
    """

    number: int
    of: Offset | None
    by: str
    end: Offset
    ranges: tuple[Range, ...]
    done: frozenset[int] = frozenset()

    @property
    def left(self) -> Mapping[int, Range]:
        """The ranges that are still to be read."""
        return {number: each for number, each in enumerate(self.ranges) if number not in self.done}

    def read(self, table: SourcePartition, numbers: Iterable[int]) -> Offsets:
        """What changes when these ranges are read."""
        offset: Offset = {
            "round": self.number,
            "of": json.dumps(self.of, default=dict),
            "by": self.by,
            "end": json.dumps(self.end, default=dict),
            "ranges": json.dumps(self.ranges, default=dict),
        }
        return {SourcePartition({**table, RANGE: number}): offset for number in numbers}

    def cut(self, at: Offset) -> "Round":
        """What is left of this round, the first range of it in two."""
        (begin, end), *others = self.left.values()
        ranges = ((begin, at), (at, end), *others)
        return replace(self, number=self.number + 1, ranges=ranges, done=frozenset())


@dataclass(frozen=True, slots=True)
class TableProgress:
    """Where a table stands.

    Attributes:
        table: its source partition.
        offset: of the table itself.
        ranges: its ranges with their offsets, also those that count no more.
        round: the round that counts.
    """

    table: SourcePartition
    offset: Offset | None
    ranges: Offsets
    round: Round | None

    @property
    def position(self) -> Offset | None:
        """Up to where all was read, or will be when the round is done."""
        return self.offset if self.round is None else self.round.end

    def divided(self, ends: Sequence[Offset], by: str) -> OffsetUpdates:
        """What changes when the next rows are read in ranges that end there."""
        ranges = tuple(zip([self.position, *ends], ends, strict=False))
        number = 1 if self.round is None else self.round.number + 1
        return Round(number, self.offset, by, ends[-1], ranges).read(self.table, range(len(ends)))

    def whole(self, end: Offset | None) -> OffsetUpdates:
        """What changes when the next rows are read in one piece, or when there are none."""
        kept = {} if end is None else {self.table: end}
        return {**kept, **dict.fromkeys(self.ranges)}


def progress_of_tables(
    tables: Iterable[SourcePartition], offsets: Offsets, by: str
) -> Mapping[SourcePartition, TableProgress]:
    """Where tables stand.

    Args:
        tables: their source partitions.
        offsets: of all source partitions.
        by: what rows are ordered by.

    Raises:
        ConnectError: an offset of a range is none.
    """
    ranges: dict[SourcePartition, dict[SourcePartition, Offset]] = {}
    for partition, offset in offsets.items():
        if RANGE in partition:
            ranges.setdefault(table_of(partition), {})[partition] = offset
    found = {}
    for table in tables:
        of, its = offsets.get(table), ranges.get(table, {})
        found[table] = TableProgress(table, of, its, _round(of, by, its) if its else None)
    return found


def table_of(partition: SourcePartition) -> SourcePartition:
    """The source partition of the table, of a range or of itself."""
    if RANGE not in partition:
        return partition
    return SourcePartition({name: value for name, value in partition.items() if name != RANGE})


def range_of(partition: SourcePartition, offset: Offset) -> Range:
    """Where a range begins and ends, by its offset."""
    return _read(offset).ranges[int(str(partition[RANGE]))]


def _round(of: Offset | None, by: str, ranges: Offsets) -> Round | None:
    """The last round. Plans of two processes that write at the same time, at least once, are never taken for one."""
    found: list[Round] = []
    for partition, offset in ranges.items():
        each, number = _read(offset), int(str(partition[RANGE]))
        if (each.of, each.by) != (of, by):
            continue
        like = next((r for r in found if replace(r, done=frozenset()) == each), None)
        if like is not None:
            found.remove(like)
        done = like.done if like else frozenset()
        found.append(replace(each, done=done | {number}))
    return max(found, key=lambda r: r.number, default=None)


def _read(offset: Offset) -> Round:
    try:
        of, end, ranges = (json.loads(str(offset[name])) for name in ("of", "end", "ranges"))
        each = tuple((first, last) for first, last in ranges)
        return Round(int(str(offset["round"])), of, str(offset["by"]), end, each)
    except (KeyError, TypeError, ValueError):
        raise ConnectError(
            f"{dict(offset)} is no offset of a range, which only the connector sets: remove those of all ranges of the "
            "table, and it is read from its own offset on"
        ) from None
