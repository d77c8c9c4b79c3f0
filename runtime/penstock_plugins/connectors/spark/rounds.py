"""Rounds: a data source's backlog, split into parts that are read in parallel. No I/O.

All partitions that a reader returns for two offsets reach the same end, so one offset cannot show which of them were read.
During such a *round*, each part of them is a separate source partition. Its offset is committed with its records, and
describes the round: its start and end, the number of parts, and a digest of their contents. After a crash, the offset of any
part describes the round, and the parts without an offset are left. The source's own offset stays at the start of the round,
and the round is valid only for that offset. Once all parts are read, a batch without records sets the offset to the end and
removes the parts, so no round starts while parts of another one exist.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock import ConnectError, Limits, Offset, Offsets, OffsetUpdates, SourcePartition

__all__ = ["PART", "Round", "RoundProgress", "is_backlog", "number_of", "progress"]

PART: Final = "part"
"""Field of a part's source partition that the data source's own partition does not have."""
_BACKLOG: Final = Limits(100_000, 16 << 20)
"""Minimum limits of a batch that Spark's workers share: one of them suffices. The limits of batches grow with the load."""


@dataclass(frozen=True, slots=True)
class Round:
    """Rows that are read in parts.

    Attributes:
        start, end: the reader's offsets.
        parts: number of parts.
        digest: digest of the contents of the parts; see `cuts`.
    """

    start: Mapping[str, Any]
    end: Mapping[str, Any]
    parts: int
    digest: str

    @property
    def offset(self) -> Offset:
        """Return the offset of a part that was read."""
        return {"start": _json(self.start), "end": _json(self.end), "parts": self.parts, "digest": self.digest}

    @classmethod
    def of(cls, partition: SourcePartition, offset: Offset) -> "Round":
        """Return the round of a part, from its offset.

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
                f"cannot use offset {dict(offset)} of partition {dict(partition)}: it is not in the form that this "
                "connector writes; remove the offsets of all parts, so that reading continues at the data source's own "
                "offset"
            )
        return found

    def read(self, source: SourcePartition, numbers: Iterable[int]) -> Offsets:
        """Return the offsets that change when these parts are read."""
        return {SourcePartition({**source, PART: number}): self.offset for number in numbers}


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """Progress of a data source.

    Attributes:
        parts: source partitions of all parts that have an offset, including those that are not valid.
        round: the round in progress.
        left: indexes of its unread parts, in order.
    """

    parts: tuple[SourcePartition, ...] = ()
    round: Round | None = None
    left: tuple[int, ...] = ()

    def closed(self) -> OffsetUpdates:
        """Return the offsets that change, in addition to the source's own offset, to remove all parts."""
        return dict.fromkeys(self.parts)


def is_backlog(limits: Limits) -> bool:
    """Return whether a batch with these limits is large enough for a round."""
    return limits.records >= _BACKLOG.records or limits.bytes >= _BACKLOG.bytes


def number_of(partition: SourcePartition) -> int:
    """Return the index of a part; -1 if it has none."""
    number = partition.get(PART)
    return number if type(number) is int else -1


def progress(source: SourcePartition, at: Mapping[str, Any] | None, offsets: Offsets) -> RoundProgress:
    """Return the progress of a data source.

    Args:
        source: its source partition.
        at: its own offset, as the reader returned it; None if it has none.
        offsets: offsets of all source partitions.

    Raises:
        ConnectError: the offset of a part is invalid.
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
    # With at-least-once, two processes may have written at the same time. Each wrote correct records for its own round.
    of, done = max(begun.values(), key=lambda each: len(each[1]))
    return RoundProgress(tuple(parts), of, tuple(n for n in range(of.parts) if n not in done))


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
