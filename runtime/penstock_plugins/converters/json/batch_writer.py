"""Writer of many values as JSON with msgspec. Values for which its output differs from Jackson's are written again."""

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from penstock import Int8, Int16, Int32, Int64
from penstock_java_compat.floats import plain_range

__all__ = ["encode_lines", "writes_alike"]

_DIFFERENT: Final = re.compile(rb"\\u00|[\xf0-\xf4]")
"""Output that differs from Jackson's: control characters with lower-case hex digits, and unescaped non-BMP characters."""

_CONTROL: Final = re.compile(rb"\\u00")
"""Escaped control character. A regular expression, because `in` takes twice as long if there are many escaped quotes."""

_WIDTHS: Final = frozenset((Int8, Int16, Int32, Int64))
_SAME_TYPES: Final = frozenset((str, bool, type(None), int, float, dict, list)) | _WIDTHS


def _encode_width(value: object) -> int:
    if type(value) in _WIDTHS and isinstance(value, int):
        return int(value)
    raise TypeError(f"msgspec does not write {type(value).__name__}")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_encode_width)


def encode_lines(values: Sequence[Any], exactly: Callable[[int], bytes]) -> list[bytes] | None:
    """Return the JSON of each value as Jackson writes it; None if msgspec rejects one of them.

    Args:
        values: values whose numbers msgspec and Jackson write alike.
        exactly: writes the value with this index exactly as Jackson does.
    """
    try:
        joined = _ENCODER.encode_lines(values)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return None
    lines = joined.split(b"\n")
    del lines[-1]
    odd = b"\\" in joined and _CONTROL.search(joined) is not None
    if odd or (not joined.isascii() and any(lead in joined for lead in (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4"))):
        search = _DIFFERENT.search
        for i, line in enumerate(lines):
            if search(line):
                lines[i] = exactly(i)
    return lines


def writes_alike(values: Sequence[Any]) -> bool:
    """Return whether msgspec writes these values without a schema as Jackson does, except for some characters of strings."""
    level: Sequence[Any] = values
    while level:
        types = set(map(type, level))
        if not types <= _SAME_TYPES:
            return False
        if int in types:
            integers = level if len(types) == 1 else [v for v in level if type(v) is int]
            if min(integers) < -(2**63) or max(integers) >= 2**63:
                return False
        if float in types and not all(plain_range(v) for v in level if type(v) is float):
            return False
        next_level: list[Any] = []
        if dict in types:
            dicts = level if len(types) == 1 else [v for v in level if type(v) is dict]
            if not set(map(type, chain.from_iterable(dicts))) <= {str}:
                return False
            next_level.extend(chain.from_iterable(map(dict.values, dicts)))
        if list in types:
            next_level.extend(chain.from_iterable(level if len(types) == 1 else [v for v in level if type(v) is list]))
        level = next_level
    return True
