"""Detection of the encoding of JSON messages, as in Jackson."""

import json
from typing import NamedTuple

from penstock import DataError

__all__ = ["Text", "decode", "parse_error"]


def parse_error(what: str) -> DataError:
    """Return the error for a message that Jackson does not accept as JSON."""
    return DataError(f"Converting byte[] to Kafka Connect data failed due to serialization error: {what}")


class Text(NamedTuple):
    """Text of a message.

    Attributes:
        text: the text. Malformed UTF-8 is decoded to lone surrogates, malformed UTF-32 to escapes that JSON does not have:
            neither matters after the value.
        utf8: whether the message is UTF-8: Jackson is stricter there about surrogates, and about the text after true,
            false and null.
    """

    text: str
    utf8: bool


def decode(data: bytes) -> Text:
    """Return the text. A byte order mark determines the encoding, or else the positions of zero bytes."""
    codec = json.detect_encoding(data)
    utf8 = codec.startswith("utf-8")
    errors = "surrogateescape" if utf8 else "replace" if codec.startswith("utf-16") else "backslashreplace"
    return Text(data.decode(codec, errors), utf8)
