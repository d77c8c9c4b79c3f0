"""One record, and its headers."""

from typing import Any, NamedTuple

import msgspec

from penstock.schema import Schema

__all__ = ["Header", "Original", "Record"]


class Header(NamedTuple):
    """A header. Several headers of a record may have the same name, and their order counts."""

    name: str
    value: Any
    schema: Schema | None = None


class Original(NamedTuple):
    """The position from which a sink record was consumed, before transforms changed its topic or partition (KIP-793)."""

    topic: str
    partition: int
    offset: int


class Record(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """One record. It is immutable, and its values are treated so too: `replace` makes a changed copy.

    Its `repr` leaves out what is not set.
    """

    topic: str | None
    value: Any
    value_schema: Schema | None = None
    key: Any = None
    key_schema: Schema | None = None
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    timestamp: int | None = None
    """The record's time in Kafka, in milliseconds since 1970-01-01T00:00Z; None: when it is written. Kafka's retention goes
    by it."""
    offset: int | None = None
    """The offset in Kafka of a sink record; None on the way to Kafka."""
    original: Original | None = None
    """Set on sink records only."""
    timestamp_type: str | None = None
    """Of sink records: `CreateTime`, `LogAppendTime` or `NoTimestampType`."""

    def replace(self, **changes: Any) -> "Record":
        """A copy of the record with these fields changed."""
        return msgspec.structs.replace(self, **changes)
