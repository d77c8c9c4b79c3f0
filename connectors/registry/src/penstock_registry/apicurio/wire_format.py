"""Apicurio's wire format: the id of the schema is before the data, in four or eight bytes, or in a header."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from penstock import DataError
from penstock_registry.wire import Id, RawHeader, last_header

__all__ = ["ApicurioFormat", "other_kind"]

_LONG: Final = struct.Struct(">q")
_OTHER: Final = 2
"""First byte of the prefix for an id of the other kind, taken from a header. Used only within this process."""
_OTHER_END: Final = 9
_BINARY: Final = b"BINARY"


def other_kind(schema_id: Id) -> int | None:
    """Return an id that is not of the configured kind, as an integer; None if it is of that kind."""
    return int(_LONG.unpack(schema_id)[0]) if isinstance(schema_id, bytes) else None


@dataclass(frozen=True, slots=True)
class ApicurioFormat:
    """Apicurio's format.

    Ids of the configured kind are integers. Ids of the other kind, which a header may have, are eight bytes.

    Attributes:
        side: `key` or `value`.
        by_content: whether ids are content ids, not global ids.
        size: size of an id before the data, in bytes.
        headers: whether ids are in headers.
    """

    side: str
    by_content: bool
    size: int
    headers: bool

    @property
    def reads_headers(self) -> bool:
        """Return whether headers may identify the schema of a message."""
        return self.headers

    @property
    def writes_headers(self) -> bool:
        """Return whether headers identify the schema of a written message."""
        return self.headers

    def prefix(self, schema_id: Id) -> bytes:
        """Return the bytes that precede data with this schema."""
        if isinstance(schema_id, bytes):
            return bytes((_OTHER,)) + schema_id
        return b"\0" + schema_id.to_bytes(self.size, "big")

    def schema_id(self, message: bytes) -> Id:
        """Return the id of the schema of a message."""
        magic = message[:1]
        if magic == b"\0" and len(message) > self.size:
            return int.from_bytes(message[1 : self.size + 1], "big")
        if magic == bytes((_OTHER,)) and len(message) >= _OTHER_END:
            return message[1:_OTHER_END]
        if magic not in (b"\0", b""):
            raise DataError(
                f"cannot read a message: unknown magic byte {message[0]:#04x}, not 0x00, and no header has the id of its "
                "schema; it was not written in Apicurio's format, so configure the converter for its format"
            )
        raise DataError(
            f"cannot read a message of {len(message)} bytes: the magic byte and the id of a schema take {self.size + 1} "
            "bytes; the message was not written with a schema registry, so configure the converter for its format"
        )

    def prefix_length(self, schema_id: Id) -> int:
        """Return the length of the prefix of messages with this schema."""
        return _OTHER_END if isinstance(schema_id, bytes) else self.size + 1

    def join(self, data: bytes, headers: Sequence[RawHeader]) -> bytes:
        """Return the data prefixed with the schema id from the headers, or unchanged if the headers have none."""
        found = last_header(headers, self._header("contentId"))
        by_content = found is not None
        if found is None:
            found = last_header(headers, self._header("globalId"))
        if found is None:
            return data
        if len(found) != _LONG.size:
            raise DataError(
                f"cannot read a message: header {self._header('contentId' if by_content else 'globalId')} has "
                f"{len(found)} bytes, not {_LONG.size}; it was not written by a serializer of Apicurio, so correct its "
                "writer"
            )
        encoding = last_header(headers, self._header("encoding"))
        if encoding not in (None, _BINARY):
            raise DataError(
                f"cannot read a message: header {self._header('encoding')} shows that its data is not binary Avro; remove "
                "apicurio.registry.avro.encoding from the configuration of its writer"
            )
        number: int = _LONG.unpack(found)[0]
        known = by_content == self.by_content and 0 <= number < 1 << 8 * self.size
        return self.prefix(number if known else found) + data

    def split(self, message: bytes, length: int) -> tuple[bytes, Sequence[RawHeader]]:
        """Return a message without its prefix, and the headers that have the id and the encoding."""
        number = int.from_bytes(message[1:length], "big")
        name = self._header("contentId" if self.by_content else "globalId")
        return message[length:], ((name, _LONG.pack(number)), (self._header("encoding"), _BINARY))

    def _header(self, what: str) -> str:
        return f"apicurio.{self.side}.{what}"
