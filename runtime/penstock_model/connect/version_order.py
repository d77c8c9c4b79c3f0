"""Maven's order of versions (ComparableVersion of maven-artifact 3.9.15, which Kafka Connect 4.3.1 uses). Pure.

A version is a list of numbers, words and lists; a list follows a dash or a change between letters and digits.
Lists are compared item by item.
"""

from functools import lru_cache
from typing import Any, Final, TypeAlias

__all__ = ["compare"]

_Item: TypeAlias = int | str | list[Any]

_QUALIFIERS: Final = ("alpha", "beta", "milestone", "rc", "snapshot", "", "sp")
_ALIASES: Final = {"ga": "", "final": "", "release": "", "cr": "rc"}
_BEFORE_DIGITS: Final = {"a": "alpha", "b": "beta", "m": "milestone"}


def compare(one: str, other: str) -> int:
    """Return a negative number, zero or a positive number if `one` is before, equal to or after `other`."""
    return _compare(_parsed(one), _parsed(other))


@lru_cache(maxsize=256)
def _parsed(version: str) -> list[_Item]:
    text = version.lower()
    root: list[_Item] = []
    current, lists = root, [root]
    digits, start = False, 0

    def deeper() -> None:
        nonlocal current
        inner: list[_Item] = []
        current.append(inner)
        current = inner
        lists.append(inner)

    for i, c in enumerate(text):
        if c in ".-":
            current.append(_item(text[start:i], digits=digits) if i > start else 0)
            start = i + 1
            if c == "-":
                deeper()
        elif c.isdecimal():
            if not digits and i > start:
                if current:
                    deeper()
                word = text[start:i]
                current.append(_word(_BEFORE_DIGITS.get(word, word)))
                start = i
                deeper()
            digits = True
        else:
            if digits and i > start:
                current.append(int(text[start:i]))
                start = i
                deeper()
            digits = False
    if len(text) > start:
        if not digits and current:
            deeper()
        current.append(_item(text[start:], digits=digits))
    for items in reversed(lists):
        _normalize(items)
    return root


def _item(text: str, *, digits: bool) -> _Item:
    return int(text) if digits else _word(text)


def _word(text: str) -> str:
    return _ALIASES.get(text, text)


def _normalize(items: list[_Item]) -> None:
    """Remove null items at the end, and before lists at the end."""
    for i in range(len(items) - 1, -1, -1):
        if items[i] in (0, "", []):
            del items[i]
        elif not isinstance(items[i], list):
            break


def _rank(word: str) -> str:
    """Return a string that sorts in the order of the qualifiers; unknown qualifiers follow `sp`, alphabetically."""
    return str(_QUALIFIERS.index(word)) if word in _QUALIFIERS else f"{len(_QUALIFIERS)}-{word}"


def _compare(one: _Item | None, other: _Item | None) -> int:
    """Compare like the classes IntItem, StringItem and ListItem. None is a missing item."""
    match one, other:
        case None, None:
            return 0
        case None, _:
            return -_compare(other, None)
        case int(), int():
            return (one > other) - (one < other)
        case int(), None:
            return int(one != 0)
        case int(), _:
            return 1
        case _, int():
            return -1
        case str(), (str() | None):
            mine, theirs = _rank(one), _rank(other or "")
            return (mine > theirs) - (mine < theirs)
        case str(), list():
            return -1
        case list(), str():
            return 1
        case list(), list():
            return _compare_lists(one, other)
        case list(), None:
            return next((r for r in (_compare(item, None) for item in one) if r), 0)
        case _:
            raise AssertionError((one, other))


def _compare_lists(one: list[_Item], other: list[_Item]) -> int:
    for i in range(max(len(one), len(other))):
        result = _compare(one[i] if i < len(one) else None, other[i] if i < len(other) else None)
        if result:
            return result
    return 0
