"""Records of compacted topics."""

from typing import NamedTuple

from confluent_kafka import Message

__all__ = ["Entry", "Record"]

Entry = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""


class Record(NamedTuple):
    """Entry with its position in the topic.

    Attributes:
        key, value: the entry.
        timestamp: milliseconds since 1970, according to its writer.
        offset, partition: position of the entry.
    """

    key: bytes
    value: bytes | None
    timestamp: int
    offset: int
    partition: int = 0

    @property
    def entry(self) -> Entry:
        """Key and value."""
        return self.key, self.value

    @classmethod
    def of(cls, message: Message) -> "Record":
        """Return the record in a librdkafka message."""
        return cls(
            bytes(message.key() or b""),
            message.value(),
            message.timestamp()[1],
            message.offset() or 0,
            message.partition() or 0,
        )
