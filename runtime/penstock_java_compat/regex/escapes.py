r"""Escapes in Java patterns, of characters and of sets."""

import unicodedata
from typing import Final

from penstock_java_compat.regex.classes import HORIZONTAL, VERTICAL, property_set, shorthand
from penstock_java_compat.regex.scanner import Scanner

__all__ = ["Escapes"]

_CONTROLS: Final = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Escapes(Scanner):
    """Scanner of escapes after a backslash."""

    def _class_escape(self) -> str | None:
        r"""Return the text between the brackets of a set for `\d`, `\p{..}` and similar escapes; None for a character."""
        char = self._text[self._at]
        if char in "dDsSwW":
            self._at += 1
            return shorthand(char, self._flags.classes)
        if char in "hHvV":
            self._at += 1
            set_ = HORIZONTAL if char in "hH" else VERTICAL
            return set_ if char.islower() else f"[^{set_}]"
        if char in "pP":
            self._at += 1
            name = self._take()
            if name == "{":
                end = self._text.find("}", self._at)
                if end < 0:
                    raise self.failed("Unclosed character family")
                name = self._text[self._at : end]
                self._at = end + 1
                if not name:
                    raise self.failed("Empty character family")
            elif not name:
                raise self.failed("Illegal/unsupported escape sequence")
            found = property_set(name, self._flags.classes)
            if found is None:
                raise self.failed(f"Unknown character property name {{{name}}}")
            return f"[{'^' if char == 'P' else ''}{found}]"
        return None

    def _char_escape(self) -> str:
        char = self._take()
        match char:
            case "0":
                return self._octal()
            case "x":
                return self._hex()
            case "u":
                return self._unicode()
            case "N":
                return self._character_name()
            case "c":
                if not self.more:
                    raise self.failed("Illegal control escape sequence")
                return chr(ord(self._take()) ^ 64)
            case _:
                pass
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char.isascii() and char.isalnum():
            self._at -= 1
            raise self.failed("Illegal/unsupported escape sequence")
        return char

    def _octal(self) -> str:
        start = self._at
        while self._at - start < 3 and self._text[self._at : self._at + 1] in tuple("01234567"):
            if self._at - start == 2 and self._text[start] > "3":
                break
            self._at += 1
        if self._at == start:
            raise self.failed("Illegal octal escape sequence")
        return chr(int(self._text[start : self._at], 8))

    def _hex(self) -> str:
        if self._text[self._at : self._at + 1] == "{":
            end = self._text.find("}", self._at)
            digits = self._text[self._at + 1 : end]
            if end < 0:
                raise self.failed("Unclosed hexadecimal escape sequence")
            self._at = end + 1
        else:
            digits = self._text[self._at : self._at + 2]
            self._at += 2
            if len(digits) < 2:
                raise self.failed("Illegal hexadecimal escape sequence")
        return self._code(digits, "Illegal hexadecimal escape sequence")

    def _code(self, digits: str, message: str) -> str:
        if not digits or any(d not in "0123456789abcdefABCDEF" for d in digits) or int(digits, 16) > 0x10FFFF:
            raise self.failed(message)
        return chr(int(digits, 16))

    def _unicode(self) -> str:
        def unit() -> str:
            digits = self._text[self._at : self._at + 4]
            self._at += 4
            if len(digits) < 4:
                raise self.failed("Illegal Unicode escape sequence")
            return self._code(digits, "Illegal Unicode escape sequence")

        first = unit()
        if "\ud800" <= first <= "\udbff" and self._text.startswith("\\u", self._at):
            back = self._at
            self._at += 2
            second = unit()
            if "\udc00" <= second <= "\udfff":
                return (first + second).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            self._at = back
        return first

    def _character_name(self) -> str:
        end = self._text.find("}", self._at)
        if self._take() != "{" or end < 0:
            raise self.failed("Illegal character name escape sequence")
        name = self._text[self._at : end]
        self._at = end + 1
        try:
            return unicodedata.lookup(name)
        except KeyError:
            raise self.failed(f"Unknown character name [{name}]") from None
