"""Confluent's wire format: a zero byte, the schema's id in four bytes, big-endian, and the data."""

import struct
from typing import Final

from penstock import DataError

__all__ = ["PREFIX_LENGTH", "prefix", "schema_id"]

PREFIX_LENGTH: Final = 5
_PREFIX: Final = struct.Struct(">bi")


def prefix(number: int) -> bytes:
    """Return the bytes that precede data with this schema."""
    return _PREFIX.pack(0, number)


def schema_id(message: bytes) -> int:
    """Return the id of the schema of a message.

    Raises:
        DataError: the message is not in this format.
    """
    if len(message) < PREFIX_LENGTH:
        raise DataError(
            f"cannot read a message of {len(message)} bytes: the magic byte and the id of a schema take {PREFIX_LENGTH}; "
            "whoever wrote it did not use a schema registry, so configure the converter that fits"
        )
    magic, number = _PREFIX.unpack_from(message)
    if magic != 0:
        raise DataError(
            f"cannot read a message: unknown magic byte {magic & 0xFF:#04x}, not 0x00; whoever wrote it did not use "
            "a schema registry in Confluent's format, so configure the converter that fits"
        )
    return int(number)
