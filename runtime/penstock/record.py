"""Records and their headers."""

from typing import Any, NamedTuple

import msgspec

from penstock.schema import Schema

__all__ = ["Header", "Original", "Record"]


class Header(NamedTuple):
    """A header. A record may have several headers of the same name; their order is significant."""

    name: str
    value: Any
    schema: Schema | None = None


class Original(NamedTuple):
    """The position from which a sink record was consumed, before transforms changed its topic or partition (KIP-793)."""

    topic: str
    partition: int
    offset: int


class Record(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """An immutable record. Its values must not be modified either: use `replace` to make a changed copy.

    Its `repr` omits fields that are not set.
    """

    topic: str | None
    value: Any
    value_schema: Schema | None = None
    key: Any = None
    key_schema: Schema | None = None
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    timestamp: int | None = None
    """The record's timestamp in Kafka, in milliseconds since 1970-01-01T00:00Z; None for the time it is written. Kafka's
    retention depends on it."""
    offset: int | None = None
    """The Kafka offset of a sink record; None for a source record."""
    original: Original | None = None
    """The consumed position of a sink record; None for a source record."""
    timestamp_type: str | None = None
    """`CreateTime`, `LogAppendTime` or `NoTimestampType` for a sink record; None for a source record."""

    def replace(self, **changes: Any) -> "Record":
        """Return a copy of the record with these fields changed."""
        return msgspec.structs.replace(self, **changes)
