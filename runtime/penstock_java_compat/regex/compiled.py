r"""Compile Java's regular expressions with the `regex` package.

`(?<=s)\p{javaLowerCase}++[a-z&&[^x]]` and everything else that `java.util.regex` of Java 17 accepts is translated; syntax
that cannot be translated is rejected when the pattern is compiled. Matching works on characters, not on UTF-16 units.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

import regex

from penstock_java_compat.regex.cost import too_costly
from penstock_java_compat.regex.translation import PatternError, translate

__all__ = ["JavaPattern", "PatternError", "compile_java"]


_MOST_COST: Final = 200_000
"""Maximum characters of a pattern with its counted repeats expanded, which take 60 MB. It cannot be configured."""
_end: Final[ContextVar[float | None]] = ContextVar("end", default=None)
"""Monotonic time at which matching times out; None for never."""


@contextmanager
def matching_within(seconds: float) -> Iterator[None]:
    """Limit the total time of all calls of `JavaPattern.matches` in the block.

    Use it for untrusted patterns: a small one (`(a|aa)+b`) can take years.
    """
    token = _end.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(token)


@dataclass(frozen=True, slots=True)
class JavaPattern:
    """Compiled pattern.

    Attributes:
        text: the pattern as the user wrote it.
        names: indexes of the named groups.
    """

    text: str
    names: dict[str, int]
    compiled: Any = field(repr=False)

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text (`Matcher.matches`).

        Raises:
            TimeoutError: the time of `matching_within` is over.
        """
        if (end := _end.get()) is None:
            return self.compiled.fullmatch(text) is not None
        if (left := end - time.monotonic()) <= 0:
            raise TimeoutError
        return self.compiled.fullmatch(text, timeout=left) is not None

    def replace_first(self, text: str, replacement: str) -> str:
        r"""Return the text with the first match replaced (`Matcher.replaceFirst`).

        Args:
            text: text to search.
            replacement: replacement, in which `$1`, `${name}` and backslash escapes are expanded.

        Raises:
            ValueError: the replacement is malformed or names a group that does not exist (IllegalArgumentException).
            IndexError: it has the index of a group that does not exist (IndexOutOfBoundsException).
        """
        match = self.compiled.search(text)
        if match is None:
            return text
        return text[: match.start()] + self._expanded(match, replacement) + text[match.end() :]

    def _expanded(self, match: Any, replacement: str) -> str:
        pieces: list[str] = []
        at = 0
        while at < len(replacement):
            char = replacement[at]
            at += 1
            if char == "\\":
                if at == len(replacement):
                    raise ValueError("character to be escaped is missing")
                pieces.append(replacement[at])
                at += 1
            elif char == "$":
                number, at = self._reference(replacement, at)
                if number > self.compiled.groups:
                    raise IndexError(f"No group {number}")
                pieces.append(match[number] or "")
            else:
                pieces.append(char)
        return "".join(pieces)

    def _reference(self, text: str, at: int) -> tuple[int, int]:
        """Return the index of the group after a dollar sign, and the position after it."""
        if at == len(text):
            raise ValueError("Illegal group reference: group index is missing")
        if text[at] == "{":
            end = at + 1
            while end < len(text) and text[end].isascii() and text[end].isalnum():
                end += 1
            name = text[at + 1 : end]
            if not name or text[end : end + 1] != "}":
                raise ValueError("named capturing group is missing trailing '}'")
            if name[0].isdigit():
                raise ValueError(f"capturing group name {{{name}}} starts with digit character")
            if name not in self.names:
                raise ValueError(f"No group with name {{{name}}}")
            return self.names[name], end + 1
        if text[at] not in "0123456789":
            raise ValueError("Illegal group reference")
        number = int(text[at])
        at += 1
        while at < len(text) and text[at] in "0123456789":
            longer = number * 10 + int(text[at])
            if longer > self.compiled.groups:
                break
            number = longer
            at += 1
        return number, at


def compile_java(text: str) -> JavaPattern:
    """Compile a Java pattern.

    Raises:
        PatternError: Java rejects the pattern, or it cannot be translated; the message says which.
    """
    if "{" in text and len(text) <= _MOST_COST and (why := too_costly(text, _MOST_COST)) is not None:
        raise PatternError(f"Invalid regex: it {why}: {text}")
    translated, names = translate(text)
    try:
        return JavaPattern(text, names, regex.compile(translated, regex.V1))
    except regex.error as e:
        raise PatternError(f"Invalid regex: {e.msg} (this part of Java's syntax is not supported): {text}") from e
