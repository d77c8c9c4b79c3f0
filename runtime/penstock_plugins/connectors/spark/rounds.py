"""A backlog of a data source in parts, which are read in parallel. Pure.

All partitions that a reader gives for two offsets reach the same end, so one offset cannot tell which of them were read.
For the time of such a *round* each part of them is a source partition of its own. Its offset is committed with its records,
and names the round: where it begins and ends, the number of parts, and a digest of what they are. Whoever finds one part of
a round after a crash knows which others are left. The source's own offset stays where the round begins, and the round counts
for that offset alone. Once all parts are read, a batch without records sets the offset to the end and removes the parts, so
no round begins while parts of another one are there.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock import ConnectError, Limits, Offset, Offsets, OffsetUpdates, SourcePartition

__all__ = ["PART", "Round", "RoundProgress", "is_backlog", "number_of", "progress"]

PART: Final = "part"
"""The field that a part has more than the source partition of its data source."""
_BACKLOG: Final = Limits(100_000, 16 << 20)
"""The limits of a batch grow with the load. From here on, in either of both, Spark's workers share it."""


@dataclass(frozen=True, slots=True)
class Round:
    """Rows that are read in parts.

    Attributes:
        start, end: the reader's offsets.
        parts: their number.
        digest: of what the parts are; see `cuts`.
    """

    start: Mapping[str, Any]
    end: Mapping[str, Any]
    parts: int
    digest: str

    @property
    def offset(self) -> Offset:
        """The offset of a part that was read."""
        return {"start": _json(self.start), "end": _json(self.end), "parts": self.parts, "digest": self.digest}

    @classmethod
    def of(cls, partition: SourcePartition, offset: Offset) -> "Round":
        """The round of a part, by its offset.

        Raises:
            ConnectError: these are not the partition and the offset of a part.
        """
        try:
            start, end = (json.loads(str(offset[name])) for name in ("start", "end"))
            found = cls(start, end, int(str(offset["parts"])), str(offset["digest"]))
            is_one = found.offset == offset and isinstance(start, dict) and isinstance(end, dict)
        except (KeyError, ValueError):
            is_one = False
        if not is_one or not 0 <= number_of(partition) < found.parts:
            raise ConnectError(
                f"{dict(partition)} with {dict(offset)} is no part of a round, as this connector writes them: remove the "
                "offsets of all parts, and reading goes on at the data source's own offset"
            )
        return found

    def read(self, source: SourcePartition, numbers: Iterable[int]) -> Offsets:
        """What changes when these parts are read."""
        return {SourcePartition({**source, PART: number}): self.offset for number in numbers}


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """Where a data source stands.

    Attributes:
        parts: the source partitions of all parts that have an offset, also of those that do not count.
        round: the round that was begun.
        left: the numbers of its parts that are still to be read, in their order.
    """

    parts: tuple[SourcePartition, ...] = ()
    round: Round | None = None
    left: tuple[int, ...] = ()

    def closed(self) -> OffsetUpdates:
        """What changes beside the source's own offset when no part is to be left."""
        return dict.fromkeys(self.parts)


def is_backlog(limits: Limits) -> bool:
    """Whether a batch under these limits is worth a round."""
    return limits.records >= _BACKLOG.records or limits.bytes >= _BACKLOG.bytes


def number_of(partition: SourcePartition) -> int:
    """The number of a part; -1 if it has none."""
    number = partition.get(PART)
    return number if type(number) is int else -1


def progress(source: SourcePartition, at: Mapping[str, Any] | None, offsets: Offsets) -> RoundProgress:
    """Where a data source stands.

    Args:
        source: its source partition.
        at: its own offset, as the reader gave it; None: it has none.
        offsets: of all source partitions.

    Raises:
        ConnectError: an offset of a part is none.
    """
    parts = [p for p in offsets if PART in p and {**p, PART: None} == {**source, PART: None}]
    if not parts:
        return RoundProgress()
    begun: dict[str, tuple[Round, set[int]]] = {}
    here = None if at is None else json.loads(_json(at))
    for part in parts:
        found = Round.of(part, offsets[part])
        if found.start == here:
            begun.setdefault(_json(found.offset), (found, set()))[1].add(number_of(part))
    if not begun:
        return RoundProgress(tuple(parts))
    # At least once, two processes may have written at the same time. What each says of its own round is true.
    of, done = max(begun.values(), key=lambda each: len(each[1]))
    return RoundProgress(tuple(parts), of, tuple(n for n in range(of.parts) if n not in done))


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
