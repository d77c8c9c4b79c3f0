"""Key ranges of a table's backlog, which are read in parallel. Pure.

Each range is a separate source partition, whose offset is committed with its records. So that each row is read once even if
a process crashes between commits, the offset of every range describes the whole round: any one of them is sufficient.
A round includes all ranges that the previous one has left unread, so the last stored round determines the position of the
table. The table's own offset stays unchanged until a batch is read in one piece again; that batch removes the ranges.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock import ConnectError, Offset, Offsets, OffsetUpdates, SourcePartition

__all__ = ["RANGE", "Range", "Round", "TableProgress", "progress_of_tables", "range_of", "table_of"]

RANGE: Final = "range"
"""Field that a range adds to the source partition of its table."""

Range = tuple[Offset | None, Offset]
"""Rows after one offset, up to and including another."""


@dataclass(frozen=True, slots=True)
class Round:
    """Ranges that may be read in parallel.

    Attributes:
        number: the number of the round; later rounds have greater ones.
        of: the offset of the table while its ranges are read. If the table has another offset, the round is invalid.
        by: the order of rows. If the configuration has another order, the round is invalid.
        end: the position of the table after all ranges are read.
        ranges: the start and the end of each range.
        done: the ranges that were read.
    """

    number: int
    of: Offset | None
    by: str
    end: Offset
    ranges: tuple[Range, ...]
    done: frozenset[int] = frozenset()

    @property
    def left(self) -> Mapping[int, Range]:
        """Ranges that were not read yet."""
        return {number: each for number, each in enumerate(self.ranges) if number not in self.done}

    def read(self, table: SourcePartition, numbers: Iterable[int]) -> Offsets:
        """Return the offsets to commit when these ranges are read."""
        offset: Offset = {
            "round": self.number,
            "of": json.dumps(self.of, default=dict),
            "by": self.by,
            "end": json.dumps(self.end, default=dict),
            "ranges": json.dumps(self.ranges, default=dict),
        }
        return {SourcePartition({**table, RANGE: number}): offset for number in numbers}

    def cut(self, at: Offset) -> "Round":
        """Return a round of the unread ranges, with the first of them split in two."""
        (begin, end), *others = self.left.values()
        ranges = ((begin, at), (at, end), *others)
        return replace(self, number=self.number + 1, ranges=ranges, done=frozenset())


@dataclass(frozen=True, slots=True)
class TableProgress:
    """Progress of a table.

    Attributes:
        table: the source partition of the table.
        offset: the offset of the table itself.
        ranges: the ranges with their offsets, including invalid ones.
        round: the valid round, if there is one.
    """

    table: SourcePartition
    offset: Offset | None
    ranges: Offsets
    round: Round | None

    @property
    def position(self) -> Offset | None:
        """Offset up to which all rows were read, or will be read when the round is done."""
        return self.offset if self.round is None else self.round.end

    def divided(self, ends: Sequence[Offset], by: str) -> OffsetUpdates:
        """Return the offset updates when the next rows are read in ranges with these ends."""
        ranges = tuple(zip([self.position, *ends], ends, strict=False))
        number = 1 if self.round is None else self.round.number + 1
        return Round(number, self.offset, by, ends[-1], ranges).read(self.table, range(len(ends)))

    def whole(self, end: Offset | None) -> OffsetUpdates:
        """Return the offset updates when the next rows are read in one piece, or when there are no rows."""
        kept = {} if end is None else {self.table: end}
        return {**kept, **dict.fromkeys(self.ranges)}


def progress_of_tables(
    tables: Iterable[SourcePartition], offsets: Offsets, by: str
) -> Mapping[SourcePartition, TableProgress]:
    """Return the progress of tables.

    Args:
        tables: the source partitions of the tables.
        offsets: the offsets of all source partitions.
        by: the order of rows.

    Raises:
        ConnectError: an offset of a range is invalid.
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
    """Return the source partition of the table, given the partition of the table or of one of its ranges."""
    if RANGE not in partition:
        return partition
    return SourcePartition({name: value for name, value in partition.items() if name != RANGE})


def range_of(partition: SourcePartition, offset: Offset) -> Range:
    """Return the start and the end of a range, which its offset contains."""
    return _read(offset).ranges[int(str(partition[RANGE]))]


def _round(of: Offset | None, by: str, ranges: Offsets) -> Round | None:
    """Return the last valid round, or None.

    Rounds of two processes that write at the same time, under at-least-once delivery, are never merged.
    """
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
            f"cannot use offset {dict(offset)}: it is not an offset of a range, which only the connector sets; remove those "
            "of all ranges of the table to continue from the table's own offset"
        ) from None
