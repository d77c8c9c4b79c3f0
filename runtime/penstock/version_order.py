"""Maven's ComparableVersion (3.9): a version is a list of numbers, words and lists, compared piece by piece. Pure.

Pieces: `int`; `str` (a qualifier); `tuple[str, int]` (a qualifier and its number, `rc1`); `list` (what follows a dash or
a change between letters and digits).
"""

from functools import lru_cache
from typing import Any, Final, TypeAlias

__all__ = ["compare"]

_Item: TypeAlias = int | str | tuple[str, int] | list[Any]

_QUALIFIERS: Final = ("alpha", "beta", "milestone", "rc", "snapshot", "", "sp")
_RELEASE: Final = ("ga", "final", "release")
_SHORT: Final = {"a": "alpha", "b": "beta", "m": "milestone"}


def compare(one: str, other: str) -> int:
    """Negative, zero or positive, as `one` stands before, with or after `other`."""
    return _compare(_parsed(one), _parsed(other))


@lru_cache(maxsize=256)
def _parsed(version: str) -> list[_Item]:
    text = version.lower()
    root: list[_Item] = []
    current, lists = root, [root]
    digits = combined = False
    start = 0

    def deeper() -> None:
        nonlocal current
        inner: list[_Item] = []
        current.append(inner)
        current = inner
        lists.append(inner)

    for i, c in enumerate(text):
        if c == ".":
            current.append(_item(text[start:i], digits=digits, combined=combined) if i > start else 0)
            combined, start = False, i + 1
        elif c == "-":
            if i > start and not digits and i + 1 < len(text) and _digit(text[i + 1]):
                combined = True  # rc-1 is rc1
                continue
            current.append(_item(text[start:i], digits=digits, combined=combined) if i > start else 0)
            start = i + 1
            deeper()
            combined = False
        elif _digit(c):
            if not digits and i > start:
                combined = True
                if current:
                    deeper()
            digits = True
        else:
            if digits and i > start:
                current.append(_item(text[start:i], digits=True, combined=combined))
                start = i
                deeper()
                combined = False
            digits = False
    if len(text) > start:
        if not digits and current:
            deeper()
        current.append(_item(text[start:], digits=digits, combined=combined))
    for items in reversed(lists):
        _normalize(items)
    return root


def _digit(c: str) -> bool:
    return "0" <= c <= "9"


def _item(text: str, *, digits: bool, combined: bool) -> _Item:
    if combined:
        text = text.replace("-", "")
        first = next((i for i, c in enumerate(text) if _digit(c)), len(text))
        return _word(text[:first], number_follows=True), int(text[first:] or 0)
    return int(text) if digits else _word(text)


def _word(text: str, *, number_follows: bool = False) -> str:
    text = _SHORT.get(text, text) if number_follows else text
    return "rc" if text == "cr" else text


def _normalize(items: list[_Item]) -> None:
    """Leave out zeros and empty pieces that say nothing."""
    for i in range(len(items) - 1, -1, -1):
        if items[i] not in (0, "", []):
            continue
        following = items[i + 1] if i + 1 < len(items) else None
        if following is None or isinstance(following, str) or (
            isinstance(following, list) and following and isinstance(following[0], (str, tuple))
        ):  # fmt: skip
            del items[i]


def _rank(word: str) -> str:
    """Texts that order as the qualifiers do; unknown ones after `sp`, alphabetically."""
    if word in _RELEASE:
        word = ""
    return str(_QUALIFIERS.index(word)) if word in _QUALIFIERS else f"{len(_QUALIFIERS)}-{word}"


def _sign(one: str, other: str) -> int:
    return (one > other) - (one < other)


def _compare(one: _Item | None, other: _Item | None) -> int:
    """As the classes IntItem, StringItem, CombinationItem and ListItem do; None is a piece that is missing."""
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
        case str(), str():
            return _sign(_rank(one), _rank(other))
        case str(), None:
            return _sign(_rank(one), _rank(""))
        case str(), tuple():
            return _sign(_rank(one), _rank(other[0])) or -1
        case tuple(), str():
            return _sign(_rank(one[0]), _rank(other)) or 1
        case tuple(), tuple():
            return _sign(_rank(one[0]), _rank(other[0])) or (one[1] > other[1]) - (one[1] < other[1])
        case tuple(), None:
            return _sign(_rank(one[0]), _rank(""))
        case ((str() | tuple()), list()):
            return -1
        case list(), (str() | tuple()):
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
