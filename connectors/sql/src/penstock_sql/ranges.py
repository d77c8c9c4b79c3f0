"""A backlog of one table in ranges of its keys, which are read in parallel. Pure.

A range is a source partition of its own, whose offset is committed with its records. So that each row is read once whatever
dies meanwhile, the offset of every range tells the whole round: whoever finds one of them knows the others. A round begins
when all that the one before has left is in it, so the last round that is found says where the table stands. The table's own
offset stays where it was until a batch is read in one piece again; that batch removes the ranges.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock import ConnectError, Offset, Offsets, OffsetUpdates, SourcePartition

__all__ = ["RANGE", "Range", "Round", "first_round", "range_of", "removed", "round_of", "table_of"]

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
        end: where the table stands once they are read.
        ranges: where each begins and ends.
        done: those that were read.
    """

    number: int
    of: Offset | None
    end: Offset
    ranges: tuple[Range, ...]
    done: frozenset[int] = frozenset()

    @property
    def left(self) -> Mapping[int, Range]:
        """The ranges that are still to be read."""
        return {number: each for number, each in enumerate(self.ranges) if number not in self.done}

    def offset(self) -> Offset:
        """That of each range, once it is read."""
        return {
            "round": self.number,
            "of": json.dumps(self.of, default=dict),
            "end": json.dumps(self.end, default=dict),
            "ranges": json.dumps(self.ranges, default=dict),
        }

    def read(self, table: SourcePartition, numbers: Sequence[int]) -> Offsets:
        """What changes when these ranges are read."""
        return {SourcePartition({**table, RANGE: number}): self.offset() for number in numbers}

    def next(self, ends: Sequence[Offset]) -> "Round":
        """The round behind this one, whose ranges end there."""
        return Round(self.number + 1, self.of, ends[-1], _between(self.end, ends))

    def cut(self, at: Offset) -> "Round":
        """What is left of this round, the first range of it in two."""
        (begin, end), *others = self.left.values()
        return Round(self.number + 1, self.of, self.end, ((begin, at), (at, end), *others))


def first_round(of: Offset | None, ends: Sequence[Offset]) -> Round:
    """The first round from the offset of a table on, whose ranges end there."""
    return Round(1, of, ends[-1], _between(of, ends))


def _between(begin: Offset | None, ends: Sequence[Offset]) -> tuple[Range, ...]:
    return tuple(zip([begin, *ends], ends, strict=False))


def round_of(table: SourcePartition, offsets: Offsets) -> Round | None:
    """The round in which a table is; None where its own offset says all, also because it was altered since.

    Raises:
        ConnectError: an offset of a range is none.
    """
    of = offsets.get(table)
    found: dict[int, Round] = {}
    for number, offset in _ranges(table, offsets).items():
        each = _read(offset)
        if each.of == of:
            done = found.get(each.number, each).done | {number}
            found[each.number] = Round(each.number, each.of, each.end, each.ranges, done)
    return found[max(found)] if found else None


def table_of(partition: SourcePartition) -> SourcePartition:
    """The source partition of the table, of a range or of itself."""
    return SourcePartition({name: value for name, value in partition.items() if name != RANGE})


def range_of(partition: SourcePartition, offset: Offset) -> Range:
    """Where a range begins and ends, by its offset."""
    return _read(offset).ranges[int(str(partition[RANGE]))]


def removed(table: SourcePartition, offsets: Offsets) -> OffsetUpdates:
    """The end of all ranges of a table."""
    return {SourcePartition({**table, RANGE: number}): None for number in _ranges(table, offsets)}


def _ranges(table: SourcePartition, offsets: Offsets) -> Mapping[Any, Offset]:
    return {p[RANGE]: offset for p, offset in offsets.items() if RANGE in p and table_of(p) == table}


def _read(offset: Offset) -> Round:
    try:
        of, end, ranges = (json.loads(str(offset[name])) for name in ("of", "end", "ranges"))
        return Round(int(str(offset["round"])), of, end, tuple((first, last) for first, last in ranges))
    except (KeyError, TypeError, ValueError):
        raise ConnectError(
            f"{dict(offset)} is no offset of a range, which only the connector sets: remove it, and the table is read from "
            "its own offset on"
        ) from None
