"""Source partitions and their offsets: the position of a source.

A source partition identifies a stream of the external system (`{"filename": "/data/a.jsonl"}`), an offset a position in it
(`{"position": 35}`). Both are flat maps from strings to strings, integers, floats, booleans or null, and are stored in Kafka
as JSON (`["<connector>",{partition}]` -> `{offset}`).
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

from penstock.errors import DataError

__all__ = ["Cursor", "Offset", "OffsetUpdates", "Offsets", "Primitive", "SourcePartition", "updated"]

Primitive: TypeAlias = str | int | float | bool | None
"""A value in a source partition or an offset."""

Offset: TypeAlias = Mapping[str, Primitive]
"""A position in a source partition, a flat map that Kafka stores as JSON."""


Cursor: TypeAlias = str | int | float | Mapping[str, Primitive]
"""A position in a stream of a function source: a string, a number, or a
flat map of those (`{"updated": "2026-01-01", "id": 7}`)."""


class SourcePartition(Mapping[str, Primitive]):
    """Immutable, hashable source partition, compared by structure.

    The order of fields is not significant; the JSON type of a value is (1, 1.0, "1" and true are four values). Kafka Connect
    compares bytes instead, and therefore loses partitions with several fields.

    Raises:
        DataError: a value is not a primitive; the message is Kafka Connect's.
    """

    __slots__ = ("_fields", "_identity")

    def __init__(self, fields: Mapping[str, Primitive]) -> None:
        for name, value in fields.items():
            if value is not None and not isinstance(value, (str, int, float, bool)):
                kind = "MAP" if isinstance(value, Mapping) else "ARRAY"
                raise DataError(f"Offsets may only contain primitive types as values, but field {name} contains {kind}")
        self._fields = dict(fields)
        self._identity = frozenset((name, type(value).__name__, value) for name, value in self._fields.items())

    def __getitem__(self, name: str) -> Primitive:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourcePartition) and self._identity == other._identity

    def __repr__(self) -> str:
        return f"SourcePartition({self._fields!r})"


Offsets: TypeAlias = Mapping[SourcePartition, Offset]
"""The offset of each source partition, as stored in Kafka."""

OffsetUpdates: TypeAlias = Mapping[SourcePartition, Offset | None]
"""Changes to `Offsets`. None removes the source partition (a tombstone in Kafka, as for Connect's null offset)."""


def updated(offsets: Offsets, updates: OffsetUpdates) -> dict[SourcePartition, Offset]:
    """Return the offsets after these updates, without source partitions whose update is None."""
    merged = {**offsets, **updates}
    if None in updates.values():
        return {p: o for p, o in merged.items() if o is not None}
    return cast("dict[SourcePartition, Offset]", merged)
