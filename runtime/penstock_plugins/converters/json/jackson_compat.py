"""Detection of messages that msgspec may read differently from Jackson; they are then read exactly.

Both read strings alike, and numbers that fit 64 bits. They differ in negative zeros, in larger numbers, and in Jackson's
limits: 1,000 levels of nesting, numbers of 1,000 characters, field names of 50,000 bytes.
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
"""A number of 1,000 characters has at least 300 digits in a row: before the point, after it, or in its exponent."""

_BEFORE_NUMBER: Final = b":,[ \n\t\r"
_MAX_DEPTH: Final = 1000
_MAX_NAME: Final = 50_000
_LONG_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.){50000}', re.DOTALL)
_DIFFERENT: Final = re.compile(rb"[0-9]{19}|-0+(?:\.0*)?(?![0-9.])|[0-9][eE][+-]?[0-9]{3}")
"""Numbers that may exceed 64 bits, negative zeros, and exponents that may be out of range for Jackson."""

_LARGE_EXPONENT: Final = re.compile(rb"[0-9][eE][+-]?[0-9]{3}")
"""Numbers that may be rounded to 0.0 although they are not zero."""


def may_hold_long_name(message: bytes) -> bool:
    """Return whether a string of the message may be a field name beyond Jackson's limit."""
    return len(message) > _MAX_NAME and _LONG_TEXT.search(message) is not None


def may_differ(message: bytes) -> bool:
    """Return whether one message may be read differently because of its numbers or its nesting."""
    return _DIFFERENT.search(message) is not None or message.count(b"[") + message.count(b"{") >= _MAX_DEPTH


def reads_alike(fields: Fields, messages: Sequence[bytes]) -> bool:
    """Return whether Jackson reads these rows, which contain only scalars and rows, as msgspec does.

    The limits of length and nesting are checked on the messages, because they also apply to a value that a later value of
    the same name replaces. The exponent of a number that was replaced in this way is not checked.
    """
    zeros_differ = cache(lambda: _has_other_zeros(b"\n".join(messages)))  # needed only for columns with a 0.0
    return not _beyond_limits(messages) and _numbers_agree(fields, zeros_differ)


def _beyond_limits(messages: Sequence[bytes]) -> bool:
    """Return whether a message may exceed Jackson's limits: 1,000 characters of a number, 1,000 levels."""
    long_messages = [m for m in messages if len(m) >= _MAX_DEPTH]
    if not long_messages:
        return False
    return _300_DIGITS in b"\n".join(long_messages).translate(_DIGITS_AS_ZEROS) or any(
        m.count(b"[") + m.count(b"{") >= _MAX_DEPTH for m in long_messages
    )


def _numbers_agree(fields: Fields, zeros_differ: Callable[[], bool]) -> bool:
    for name, column in fields.columns.items():
        types = fields.types(name)
        if types <= _SAME_TYPES:
            continue
        if types == _ROWS:
            inner = Fields.of(column)
            if inner is None or not _numbers_agree(inner, zeros_differ):
                return False
            continue
        if isinstance(column, Same) or not types <= _NUMBERS:
            return False
        if int in types:
            integers = column if len(types) == 1 else [v for v in column if type(v) is int]
            if min(integers) < -(2**63) or max(integers) >= 2**63:
                return False
        if float in types and 0 in column and zeros_differ():
            return False
    return True


def _has_other_zeros(joined: bytes) -> bool:
    """Return whether the messages may contain a negative zero, or a number that is too small for a float64."""
    return _has_negative_zero(joined) or _LARGE_EXPONENT.search(joined) is not None


def rows_that_may_differ(messages: Sequence[bytes | None], values: Sequence[Any]) -> list[int]:
    """Return the indexes of messages where Jackson may read another number, or reject nesting that msgspec accepts."""
    present = [m or b"" for m in messages]
    longest = max(map(len, present), default=0)
    types = set(map(type, values))
    if longest <= _MAX_DEPTH and (
        types <= _SAME_TYPES
        or (types == {dict} and set(map(type, chain.from_iterable(map(dict.values, values)))) <= _SAME_TYPES)
    ):
        return []
    joined = b"\n".join(present)
    has_odd_numbers = _19_DIGITS in joined.translate(_DIGITS_AS_ZEROS) or _has_other_zeros(joined)
    if not has_odd_numbers and longest <= 2 * _MAX_DEPTH:
        return []
    return [i for i, m in enumerate(present) if m and may_differ(m)]


def _has_negative_zero(joined: bytes) -> bool:
    """Return whether a number may begin with -0. The character before it is checked, because strings may contain "-0"."""
    start = joined.find(b"-0")
    while start >= 0:
        if start == 0 or joined[start - 1] in _BEFORE_NUMBER:
            return True
        start = joined.find(b"-0", start + 2)
    return False
