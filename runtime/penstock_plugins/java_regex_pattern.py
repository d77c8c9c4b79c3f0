"""From the syntax of `java.util.regex.Pattern` (Java 17) to that of the `regex` package, flag V1.

The reader follows `Pattern`'s own: what it refuses is refused here with its words. No flag of the package is used that
means something else in Java: ASCII classes, Java's line ends and ASCII case are spelled out.
"""

import unicodedata
from dataclasses import dataclass
from typing import Final

from penstock_plugins.java_regex_classes import (
    HORIZONTAL,
    VERTICAL,
    PatternError,
    PropertyFlags,
    fold_ascii,
    literal,
    property_set,
    shorthand,
)

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
_CONTROLS: Final = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_FLAGS: Final = "idmsucxU"


@dataclass(frozen=True, slots=True)
class _Flags:
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
        return PropertyFlags(ignore_case=self.i, unicode_case=self.u or self.U, unicode_classes=self.U)


@dataclass(slots=True)
class _Node:
    """A translated piece and how long its match can be, for lookbehinds."""

    text: str
    longest: int
    bounded: bool = True
    single: bool = False  # one character, whose greedy repetition Java takes in a lookbehind


def translate(text: str) -> tuple[str, dict[str, int]]:
    """The pattern in the package's syntax, and the numbers of its named groups.

    Raises:
        PatternError: Java refuses the pattern, or it cannot be given.
    """
    reader = _Reader(_unquoted(text), text)
    node = reader.alternatives()
    if reader.more:
        raise reader.failed("Unmatched closing ')'")
    return node.text, reader.names


def _wrapped(length: int) -> int:
    return (length + 2**31) % 2**32 - 2**31


def _unquoted(text: str) -> str:
    r"""The pattern with `\Q..\E` written as escapes, as Java does before it reads on."""
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


class _Reader:
    def __init__(self, text: str, original: str) -> None:
        self._text = text
        self._original = original
        self._at = 0
        self._flags = _Flags()
        self._groups = 0
        self.names: dict[str, int] = {}

    @property
    def more(self) -> bool:
        return self._at < len(self._text)

    def failed(self, what: str) -> PatternError:
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
            return _Node(f"[{fold_ascii(char, char)}]" if char.isascii() and char.isalpha() else literal(char), 1,
                         single=True)  # fmt: skip
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
            # Java's own overflow decides what it finds too long for a lookbehind.
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

    def _digits(self) -> str:
        start = self._at
        while self.more and self._text[self._at] in "0123456789":
            self._at += 1
        return self._text[start : self._at]

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

    def _named_or_behind(self, saved: _Flags) -> _Node:
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

    def _closed(self, opening: str, saved: _Flags) -> _Node:
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

    def _inline_flags(self) -> None:
        on = True
        while (char := self._text[self._at : self._at + 1]) not in (":", ")"):
            if char == "-" and on:
                on = False
            elif char and char in _FLAGS:
                if char == "c":
                    raise self.failed("Canonical equivalence (flag c) is not supported here")
                changed = {f: getattr(self._flags, f) for f in _FLAGS} | {char: on}
                if char == "U" and on:
                    changed["u"] = True
                self._flags = _Flags(**changed)
            else:
                raise self.failed("Unknown inline modifier" if char else "Unclosed group")
            self._at += 1

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

    def _class_escape(self) -> str | None:
        r"""What stands between the brackets of a set for `\d`, `\p{..}` and the like; None for one character."""
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

    # Sets

    def _set(self) -> str:
        """The set after an opening bracket, its closing bracket taken; a complete set of the package."""
        negated = False
        if self._set_peek() == "^":
            self._at += 1
            negated = True
        inside = self._set_items(nested=False)
        return f"[^{inside}]" if negated else inside

    def _set_peek(self) -> str:
        return self._peek()

    def _set_items(self, *, nested: bool) -> str:
        """Items up to the closing bracket; it is left in place for the right side of an intersection."""
        union: list[str] = []
        result: str | None = None
        while True:
            char = self._set_peek()
            if not char:
                raise self.failed("Unclosed character class")
            if char == "]" and (union or result is not None):
                if not nested:
                    self._at += 1
                return self._joined(result, union)
            if char == "[":
                self._at += 1
                union.append(self._set())
            elif char == "&" and self._text.startswith("&&", self._at):
                self._at += 2
                right = self._right_side()
                left = self._joined(result, union) if union or result is not None else None
                union = []
                if right is None:
                    if left is None:
                        raise self.failed("Bad class syntax")
                    result = left
                else:
                    result = right if left is None else f"[{left}&&{right}]"
            else:
                union.append(self._range())

    def _joined(self, result: str | None, union: list[str]) -> str:
        if result is None:
            return f"[{''.join(union)}]"
        return f"[{result}{''.join(union)}]" if union else result

    def _right_side(self) -> str | None:
        right: list[str] = []
        while (char := self._set_peek()) and char not in "]&":
            if char == "[":
                self._at += 1
                right.append(self._set())
            else:
                right.append(self._set_items(nested=True))
        if not char:
            raise self.failed("Unclosed character class")
        return f"[{''.join(right)}]" if right else None

    def _range(self) -> str:
        char = self._text[self._at]
        if char == "\\":
            self._at += 1
            if not self.more:
                raise self.failed("Unclosed character class")
            found = self._class_escape()
            if found is not None:
                return found
            low = self._char_escape()
        else:
            low = self._take()
        if self._set_peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", "[", ""):
            self._at += 1
            if self._set_peek() == "\\":
                self._at += 1
                if self._text[self._at : self._at + 1] in tuple("dDsSwWhHvVpP"):
                    raise self.failed("Illegal character range")
                high = self._char_escape()
            else:
                high = self._take()
            if high < low:
                raise self.failed("Illegal character range")
        else:
            high = low
        if self._flags.i and not (self._flags.u or self._flags.U):
            return fold_ascii(low, high)
        return literal(low) if low == high else f"{literal(low)}-{literal(high)}"
