"""The form of messages between this process and the plugin host: MessagePack in frames of a length of four bytes.

To the host: `["call", id, method, arguments]`, `["answer", id, result]` to its questions, `["credit", epoch, polls]`,
`["commit", epoch, sequence]`.
From it: `["ready", protocol]`, `["result", id, value]`, `["error", id, error]`, `["beat"]`,
`["lookup", id, source partitions]`, `["failed", epoch, error]`, and `["records", ...]`, which `records.py` reads.
`runtime/java_host` is the other end.
"""

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import msgspec

from penstock.values import Float32, Instant, Int8, Int16, Int32

__all__ = ["LENGTH", "PROTOCOL", "decode", "frame"]

PROTOCOL: Final = 1
LENGTH: Final = struct.Struct(">I")


def _number(form: str, kind: type[Any]) -> Callable[[memoryview], Any]:
    unpack = struct.Struct(form).unpack
    return lambda data: kind(unpack(data)[0])


_EXTENSIONS: Final[dict[int, Callable[[memoryview], Any]]] = {
    1: _number(">b", Int8),
    2: _number(">h", Int16),
    3: _number(">i", Int32),
    4: _number(">f", Float32),
    5: lambda data: Decimal(str(data, "ascii")),
    6: _number(">q", Instant),
    7: lambda data: str(data, "utf-16-be", "surrogatepass"),
}
"""What MessagePack has no types for, by the numbers of `Values.java`."""


def _extension(code: int, data: memoryview) -> Any:
    return _EXTENSIONS[code](data)


_encode: Final = msgspec.msgpack.Encoder().encode
_decoder: Final[msgspec.msgpack.Decoder[list[Any]]] = msgspec.msgpack.Decoder(list[Any], ext_hook=_extension)


def frame(message: list[Any]) -> bytes:
    """Return a message with its length before it."""
    content = _encode(message)
    return LENGTH.pack(len(content)) + content


def decode(content: bytes) -> list[Any]:
    """Read a message."""
    return _decoder.decode(content)
