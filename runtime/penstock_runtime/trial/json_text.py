"""Splitter of JSON text that leaves numbers and strings unparsed, for JsonConverter to read them as in a task.

Python's own parser rejects what Kafka's JSON reader accepts (`00012`), and reads other numbers (`1e400`).
"""

import json
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["elements", "end_of_value", "members"]

_PART: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_SPACE: Final = re.compile(r"[\s]*")


def end_of_value(text: str, start: int = 0) -> int | None:
    """Return the end of the JSON value at `start`; None if it does not end, or if there is a comma or a colon instead."""
    depth, at = 0, start
    while match := _PART.match(text, _after_space(text, at)):
        part, at = match[0], match.end()
        if part in "{[":
            depth += 1
        elif part in "}]":
            depth -= 1
        elif depth == 0 and part in ",:":
            return None
        if depth < 0:
            return None
        if depth == 0:
            return at
    return None


def members(text: str) -> dict[str, str]:
    """Return the members of an object, with their values as unparsed JSON.

    Raises:
        ValueError: it is not an object.
    """
    found: dict[str, str] = {}
    for name, end in _items(text, "{", "}"):
        colon = _after_space(text, end)
        if not name.startswith('"') or text[colon : colon + 1] != ":":
            raise ValueError(f"expected a name in quotes and a colon at character {end}")
        value = _after_space(text, colon + 1)
        found[json.loads(name, strict=False)] = text[value : _required_end(text, value)]
    return found


def elements(text: str) -> list[str]:
    """Return the elements of an array, as unparsed JSON.

    Raises:
        ValueError: it is not an array.
    """
    return [value for value, _ in _items(text, "[", "]")]


def _items(text: str, opening: str, closing: str) -> Iterator[tuple[str, int]]:
    """Yield the text after the opening bracket and after each comma, an element or the name of a member, and its end."""
    at = _after_space(text, 0)
    if text[at : at + 1] != opening:
        raise ValueError(f"expected {opening} at character {at}")
    at = _after_space(text, at + 1)
    if text[at : at + 1] == closing:
        return
    while True:
        end = _required_end(text, at)
        yield text[at:end], end
        at = _after_space(text, end)
        if opening == "{":
            at = _after_space(text, _required_end(text, at + 1))
        if text[at : at + 1] == closing:
            return
        if text[at : at + 1] != ",":
            raise ValueError(f"expected a comma or {closing} at character {at}")
        at = _after_space(text, at + 1)


def _required_end(text: str, start: int) -> int:
    end = end_of_value(text, start)
    if end is None:
        raise ValueError(f"expected a value at character {start}")
    return end


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()
