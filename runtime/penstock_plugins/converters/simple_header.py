"""SimpleHeaderConverter: header values as literals."""

import re
from typing import Any, Final

from penstock import Header, HeaderConverter, Schema
from penstock.schema import STRING
from penstock_plugins.connect.literals.reader import parse_literal
from penstock_plugins.connect.literals.writer import write_literal
from penstock_plugins.connect.text import utf8_text

__all__ = ["SimpleHeaderConverter"]

_PLAIN_STRING: Final = re.compile(rb'(?!(?:null|true|false)[\x00-\x20]*\Z)[A-Za-z][^:,{}\[\]"\x80-\xff]*\Z')
"""Literals that are strings without parsing: they do not begin like a number, and contain no list, map or quote."""

_new_tuple: Final = tuple.__new__  # takes half the time of `Header(...)`


class SimpleHeaderConverter(HeaderConverter):
    """Writes values as literals, and derives the type of a value from its literal, as Connect's `Values` does.

    Reading never fails: text that is not a literal becomes a string.
    """

    java_names = ("org.apache.kafka.connect.storage.SimpleHeaderConverter",)
    reads_anything = True

    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the literal as UTF-8; None for null."""
        return None if value is None else write_literal(schema, value).encode("utf-8", "replace")

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        """Return the header; its text determines the type of its value."""
        if data is None:
            return Header(name, None, None)
        if _PLAIN_STRING.match(data) is not None:
            return _new_tuple(Header, (name, data.decode(), STRING))
        text = utf8_text(data)
        schema, value = parse_literal(text) if text else (STRING, text)
        return Header(name, value, schema)
