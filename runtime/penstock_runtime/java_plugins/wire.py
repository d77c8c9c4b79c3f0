"""Format of messages between this process and the plugin host: MessagePack, prefixed with its length in four bytes.

To the host: `["call", id, method, arguments]`, `["answer", id, result]` to its lookups, `["credit", epoch, polls]`,
`["commit", epoch, sequence, places]`, `["reported", epoch, number, failure]`. A sink's call `put` carries a message of
`record_writer.py`.
From the host: `["ready", protocol]`, `["result", id, value]`, `["error", id, error]`, `["beat"]`,
`["lookup", id, source partitions]`, `["failed", epoch, error]`, `["request", epoch, what, arguments]`,
`["connector", what, arguments]`, and `["records", ...]`, which `record_reader.py` reads.
`runtime/java_host` implements the other end.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from penstock.values import Float32, Instant, Int8, Int16, Int32

__all__ = ["LENGTH", "PROTOCOL", "decimal_of", "decode", "encode", "frame", "text_of"]

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
"""Types that MessagePack lacks, by their extension numbers in `Values.java`."""


def _extension(code: int, data: memoryview) -> Any:
    return _EXTENSIONS[code](data)


_NUMBERS: Final[Mapping[type[Any], tuple[int, struct.Struct]]] = {
    Int8: (1, struct.Struct(">b")),
    Int16: (2, struct.Struct(">h")),
    Int32: (3, struct.Struct(">i")),
    Float32: (4, struct.Struct(">f")),
    Instant: (6, struct.Struct(">q")),
}


def _tagged(value: Any) -> Any:
    """Return a value that MessagePack has no type for as an extension type, or as its base type."""
    tag = _NUMBERS.get(type(value))
    if tag is not None:
        code, form = tag
        return msgspec.msgpack.Ext(code, form.pack(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"Kafka Connect's data model does not support the Python type {type(value).__qualname__}")


def decimal_of(value: Decimal) -> msgspec.msgpack.Ext:
    """Return a decimal as an extension type, for a value without a schema."""
    return msgspec.msgpack.Ext(5, str(value).encode())


def text_of(value: str) -> msgspec.msgpack.Ext:
    """Return a string with lone surrogates, which UTF-8 cannot encode, as an extension type."""
    return msgspec.msgpack.Ext(7, value.encode("utf-16-be", "surrogatepass"))


_encode: Final = msgspec.msgpack.Encoder(enc_hook=_tagged).encode
_decoder: Final[msgspec.msgpack.Decoder[list[Any]]] = msgspec.msgpack.Decoder(list[Any], ext_hook=_extension)


def encode(content: Any) -> bytes:
    """Encode content as MessagePack.

    Raises:
        TypeError: a type is not supported by Kafka Connect's data model.
        UnicodeEncodeError: a string contains a lone surrogate (see `text_of`).
    """
    return _encode(content)


def frame(message: list[Any]) -> bytes:
    """Return a message prefixed with its length."""
    content = _encode(message)
    return LENGTH.pack(len(content)) + content


def decode(content: bytes) -> list[Any]:
    """Decode a message."""
    return _decoder.decode(content)
