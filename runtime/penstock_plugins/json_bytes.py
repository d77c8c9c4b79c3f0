"""The text of a JSON message: Jackson finds the encoding itself, and its UTF-8 is not strict."""

import re
from typing import Final

from penstock import DataError

__all__ = ["decoded", "failed"]

_SEQUENCE: Final = re.compile(
    rb"[\x00-\x7f]+|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3}"
)


def failed(what: str) -> DataError:
    """The error of a message that is not JSON as Jackson takes it."""
    return DataError(f"Converting byte[] to Kafka Connect data failed due to serialization error: {what}")


def decoded(data: bytes) -> str:
    """The text by Jackson's detection: a byte order mark, else where the zero bytes stand."""
    quad = data[:4]
    if len(quad) == 4:
        if quad == b"\x00\x00\xfe\xff":
            return data[4:].decode("utf-32-be", "replace")
        if quad == b"\xff\xfe\x00\x00":
            return data[4:].decode("utf-32-le", "replace")
        if quad in (b"\x00\x00\xff\xfe", b"\xfe\xff\x00\x00"):
            raise failed("unusual UTF-32 byte order")
        if quad[:2] == b"\xfe\xff":
            return data[2:].decode("utf-16-be", "replace")
        if quad[:2] == b"\xff\xfe":
            return data[2:].decode("utf-16-le", "replace")
        if quad[:3] == b"\xef\xbb\xbf":
            return _utf8(data[3:])
        if quad[:3] == b"\0\0\0":
            return data.decode("utf-32-be", "replace")
        if quad[1:] == b"\0\0\0":
            return data.decode("utf-32-le", "replace")
        if quad[0:1] + quad[2:] == b"\0\0\0" or quad[:2] + quad[3:] == b"\0\0\0":
            raise failed("unusual UTF-32 byte order")
    if len(quad) >= 2:
        if quad[0] == 0:
            return data.decode("utf-16-be", "replace")
        if quad[1] == 0:
            return data.decode("utf-16-le", "replace")
    return _utf8(data)


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _loose_utf8(data)


def _loose_utf8(data: bytes) -> str:
    """UTF-8 as Jackson decodes it, overlong forms and surrogates included; what is broken becomes a control character."""
    pieces: list[str] = []
    at = 0
    while at < len(data):
        found = _SEQUENCE.match(data, at)
        if found is None:
            pieces.append("_\0")  # refused wherever it stands before the value's end, also next to a word
            at += 1
            continue
        unit = found[0]
        at = found.end()
        if unit[0] < 0x80:
            pieces.append(unit.decode("ascii"))
            continue
        code = unit[0] & (0x1F, 0x0F, 0x07)[len(unit) - 2]
        for byte in unit[1:]:
            code = code << 6 | byte & 0x3F
        if len(unit) == 4:
            code -= 0x10000
            pieces.append(chr(0xD800 | code >> 10 & 0xFFFF) + chr(0xDC00 | code & 0x3FF))
        else:
            pieces.append(chr(code))
    return "".join(pieces)
