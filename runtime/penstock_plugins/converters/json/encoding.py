"""Detects the encoding of JSON messages, as Jackson does."""

import json
from typing import NamedTuple

from penstock import DataError

__all__ = ["Text", "decode", "parse_error"]


def parse_error(what: str) -> DataError:
    """The error for a message that Jackson does not accept as JSON."""
    return DataError(f"Converting byte[] to Kafka Connect data failed due to serialization error: {what}")


class Text(NamedTuple):
    """The text of a message.

    Attributes:
        text: the text. Broken UTF-8 is lone surrogates in it, broken UTF-32 escapes that JSON does not have: neither counts
            behind the value.
        utf8: the message is UTF-8: Jackson is stricter there about surrogates, and about what follows true, false and null.
    """

    text: str
    utf8: bool


def decode(data: bytes) -> Text:
    """The text. A byte order mark determines the encoding, or else the places of zero bytes."""
    codec = json.detect_encoding(data)
    utf8 = codec.startswith("utf-8")
    errors = "surrogateescape" if utf8 else "replace" if codec.startswith("utf-16") else "backslashreplace"
    return Text(data.decode(codec, errors), utf8)
