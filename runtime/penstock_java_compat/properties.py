r"""Read Java's properties files as `java.util.Properties.load` does: `worker.properties`, `${file:..}`.

`key=value`, `key: value` or `key value`; `#` and `!` begin comments; a backslash at the end of a line continues it;
`\t`, `\n`, `\r`, `\f` and `\uXXXX` are escapes, a backslash before anything else is dropped.
"""

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["parse_properties"]

_BLANK: Final = " \t\f"
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.)", re.DOTALL)
_CONTROL: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY: Final = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR: Final = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


def parse_properties(text: str) -> dict[str, str]:
    r"""Return the properties, in the order of the file. If several have the same name, the last one wins.

    Raises:
        ValueError: a `\u` is not followed by four hexadecimal digits; the message names the property's first line.
    """
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key = _KEY.match(line)
        separator = _SEPARATOR.match(line, key.end()) if key else None
        if key is None or separator is None:  # never, as both patterns match the empty string
            continue
        try:
            properties[_unescaped(key[0])] = _unescaped(line[separator.end() :])
        except ValueError as e:
            raise ValueError(f"line {number}: {e}") from None
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield joined lines without comments and empty lines, each with the number of its first line."""
    lines = iter(enumerate(re.split(r"\r\n|\r|\n", text), start=1))
    for number, raw in lines:
        line = raw.lstrip(_BLANK)
        if not line or line[0] in "#!":
            continue
        while _continues(line):
            line = line[:-1]
            following = next(lines, None)
            if following is None:
                break
            line += following[1].lstrip(_BLANK)
        yield number, line


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescaped(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        escape = match[1]
        if escape == "u":
            raise ValueError("Malformed \\uxxxx encoding: four hexadecimal digits must follow \\u")
        return chr(int(escape[1:], 16)) if len(escape) == 5 else _CONTROL.get(escape, escape)

    plain = _ESCAPE.sub(replace, text)
    # Two escaped surrogates form one character, as in Java's UTF-16.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
