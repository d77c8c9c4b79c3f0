"""Decodes JSON messages as Jackson does: it detects the encoding, and its UTF-8 is not strict."""

import re
from typing import Final, NamedTuple

from penstock import DataError

__all__ = ["Text", "decode", "decode_lenient", "parse_error"]

_SEQUENCE: Final = re.compile(
    rb"[\x00-\x7f]+|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3}"
)


def parse_error(what: str) -> DataError:
    """The error for a message that Jackson does not accept as JSON."""
    return DataError(f"Converting byte[] to Kafka Connect data failed due to serialization error: {what}")


class Text(NamedTuple):
    """The text of a message.

    Attributes:
        text: the text; if `loose`, each character is one byte.
        utf8: the message is UTF-8: Jackson is stricter there about surrogates, and about what follows true, false and null.
        loose: the message is no valid UTF-8: `decode_lenient` decodes its strings, and all else must be ASCII.
    """

    text: str
    utf8: bool = False
    loose: bool = False


def decode(data: bytes) -> Text:
    """The text. As in Jackson, a byte order mark determines the encoding, or else the places of zero bytes.

    Raises:
        DataError: Jackson refuses the encoding.
    """
    quad = data[:4]
    if len(quad) == 4:
        if quad == b"\x00\x00\xfe\xff":
            return _utf32(data[4:], "utf-32-be")
        if quad == b"\xff\xfe\x00\x00":
            return _utf32(data[4:], "utf-32-le")
        if quad in (b"\x00\x00\xff\xfe", b"\xfe\xff\x00\x00"):
            raise parse_error("unusual UTF-32 byte order")
        if quad[:2] == b"\xfe\xff":
            return Text(data[2:].decode("utf-16-be", "replace"))
        if quad[:2] == b"\xff\xfe":
            return Text(data[2:].decode("utf-16-le", "replace"))
        if quad[:3] == b"\xef\xbb\xbf":
            return _utf8(data[3:])
        if quad[:3] == b"\0\0\0":
            return _utf32(data, "utf-32-be")
        if quad[1:] == b"\0\0\0":
            return _utf32(data, "utf-32-le")
        if quad[0:1] + quad[2:] == b"\0\0\0" or quad[:2] + quad[3:] == b"\0\0\0":
            raise parse_error("unusual UTF-32 byte order")
    if len(quad) >= 2:
        if quad[0] == 0:
            return Text(data.decode("utf-16-be", "replace"))
        if quad[1] == 0:
            return Text(data.decode("utf-16-le", "replace"))
    return _utf8(data)


def _utf32(data: bytes, codec: str) -> Text:
    try:
        text = data[: len(data) & ~3].decode(codec, "surrogatepass")
    except UnicodeDecodeError:
        raise parse_error("a character beyond Unicode") from None
    # Left-over bytes are an error only if Jackson reads that far. A letter causes an error at the same place.
    return Text(text + "a" if len(data) % 4 else text)


def _utf8(data: bytes) -> Text:
    try:
        return Text(data.decode(), utf8=True)
    except UnicodeDecodeError:
        return Text(data.decode("latin-1"), utf8=True, loose=True)


def decode_lenient(piece: str) -> str:
    """Decodes the bytes of a string, one per character, as Jackson does: overlong forms are valid, surrogates are not.

    Raises:
        DataError: the bytes are malformed.
    """
    data = piece.encode("latin-1")
    pieces: list[str] = []
    start = 0
    while start < len(data):
        match = _SEQUENCE.match(data, start)
        if match is None:
            raise parse_error("broken UTF-8")
        unit = match[0]
        start = match.end()
        if unit[0] < 0x80:
            pieces.append(unit.decode("ascii"))
            continue
        code = unit[0] & (0x1F, 0x0F, 0x07)[len(unit) - 2]
        for byte in unit[1:]:
            code = code << 6 | byte & 0x3F
        if len(unit) == 4:
            code -= 0x10000
            pieces.append(chr(0xD800 | code >> 10 & 0xFFFF) + chr(0xDC00 | code & 0x3FF))
        elif 0xD800 <= code < 0xE000:
            raise parse_error("a surrogate in UTF-8")
        else:
            pieces.append(chr(code))
    return "".join(pieces)
