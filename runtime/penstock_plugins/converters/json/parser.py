"""Parser of JSON that works like Jackson's `readTree` with Connect's settings: exact, equally lenient, and slow.

Nodes are Python objects: None, bool, str, int, `Decimal` for numbers with a point or exponent, list, dict.
"""

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from penstock_plugins.converters.json.encoding import Text, decode, parse_error

__all__ = ["MISSING", "parse"]

MISSING: Final = object()
"""Node of a message without a value: no bytes, or only blanks."""

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?(?:[eE][+-]?([0-9]+))?")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')
_WORDS: Final = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX: Final = re.compile(r"[0-9a-fA-F]{4}")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_IDENTIFIER: Final = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Nd", "Mn", "Mc", "Pc", "Sc", "Cf"))
_MAX_DEPTH: Final = 1000
_MAX_DIGITS: Final = 1000
_MAX_NAME: Final = 50_000


def parse(data: bytes) -> Any:
    """Return the first value of a message; everything after it is ignored.

    Raises:
        DataError: Jackson does not accept the message as JSON.
    """
    return _Parser(decode(data)).document()


class _Parser:
    def __init__(self, source: Text) -> None:
        self._text, self._utf8 = source
        self._at = 0

    def document(self) -> Any:
        if self._peek() == "":
            return MISSING
        # The open containers, each with the field name of its next value.
        open_: list[tuple[Any, str]] = []
        while True:
            char = self._peek()
            if char in ("[", "{"):
                if len(open_) >= _MAX_DEPTH:
                    raise parse_error(f"nesting depth exceeds the maximum of {_MAX_DEPTH}")
                self._at += 1
                container: Any = [] if char == "[" else {}
                if self._peek() == ("]" if char == "[" else "}"):
                    self._at += 1
                    value = container
                else:
                    open_.append((container, "" if char == "[" else self._name()))
                    continue
            else:
                value = self._scalar(char, root=not open_)
            while open_:
                container, name = open_[-1]
                if isinstance(container, list):
                    container.append(value)
                    end = "]"
                else:
                    container[name] = value
                    end = "}"
                char = self._peek()
                if char == ",":
                    self._at += 1
                    if end == "}":
                        open_[-1] = (container, self._name())
                    break
                if char != end:
                    raise parse_error(f"expected a comma or '{end}' at character {self._at}")
                self._at += 1
                open_.pop()
                value = container
            else:
                return value

    def _peek(self) -> str:
        match = _BLANKS.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return self._text[self._at : self._at + 1]

    def _name(self) -> str:
        if self._peek() != '"':
            raise parse_error(f"expected a field name in double quotes at character {self._at}")
        name = self._string()
        if self._utf8 and _SURROGATES.search(name):
            raise parse_error(f"lone surrogate in the field name before character {self._at}")
        if (len(name.encode("utf-8", "surrogatepass")) if self._utf8 else len(name)) > _MAX_NAME:
            raise parse_error(f"field name longer than {_MAX_NAME}")
        if self._peek() != ":":
            raise parse_error(f"expected a colon at character {self._at}")
        self._at += 1
        return name

    def _scalar(self, char: str, *, root: bool) -> Any:
        if char == '"':
            return self._string()
        if char in _WORDS:
            word, value = _WORDS[char]
            if self._text.startswith(word, self._at):
                self._at += len(word)
                after = self._text[self._at : self._at + 1]
                if after < "0" or not (_identifier_part(after) or (self._utf8 and after > "\x7f")):
                    return value
            raise parse_error(f"unrecognized token at character {self._at}")
        return self._number(root=root)

    def _number(self, *, root: bool) -> int | Decimal:
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            raise parse_error(f"expected a value at character {self._at}")
        self._at = match.end()
        after = self._text[self._at : self._at + 1]
        if (after and after in ".eE") or (root and after and after not in " \t\r\n"):
            raise parse_error(f"unexpected character in a number at character {self._at}")
        whole, fraction, exponent = match.groups()
        if len(whole) + len(fraction or "") + len(exponent or "") > _MAX_DIGITS:
            raise parse_error(f"number with more than {_MAX_DIGITS} digits")
        if fraction is None and exponent is None:
            return int(match[0])
        try:
            number = Decimal(match[0])
        except InvalidOperation:
            raise parse_error("exponent out of range") from None
        if int(exponent or 0) >= 2**31 or not -(2**31) < -int(number.as_tuple().exponent) < 2**31:
            raise parse_error("exponent out of range")
        return number

    def _string(self) -> str:
        text = self._text
        at = self._at + 1
        pieces: list[str] = []
        while True:
            match = _PLAIN.match(text, at)
            assert match is not None
            if self._utf8 and _SURROGATES.search(match[0]):
                raise parse_error("invalid UTF-8")
            pieces.append(match[0])
            at = match.end()
            char = text[at : at + 1]
            if char == '"':
                self._at = at + 1
                return _join_surrogates("".join(pieces))
            if char != "\\":
                raise parse_error(f"{'control character' if char else 'end of text'} inside a string at character {at}")
            code = text[at + 1 : at + 2]
            if code == "u":
                digits = _HEX.match(text, at + 2)
                if digits is None:
                    raise parse_error(f"expected four hex digits at character {at}")
                pieces.append(chr(int(digits[0], 16)))
                at += 6
            elif code in _ESCAPES:
                pieces.append(_ESCAPES[code])
                at += 2
            else:
                raise parse_error(f"unrecognized escape at character {at}")


def _identifier_part(char: str) -> bool:
    """Return the result of `Character.isJavaIdentifierPart`."""
    return unicodedata.category(char) in _IDENTIFIER or "\x7f" <= char <= "\x9f"


def _join_surrogates(text: str) -> str:
    """Replace pairs of surrogates with the character that they encode; lone surrogates stay."""
    if _SURROGATES.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
