"""Read a Java pattern character by character, with the flags that apply at the current position."""

from dataclasses import dataclass
from typing import Final

from penstock_java_compat.regex.classes import PatternError, PropertyFlags

__all__ = ["Flags", "Scanner", "unquoted"]

_LETTERS: Final = "idmsucxU"


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags of `(?idmsucxU)`."""

    i: bool = False
    d: bool = False
    m: bool = False
    s: bool = False
    u: bool = False
    c: bool = False
    x: bool = False
    U: bool = False

    @property
    def classes(self) -> PropertyFlags:
        """Flags that change the meaning of a set."""
        return PropertyFlags(ignore_case=self.i, unicode_case=self.u or self.U, unicode_classes=self.U)


def unquoted(text: str) -> str:
    r"""Return the pattern with `\Q..\E` written as escapes, which is Java's first step, too."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\" or at + 1 >= len(text):
            pieces.append(text[at])
            at += 1
        elif text[at + 1] != "Q":
            pieces.append(text[at : at + 2])
            at += 2
        else:
            end = text.find("\\E", at + 2)
            inside = text[at + 2 :] if end < 0 else text[at + 2 : end]
            for i, c in enumerate(inside):
                if c.isascii() and c.isdigit():
                    pieces.append(f"\\x3{c}" if i == 0 else c)
                else:
                    pieces.append(c if not c.isascii() or c.isalpha() else f"\\{c}")
            at = len(text) if end < 0 else end + 2
    return "".join(pieces)


class Scanner:
    """Pattern, and the current position in it."""

    def __init__(self, text: str, original: str) -> None:
        self._text = text
        self._original = original
        self._at = 0
        self._flags = Flags()

    @property
    def more(self) -> bool:
        """Return whether there are more characters."""
        return self._at < len(self._text)

    def failed(self, what: str) -> PatternError:
        """Return the error for a problem at the current position."""
        return PatternError(f"Invalid regex: {what} near index {self._at}\n{self._original}")

    def _peek(self) -> str:
        if self._flags.x:
            self._skip_comments()
        return self._text[self._at : self._at + 1]

    def _skip_comments(self) -> None:
        while self.more and (self._text[self._at] in " \t\n\x0b\f\r" or self._text[self._at] == "#"):
            if self._text[self._at] == "#":
                while self._at < len(self._text) and self._text[self._at] not in "\n\r\x85\u2028\u2029":
                    self._at += 1
            else:
                self._at += 1

    def _take(self) -> str:
        char = self._text[self._at : self._at + 1]
        self._at += 1
        return char

    def _digits(self) -> str:
        start = self._at
        while self.more and self._text[self._at] in "0123456789":
            self._at += 1
        return self._text[start : self._at]

    def _name(self, end: str) -> str:
        start = self._at
        if not (self._text[start : start + 1].isascii() and self._text[start : start + 1].isalpha()):
            raise self.failed("capturing group name does not start with a Latin letter")
        while self.more and self._text[self._at].isascii() and self._text[self._at].isalnum():
            self._at += 1
        name = self._text[start : self._at]
        if self._take() != end:
            raise self.failed(f"named capturing group is missing trailing '{end}'")
        return name

    def _inline_flags(self) -> None:
        on = True
        while (char := self._text[self._at : self._at + 1]) not in (":", ")"):
            if char == "-" and on:
                on = False
            elif char and char in _LETTERS:
                if char == "c":
                    raise self.failed("Canonical equivalence (flag c) is not supported here")
                changed = {f: getattr(self._flags, f) for f in _LETTERS} | {char: on}
                if char == "U" and on:
                    changed["u"] = True
                self._flags = Flags(**changed)
            else:
                raise self.failed("Unknown inline modifier" if char else "Unclosed group")
            self._at += 1
