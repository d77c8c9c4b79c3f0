"""Parse numbers in text like Java's `NumberFormat.getIntegerInstance`, as `SimpleDateFormat` does."""

import re
import unicodedata
from typing import Final

from penstock_java_compat.calendar import int32

__all__ = ["integer_at"]

# Digits of any script, but of the first 65,536 characters only: Java looks at one `char` at a time.
_DIGITS: Final = r"(?:(?![\U00010000-\U0010FFFF])\d)+"
_NUMBER: Final = re.compile(rf"NaN|(-?)(?:(∞)|({_DIGITS})(?:E(-?{_DIGITS}))?)")
_USUAL: Final = re.compile(r"-?[0-9]{1,9}(?![0-9E]|[^\x00-\x7F])")
_LEAST, _GREATEST = -(2**31), 2**31 - 1


def integer_at(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the number that starts at `start`, as an `int`, and its end; None if there is none.

    A number beyond 64 bits, infinite or with a fraction is converted through a `double`, and saturates. An integer beyond
    32 bits keeps its low bits. An exponent after E is applied.
    """
    found = _USUAL.match(text, start, end)
    if found is not None:
        return int(found.group()), found.end()
    found = _NUMBER.match(text, start, end)
    if found is None:
        return None
    minus, infinite, digits, exponent = found.groups()
    if digits is None:
        return (0 if infinite is None else _LEAST if minus else _GREATEST), found.end()
    power = 0
    if exponent is not None:
        power = _short_int(exponent)
        if not -(2**63) <= power < 2**63:
            return _value(minus, _ascii(digits), 0), found.end(3)
    return _value(minus, _ascii(digits), int32(power)), found.end()


def _short_int(text: str) -> int:
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text)
    digits = _ascii(digits)
    return sign * (int(digits or "0") if len(digits) < 30 else 2**64)


def _ascii(digits: str) -> str:
    """Return ASCII digits without leading zeros."""
    if not digits.isascii():
        digits = "".join(str(unicodedata.decimal(d)) for d in digits)
    return digits.lstrip("0")


def _value(minus: str, digits: str, power: int) -> int:
    if not digits or len(digits) + power < 0:
        return 0
    if len(digits) + power > 400:
        return _LEAST if minus else _GREATEST
    shown = digits.rstrip("0")
    power += len(digits) - len(shown)
    if power >= 0:
        number = int(shown + "0" * power)
        number = -number if minus else number
        if -(2**63) <= number < 2**63:
            return int32(number)
    else:
        number = int(float(f"{minus}{shown}E{power}"))
    return _LEAST if number < _LEAST else min(number, _GREATEST)
