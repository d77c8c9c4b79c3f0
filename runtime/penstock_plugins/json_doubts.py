"""Where msgspec may read another value than Jackson does: such messages are read the exact way.

Both read texts alike, and numbers that fit 64 bits; they part at negative zeros, at greater numbers and at the bounds that
Jackson keeps.
"""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from penstock import Fields, Same

__all__ = ["doubtful", "is_long", "may_differ", "surely_alike"]

_SURE: Final = {str, bool, type(None)}
_NUMBERS: Final = {*_SURE, int, float}
_ZEROED: Final = bytes(ord("0") if chr(b).isdigit() and b < 128 else b for b in range(256))
_LONG_NUMBER: Final = b"0" * 19
_BEFORE_NUMBER: Final = b":,[ \n\t\r"
_DEPTH: Final = 1000
_NAME: Final = 50_000
_LONG_TEXT: Final = re.compile(rb'"[^"]{50000}')
_UNLIKE: Final = re.compile(rb"[0-9]{19}|-0+(?:\.0*)?(?![0-9.])|[0-9][eE][+-]?[0-9]{3}")
"""Numbers that may not fit 64 bits, negative zeros, exponents that may be out of range: Jackson has none of them."""

_ZERO: Final = re.compile(rb"-0|[0-9][eE][+-]?[0-9]{3}")
"""What may have become 0.0, and was not."""


def is_long(message: bytes) -> bool:
    """Whether a text may be a field name that is longer than Jackson takes."""
    return len(message) > _NAME and _LONG_TEXT.search(message) is not None


def may_differ(message: bytes) -> bool:
    """Whether one message may be read otherwise, for its numbers or its depth."""
    return _UNLIKE.search(message) is not None or message.count(b"[") + message.count(b"{") >= _DEPTH


def surely_alike(fields: Fields, messages: Sequence[bytes]) -> bool:
    """Whether these are flat rows whose numbers Jackson reads as msgspec does: no negative zero, none beyond its bounds."""
    if max(map(len, messages)) > _DEPTH:
        return False  # so long may be a number that Jackson refuses, so deep what a later value of the same name hides
    for name, column in fields.columns.items():
        types = fields.types(name)
        if types <= _SURE:
            continue
        if isinstance(column, Same) or not types <= _NUMBERS:
            return False
        if int in types:
            whole = column if len(types) == 1 else [v for v in column if type(v) is int]
            if min(whole) < -(2**63) or max(whole) >= 2**63:
                return False
        if float in types and 0 in column and _ZERO.search(b"\n".join(messages)):
            return False
    return True


def doubtful(messages: Sequence[bytes | None], values: Sequence[Any]) -> list[int]:
    """The messages where Jackson may read another number, or give up at a depth that msgspec takes."""
    there = [m or b"" for m in messages]
    longest = max(map(len, there), default=0)
    types = set(map(type, values))
    if longest <= _DEPTH and (
        types <= _SURE or (types == {dict} and set(map(type, chain.from_iterable(map(dict.values, values)))) <= _SURE)
    ):
        return []
    joined = b"\n".join(there)
    numbers = _negative_zero(joined) or _LONG_NUMBER in joined.translate(_ZEROED) or _ZERO.search(joined) is not None
    if not numbers and longest <= 2 * _DEPTH:
        return []
    return [i for i, m in enumerate(there) if m and may_differ(m)]


def _negative_zero(joined: bytes) -> bool:
    """Whether a number may begin with -0: told by what stands before a number, for texts hold "-0" as well."""
    at = joined.find(b"-0")
    while at >= 0:
        if at == 0 or joined[at - 1] in _BEFORE_NUMBER:
            return True
        at = joined.find(b"-0", at + 2)
    return False
