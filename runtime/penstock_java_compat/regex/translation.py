"""Translate the syntax of `java.util.regex.Pattern` (Java 17) to that of the `regex` package, flag V1.

The reader follows `Pattern`'s parser and rejects the same patterns with the same messages. It uses no flags of the package
that have a different meaning in Java: ASCII classes, Java's line endings and ASCII case are written out.
"""

from dataclasses import dataclass
from typing import Final

from penstock_java_compat.regex.classes import PatternError, fold_ascii, literal
from penstock_java_compat.regex.scanner import Flags, unquoted
from penstock_java_compat.regex.sets import Sets

__all__ = ["PatternError", "translate"]

_LINE_END: Final = r"\n\r\x85\u2028\u2029"
_END: Final = r"(?:(?=(?:\r\n|[\r\x85\u2028\u2029])?\Z)|(?<!\r)(?=\n\Z))"
_END_OF_LINE: Final = r"(?:(?=\r\n|[\r\x85\u2028\u2029]|\Z)|(?<!\r)(?=\n))"
_START_OF_LINE: Final = r"(?:\A|(?:(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n))(?!\Z))"
_WORD: Final = r"[\p{L}\p{Nd}_]"
_BOUNDARY: Final = rf"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_NOT_BOUNDARY: Final = rf"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_NOTHING: Final = "(?!)"
_MOST: Final = 2**31 - 1


@dataclass(slots=True)
class _Node:
    """Translated piece, and the maximum length of its match, for lookbehinds."""

    text: str
    longest: int
    bounded: bool = True
    single: bool = False  # one character, whose greedy repetition Java accepts in a lookbehind


def translate(text: str) -> tuple[str, dict[str, int]]:
    """Return the pattern in the package's syntax, and the indexes of its named groups.

    Raises:
        PatternError: Java rejects the pattern, or it cannot be translated.
    """
    reader = _Reader(unquoted(text), text)
    node = reader.alternatives()
    if reader.more:
        raise reader.failed("Unmatched closing ')'")
    return node.text, reader.names


def _wrapped(length: int) -> int:
    return (length + 2**31) % 2**32 - 2**31


class _Reader(Sets):
    def __init__(self, text: str, original: str) -> None:
        super().__init__(text, original)
        self._groups = 0
        self.names: dict[str, int] = {}

    def alternatives(self) -> _Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._sequence())
        return _Node(
            "|".join(b.text for b in branches), max(b.longest for b in branches), all(b.bounded for b in branches)
        )

    def _sequence(self) -> _Node:
        pieces: list[str] = []
        longest, bounded = 0, True
        while (char := self._peek()) and char not in "|)":
            if char in "*+?":
                raise self.failed(f"Dangling meta character '{char}'")
            node = self._atom(char)
            if node is None:
                continue
            node = self._repeated(node, longest)
            pieces.append(node.text)
            longest = _wrapped(longest + node.longest)
            bounded = bounded and node.bounded
        return _Node("".join(pieces), longest, bounded)

    def _atom(self, char: str) -> _Node | None:
        match char:
            case "(":
                return self._group()
            case "[":
                self._at += 1
                return _Node(self._cased(self._set()), 1, single=True)
            case "\\":
                return self._escape()
            case "{":
                return _Node("(?:)", 0)
            case _:
                pass
        self._at += 1
        match char:
            case ".":
                if self._flags.s:
                    return _Node("(?s:.)", 1, single=True)
                return _Node(r"[^\n]" if self._flags.d else f"[^{_LINE_END}]", 1, single=True)
            case "^":
                multi = r"(?:\A|(?<=\n)(?!\Z))" if self._flags.d else _START_OF_LINE
                return _Node(multi if self._flags.m else r"\A", 0)
            case "$":
                if self._flags.d:
                    return _Node(r"(?=\n|\Z)" if self._flags.m else r"(?=\n?\Z)", 0)
                return _Node(_END_OF_LINE if self._flags.m else _END, 0)
            case _:
                return self._char(char)

    def _char(self, char: str) -> _Node:
        if self._flags.i and not (self._flags.u or self._flags.U):
            return _Node(
                f"[{fold_ascii(char, char)}]" if char.isascii() and char.isalpha() else literal(char), 1, single=True
            )
        return _Node(self._cased(literal(char)), 1, single=True)

    def _cased(self, text: str) -> str:
        return f"(?i-f:{text})" if self._flags.i and (self._flags.u or self._flags.U) else text

    # Repetition

    def _repeated(self, node: _Node, before: int) -> _Node:
        char = self._peek()
        if char in ("?", "*", "+"):
            self._at += 1
            count, high = char, 1 if char == "?" else _MOST
        elif char == "{":
            count, high = self._count()
        else:
            return node
        mode = self._peek()
        if mode in ("?", "+"):
            self._at += 1
        else:
            mode = ""
        if node.single and char in "*+" and not mode:
            longest, bounded = _MOST, True
        else:
            # Java's overflow determines which length is too long for a lookbehind.
            total = _wrapped(node.longest * high + before)
            longest, bounded = _wrapped(total - before), node.bounded and total >= before
        body = node.text if node.text.startswith("(?") and node.text.endswith(")") else f"(?:{node.text})"
        return _Node(f"(?:{body}{count}{mode})", longest, bounded)

    def _count(self) -> tuple[str, int]:
        self._at += 1
        low = self._digits()
        if not low:
            raise self.failed("Illegal repetition")
        high = low
        if self._peek() == ",":
            self._at += 1
            high = self._digits() if self._peek() != "}" else str(_MOST)
        if self._peek() != "}":
            raise self.failed("Unclosed counted closure")
        self._at += 1
        if int(low) > _MOST or int(high or 0) > _MOST or int(high or 0) < int(low):
            raise self.failed("Illegal repetition range")
        unlimited = int(high) == _MOST
        return f"{{{int(low)},{'' if unlimited else int(high)}}}", int(high)

    # Groups

    def _group(self) -> _Node | None:
        saved = self._flags
        self._at += 1
        if self._peek() != "?":
            self._groups += 1
            return self._closed("(", saved)
        self._at += 1
        char = self._take()
        if char in (":", "=", "!", ">"):
            return self._closed(f"(?{char}", saved)
        if char == "<":
            return self._named_or_behind(saved)
        self._at -= 1
        if not char or char in "$@":
            raise self.failed("Unknown group type")
        self._inline_flags()
        char = self._take()
        if char == ")":
            return None
        if char != ":":
            raise self.failed("Unknown inline modifier")
        return self._closed("(?:", saved)

    def _named_or_behind(self, saved: Flags) -> _Node:
        char = self._take()
        if char in ("=", "!"):
            return self._closed(f"(?<{char}", saved)
        self._at -= 1
        if not (char.isascii() and char.isalpha()):
            raise self.failed("Unknown look-behind group")
        name = self._name(">")
        if name in self.names:
            raise self.failed(f"Named capturing group <{name}> is already defined")
        self._groups += 1
        self.names[name] = self._groups
        return self._closed("(", saved)

    def _closed(self, opening: str, saved: Flags) -> _Node:
        inside = self.alternatives()
        if self._peek() != ")":
            raise self.failed("Unclosed group")
        self._at += 1
        self._flags = saved
        if opening.startswith("(?<"):
            if not inside.bounded:
                raise self.failed("Look-behind group does not have an obvious maximum length")
            return _Node(f"(?:{opening}{inside.text}))", 0)
        if opening in ("(?=", "(?!"):
            return _Node(f"(?:{opening}{inside.text}))", 0)
        return _Node(f"{opening}{inside.text})", inside.longest, inside.bounded)

    # Escapes

    def _escape(self) -> _Node:
        self._at += 1
        if not self.more:
            raise self.failed("Unexpected internal error" if self._text.endswith("\\") else "Illegal escape")
        char = self._text[self._at]
        if char in "123456789":
            return self._back_reference()
        self._at += 1
        match char:
            case "A" | "G":
                return _Node(r"\A", 0)
            case "z":
                return _Node(r"\Z", 0)
            case "Z":
                return _Node(r"(?=\n?\Z)" if self._flags.d else _END, 0)
            case "b":
                if self._text.startswith("{g}", self._at):
                    raise self.failed(r"\b{g} is not supported here")
                return _Node(r"\b" if self._flags.U else _BOUNDARY, 0)
            case "B":
                return _Node(r"\B" if self._flags.U else _NOT_BOUNDARY, 0)
            case "R":
                return _Node(r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])", 2)
            case "X":
                return _Node(r"\X", 1, bounded=False)
            case "k":
                if self._take() != "<":
                    raise self.failed("\\k is not followed by '<' for named capturing group")
                name = self._name(">")
                if name not in self.names:
                    raise self.failed(f"named capturing group <{name}> does not exist")
                return self._reference(self.names[name])
            case _:
                pass
        self._at -= 1
        set_ = self._class_escape()
        if set_ is not None:
            return _Node(self._cased(f"[{set_}]"), 1, single=True)
        return self._char(self._char_escape())

    def _back_reference(self) -> _Node:
        number = int(self._take())
        while self.more and self._text[self._at] in "0123456789":
            longer = number * 10 + int(self._text[self._at])
            if longer > self._groups:
                break
            number = longer
            self._at += 1
        return self._reference(number)

    def _reference(self, number: int) -> _Node:
        if number > self._groups:
            return _Node(_NOTHING, 0, bounded=False)
        return _Node(f"(?i-f:\\{number})" if self._flags.i else f"(?:\\{number})", 0, bounded=False)
