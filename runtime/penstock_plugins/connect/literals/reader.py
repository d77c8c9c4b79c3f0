"""Parser of literals: `Values.parseString`.

SimpleHeaderConverter and InsertHeader derive the type of a header from its text with it.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from penstock import DataError, Schema, Type
from penstock.schema import BOOLEAN, STRING
from penstock_plugins.connect.literals.types import (
    CommonSchema,
    NotALiteralError,
    SchemaAndValue,
    align,
    parse_instant,
    parse_number,
)

__all__ = ["parse_literal"]

_TOKEN: Final = re.compile(r'[:,{}\[\]"]')
_WORDS: Final = frozenset(("null", "true", "false"))
_SIGNS: Final = ("+", "-")
_DEEPEST: Final = 200
"""Maximum nesting depth of lists and maps, so that Python's stack suffices."""
_BLANK: Final = "".join(map(chr, range(33)))  # the characters that Java's trim removes


def parse_literal(text: str) -> SchemaAndValue:
    """Return the schema and value of a literal. Text that is not a literal is a string."""
    if not text:
        return STRING, text
    if _TOKEN.search(text) is None and (trimmed_text := text.strip(_BLANK)) not in _WORDS:
        return _parse_token(trimmed_text) or (STRING, text)
    try:
        result = _Parser(text).parse(inside=False)
    except _TooDeep:
        return STRING, text
    return (None, None) if result is None else result


def _parse_token(token: str) -> SchemaAndValue | None:
    """Return the instant or number of a token; None if it is neither."""
    digit = token[:1].isdigit()
    if digit and (moment := parse_instant(token)) is not None:
        return moment
    return parse_number(token) if digit or token[:1] in _SIGNS else None


class _TooDeep(Exception):
    pass


class _Parser:
    """Parser like `Values.Parser` and `Values.ValueParser`. Each unescaped `: , { } [ ] "` ends a token."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._next: str | None = None
        self._depth = 0

    def parse(self, *, inside: bool) -> SchemaAndValue | None:
        """Parse one value; None for null."""
        if not self._has_next():
            return None
        if inside and self._consume('"'):
            return self._quoted()
        if self._word("null", inside=inside):
            return None
        if self._word("true", inside=inside):
            return BOOLEAN, True
        if self._word("false", inside=inside):
            return BOOLEAN, False
        start = self._mark()
        try:
            if self._consume("["):
                return self._list()
            if self._consume("{"):
                return self._map()
        except (NotALiteralError, DataError):
            self._rewind(start)
        token = self._take()
        if not token.strip():
            return STRING, token
        return self._plain(token.strip(_BLANK), inside=inside)

    # Tokens

    def _has_next(self) -> bool:
        return self._next is not None or self._at < len(self._text)

    def _take(self) -> str:
        token = self._next if self._next is not None else self._token()
        self._next = None
        return token

    def _take_four(self) -> str | None:
        start = self._mark()
        for _ in range(4):
            if not self._has_next():
                self._rewind(start)
                return None
            self._take()
        return self._text[start : self._at]

    def _mark(self) -> int:
        return self._at - len(self._next or "")

    def _rewind(self, at: int) -> None:
        self._at = at
        self._next = None

    def _consume(self, expected: str) -> bool:
        if self._next is None:
            if not self._has_next():
                return False
            self._next = self._token()
        while not self._next.strip() and self._at < len(self._text):
            self._next = self._token()
        if self._next.strip(_BLANK) != expected:
            return False
        self._next = None
        return True

    def _word(self, expected: str, *, inside: bool) -> bool:
        """Return whether the word comes next, and consume it; outside lists and maps, it must be the whole text."""
        start = self._mark()
        if self._consume(expected) and (inside or not self._has_next()):
            return True
        self._rewind(start)
        return False

    def _token(self) -> str:
        start = at = self._at
        escaped = False
        while at < len(self._text):
            char = self._text[at]
            if char == "\\":
                escaped = not escaped
            elif _TOKEN.match(char) and not escaped:
                self._at = at if start < at else at + 1
                return self._text[start : self._at]
            else:
                escaped = False
            at += 1
        self._at = at
        return self._text[start:]

    # Values

    def _plain(self, token: str, *, inside: bool) -> SchemaAndValue:
        digit = token[:1].isdigit()
        if digit:
            mark = self._mark()
            next_tokens = self._take_four()
            if next_tokens is not None and (moment := parse_instant(token + next_tokens)) is not None:
                return moment
            self._rewind(mark)
        if (result := _parse_token(token)) is not None:
            return result
        if inside:
            raise NotALiteralError
        return STRING, self._text

    def _quoted(self) -> SchemaAndValue:
        pieces: list[str] = []
        while self._has_next() and not self._consume('"'):
            pieces.append(self._take())
        content = "".join(pieces)
        return parse_instant(content) or (STRING, content)

    def _member(self) -> SchemaAndValue | None:
        """Parse a member of a list or map."""
        if self._depth == _DEEPEST:
            raise _TooDeep
        self._depth += 1
        try:
            return self.parse(inside=True)
        finally:
            self._depth -= 1

    def _list(self) -> SchemaAndValue:
        items: list[SchemaAndValue | None] = []
        common = CommonSchema()
        while self._has_next():
            if self._consume("]"):
                schema = common.schema
                values = [None if i is None else i[1] for i in items]
                if schema is not None and common.compatible:
                    values = [align(schema, i) for i in items]
                return Schema(Type.ARRAY, items=schema if common.compatible else None), values
            if self._consume(","):
                raise NotALiteralError
            item = self._member()
            common.add(item)
            items.append(item)
            at = self._mark()
            if self._consume("]"):
                self._rewind(at)
            elif not self._consume(","):
                raise NotALiteralError
        raise NotALiteralError

    def _map(self) -> SchemaAndValue:
        entries: list[tuple[SchemaAndValue, SchemaAndValue | None]] = []
        keys, values = CommonSchema(), CommonSchema()
        while self._has_next():
            if self._consume("}"):
                key_schema = keys.schema if keys.compatible else None
                value_schema = values.schema if values.compatible and key_schema is not None else None
                schema = Schema(Type.MAP, keys=key_schema, values=value_schema)
                return schema, {
                    align(key_schema, k): align(value_schema, v) for k, v in dict(_by_typed_key(entries)).values()
                }
            if self._consume(","):
                raise NotALiteralError
            key = self._member()
            if key is None or key[1] is None or not self._consume(":"):
                raise NotALiteralError
            value = self._member()
            entries.append((key, value))
            self._consume(",")
            keys.add(key)
            values.add(value)
        raise NotALiteralError


def _by_typed_key(
    entries: list[tuple[SchemaAndValue, SchemaAndValue | None]],
) -> Iterable[tuple[Any, tuple[SchemaAndValue, SchemaAndValue | None]]]:
    """Yield entries by schema and value of their key, because in Java, numbers of different widths are never equal."""
    for key, value in entries:
        if isinstance(key[1], (list, dict)):
            raise NotALiteralError  # a list or map cannot be a key in Python
        yield (key[0], key[1]), (key, value)
