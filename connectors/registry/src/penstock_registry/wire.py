"""Confluent's wire format: how a message identifies its schema.

A message begins with a zero byte and the schema's id in four bytes, big-endian, or with a one and its GUID in 16 bytes.
Instead, a header of its record may have these bytes.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from penstock import DataError

__all__ = ["ConfluentFormat", "Id", "RawHeader", "WireFormat", "last_header", "prefix", "schema_id", "shown"]

Id = int | bytes
"""Id of a schema in a registry: its number, or the 16 bytes of its GUID."""
RawHeader = tuple[str, bytes | None]
"""Name and bytes."""

_BY_NUMBER: Final = 0
_BY_GUID: Final = 1
_GUID_END: Final = 17
_NUMBER: Final = struct.Struct(">bi")


def shown(schema_id: Id) -> str:
    """Return an id as text for error messages and URLs."""
    return str(UUID(bytes=schema_id)) if isinstance(schema_id, bytes) else str(schema_id)


def prefix(schema_id: Id) -> bytes:
    """Return the bytes that precede data with this schema."""
    if isinstance(schema_id, bytes):
        return bytes((_BY_GUID,)) + schema_id
    return _NUMBER.pack(_BY_NUMBER, schema_id)


def schema_id(message: bytes) -> int:
    """Return the numeric id of the schema of a message.

    Raises:
        DataError: the message does not begin with an id.
    """
    if len(message) < _NUMBER.size:
        raise DataError(
            f"cannot read a message of {len(message)} bytes: the magic byte and the id of a schema take {_NUMBER.size} bytes"
            "; the message was not written with a schema registry, so configure the converter for its format"
        )
    magic, number = _NUMBER.unpack_from(message)
    if magic != _BY_NUMBER:
        raise DataError(
            f"cannot read a message: unknown magic byte {magic & 0xFF:#04x}, not 0x00; it was not written in Confluent's "
            "format, so configure the converter for its format"
        )
    return int(number)


class WireFormat(Protocol):
    """Format in which a message identifies its schema.

    Attributes:
        reads_headers: whether headers may identify it, so that `join` must be called.
        writes_headers: whether headers identify it in written messages, so that `split` must be called.
    """

    @property
    def reads_headers(self) -> bool: ...

    @property
    def writes_headers(self) -> bool: ...

    def prefix(self, schema_id: Id) -> bytes:
        """Return the bytes that precede data with this schema."""

    def schema_id(self, message: bytes) -> Id:
        """Return the id of the schema of a message.

        Raises:
            DataError: the message is not in this format.
        """

    def prefix_length(self, schema_id: Id) -> int:
        """Return the length of the prefix of messages with this schema."""

    def join(self, data: bytes, headers: Sequence[RawHeader]) -> bytes:
        """Return a message with the prefix that its headers contain."""

    def split(self, message: bytes, length: int) -> tuple[bytes, Sequence[RawHeader]]:
        """Return a message without its prefix, which has this length, and the headers that contain it."""


@dataclass(frozen=True, slots=True)
class ConfluentFormat:
    """Confluent's format.

    Attributes:
        header: name of the header that may have the GUID.
    """

    header: str
    reads_headers: bool = False
    writes_headers: bool = False

    def prefix(self, schema_id: Id) -> bytes:
        """Return the bytes that precede data with this schema."""
        return prefix(schema_id)

    def schema_id(self, message: bytes) -> Id:
        """Return the id of the schema of a message."""
        if message[:1] == b"\1" and len(message) >= _GUID_END:
            return message[1:_GUID_END]
        return schema_id(message)

    def prefix_length(self, schema_id: Id) -> int:
        """Return the length of the prefix of messages with this schema."""
        return _GUID_END if isinstance(schema_id, bytes) else _NUMBER.size

    def join(self, data: bytes, headers: Sequence[RawHeader]) -> bytes:
        """Return a message with the prefix that its headers contain."""
        found = last_header(headers, self.header)
        if found is None:
            return data
        if len(found) < {b"\0": _NUMBER.size, b"\1": _GUID_END}.get(found[:1], 1):
            raise DataError(
                f"cannot read a message: header {self.header} has {len(found)} bytes, too few for the id of a schema; "
                "correct the writer of the message"
            )
        return found + data

    def split(self, message: bytes, length: int) -> tuple[bytes, Sequence[RawHeader]]:
        """Return a message without its prefix, and the header that contains it."""
        return message[length:], ((self.header, message[:length]),)


def last_header(headers: Sequence[RawHeader], name: str) -> bytes | None:
    """Return the bytes of the last header with a name; None if there is none."""
    found = None
    for each, data in headers:
        if each == name:
            found = data
    return found
