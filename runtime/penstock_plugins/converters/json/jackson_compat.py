"""Where msgspec may read another value than Jackson does: such messages are read the exact way.

Both read texts alike, and numbers that fit 64 bits; they part at negative zeros, at greater numbers and at the bounds that
Jackson keeps.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final

from penstock import Fields, Same

__all__ = ["may_differ", "may_hold_long_name", "reads_alike", "rows_that_may_differ"]

_SAME_TYPES: Final = {str, bool, type(None)}
_NUMBERS: Final = {*_SAME_TYPES, int, float}
_ROWS: Final = {dict}
_DIGITS_AS_ZEROS: Final = bytes(ord("0") if chr(b).isdigit() and b < 128 else b for b in range(256))
_19_DIGITS: Final = b"0" * 19
_300_DIGITS: Final = b"0" * 300
"""A number of a thousand characters has so many digits before the point, behind it, or as exponent."""

_BEFORE_NUMBER: Final = b":,[ \n\t\r"
_MAX_DEPTH: Final = 1000
_MAX_NAME: Final = 50_000
_LONG_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.){50000}', re.DOTALL)
_DIFFERENT: Final = re.compile(rb"[0-9]{19}|-0+(?:\.0*)?(?![0-9.])|[0-9][eE][+-]?[0-9]{3}")
"""Numbers that may not fit 64 bits, negative zeros, exponents that may be out of range: Jackson has none of them."""

_LARGE_EXPONENT: Final = re.compile(rb"[0-9][eE][+-]?[0-9]{3}")
"""What may have become 0.0, and was not."""


def may_hold_long_name(message: bytes) -> bool:
    """Whether a text may be a field name that is longer than Jackson takes."""
    return len(message) > _MAX_NAME and _LONG_TEXT.search(message) is not None


def may_differ(message: bytes) -> bool:
    """Whether one message may be read otherwise, for its numbers or its depth."""
    return _DIFFERENT.search(message) is not None or message.count(b"[") + message.count(b"{") >= _MAX_DEPTH


def reads_alike(fields: Fields, messages: Sequence[bytes]) -> bool:
    """Whether these are rows, with none but rows inside, that Jackson reads as msgspec does.

    The limits of length and depth are told by the texts, since what a later value of the same name hides counts for them.
    Whether a number so hidden has an exponent that Jackson refuses is not looked at.
    """
    zeros_differ = cache(lambda: _has_other_zeros(b"\n".join(messages)))  # asked for each column that has a 0.0
    return not _beyond_limits(messages) and _numbers_agree(fields, zeros_differ)


def _beyond_limits(messages: Sequence[bytes]) -> bool:
    """Whether one may hold a number longer, or be nested deeper, than Jackson takes: a thousand of either."""
    long = [m for m in messages if len(m) >= _MAX_DEPTH]
    if not long:
        return False
    return _300_DIGITS in b"\n".join(long).translate(_DIGITS_AS_ZEROS) or any(
        m.count(b"[") + m.count(b"{") >= _MAX_DEPTH for m in long
    )


def _numbers_agree(fields: Fields, zeros_differ: Callable[[], bool]) -> bool:
    for name, column in fields.columns.items():
        types = fields.types(name)
        if types <= _SAME_TYPES:
            continue
        if types == _ROWS:
            inside = Fields.of(column)
            if inside is None or not _numbers_agree(inside, zeros_differ):
                return False
            continue
        if isinstance(column, Same) or not types <= _NUMBERS:
            return False
        if int in types:
            whole = column if len(types) == 1 else [v for v in column if type(v) is int]
            if min(whole) < -(2**63) or max(whole) >= 2**63:
                return False
        if float in types and 0 in column and zeros_differ():
            return False
    return True


def _has_other_zeros(joined: bytes) -> bool:
    """Whether a negative zero may be in these texts, or a number that is too small for a float."""
    return _has_negative_zero(joined) or _LARGE_EXPONENT.search(joined) is not None


def rows_that_may_differ(messages: Sequence[bytes | None], values: Sequence[Any]) -> list[int]:
    """The messages where Jackson may read another number, or give up at a depth that msgspec takes."""
    there = [m or b"" for m in messages]
    longest = max(map(len, there), default=0)
    types = set(map(type, values))
    if longest <= _MAX_DEPTH and (
        types <= _SAME_TYPES
        or (types == {dict} and set(map(type, chain.from_iterable(map(dict.values, values)))) <= _SAME_TYPES)
    ):
        return []
    joined = b"\n".join(there)
    numbers = _19_DIGITS in joined.translate(_DIGITS_AS_ZEROS) or _has_other_zeros(joined)
    if not numbers and longest <= 2 * _MAX_DEPTH:
        return []
    return [i for i, m in enumerate(there) if m and may_differ(m)]


def _has_negative_zero(joined: bytes) -> bool:
    """Whether a number may begin with -0: told by what stands before a number, for texts hold "-0" as well."""
    at = joined.find(b"-0")
    while at >= 0:
        if at == 0 or joined[at - 1] in _BEFORE_NUMBER:
            return True
        at = joined.find(b"-0", at + 2)
    return False
