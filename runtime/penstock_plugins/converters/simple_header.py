"""SimpleHeaderConverter: header values as the texts that people write."""

import re
from typing import Any, Final

from penstock import Header, HeaderConverter, Schema
from penstock.schema import STRING
from penstock_plugins.connect.literals.reader import parse_literal
from penstock_plugins.connect.literals.writer import write_literal
from penstock_plugins.connect.text import utf8_text

__all__ = ["SimpleHeaderConverter"]

_PLAIN_STRING: Final = re.compile(rb'(?!(?:null|true|false)[\x00-\x20]*\Z)[A-Za-z][^:,{}\[\]"\x80-\xff]*\Z')
"""What is a string at the first look: it begins like no number, and no list, map or quotes are in it."""

_new_tuple: Final = tuple.__new__  # half the time of a NamedTuple's own


class SimpleHeaderConverter(HeaderConverter):
    """Writes values as literals and guesses the type of what it reads, as Connect's `Values` does.

    Reading never fails: what is no literal is a string.
    """

    java_names = ("org.apache.kafka.connect.storage.SimpleHeaderConverter",)
    reads_anything = True

    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """The literal as UTF-8; None for null."""
        return None if value is None else write_literal(schema, value).encode("utf-8", "replace")

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        """The header with the type that its text suggests."""
        if data is None:
            return Header(name, None, None)
        if _PLAIN_STRING.match(data) is not None:
            return _new_tuple(Header, (name, data.decode(), STRING))
        text = utf8_text(data)
        schema, value = parse_literal(text) if text else (STRING, text)
        return Header(name, value, schema)
