"""Parse numbers like Java: `parseInt`, `parseDouble`, `new BigDecimal`.

Where Java raises NumberFormatException, these functions raise ValueError. Both languages round to the nearest number, so
Python's own conversions return the same value wherever they accept the same strings.
"""

import math
import re
from array import array
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

from penstock import Type
from penstock_java_compat.property_text import trimmed
from penstock_plugins.connect.number_casts import float_value, to_float32, to_float32s
from penstock_plugins.connect.values import BOUNDS

__all__ = [
    "parse_big_decimal",
    "parse_big_integer",
    "parse_double",
    "parse_doubles",
    "parse_float",
    "parse_floats",
    "parse_integer",
    "parse_integers",
]

_INTEGER: Final = re.compile(r"[+-]?\d+")
_DECIMAL: Final = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEX: Final = re.compile(r"([+-]?)0[xX](?:([0-9a-fA-F]+)\.?|([0-9a-fA-F]*)\.([0-9a-fA-F]+))[pP]([+-]?[0-9]+)[fFdD]?")
_WORD: Final = re.compile(r"([+-]?)(NaN|Infinity)")
_BIG_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_LAST_CHAR: Final = "\uffff"  # Java reads UTF-16 units one by one, and half of a surrogate pair is not a digit
_REST: Final = 2**29 - 1  # the bits of a float64's fraction that a float32 does not have
_HALF: Final = 2**28
_LEAST_NORMAL: Final = 2.0**-126
_SHORT: Final = 20  # characters of a 64-bit number: the digits and a sign


def parse_integer(text: str, kind: Type) -> int:
    """Parse as `Byte.parseByte` to `Long.parseLong`: a sign and digits of any script, in range, without blanks.

    Raises:
        ValueError: the text is not such a number.
    """
    number = parse_big_integer(text)
    low, high = BOUNDS[kind]
    if not low <= number <= high:
        raise ValueError("out of range")
    return number


def parse_big_integer(text: str) -> int:
    """Parse as `new BigInteger(text)`: a sign and digits of any script, without blanks.

    Raises:
        ValueError: the text is not such a number.
    """
    if not _INTEGER.fullmatch(text) or max(text) > _LAST_CHAR:
        raise ValueError("not an integer")
    if len(text) <= _SHORT:
        return int(text)
    sign = -1 if text[0] == "-" else 1
    digits = "".join([str(int(c)) for c in text.lstrip("+-")]).lstrip("0")
    return sign * int(
        Decimal(digits or "0")
    )  # `int` of a string is limited to a few thousand digits; `int` of a Decimal is not


def parse_integers(texts: Sequence[str], kind: Type) -> list[int]:
    """Parse many strings as `parse_integer` does; fast if most are plain digits."""
    if not _have_only(texts, b"0123456789+-"):
        return [parse_integer(t, kind) for t in texts]
    numbers = list(map(int, texts))
    low, high = BOUNDS[kind]
    if min(numbers) < low or max(numbers) > high:
        raise ValueError("out of range")
    return numbers


def parse_double(text: str) -> float:
    """Parse as `Double.parseDouble`: allow surrounding blanks, an exponent, a suffix `f` or `d`, hex, `NaN`, `Infinity`.

    Raises:
        ValueError: the text is not such a number.
    """
    text = trimmed(text)
    if match := _DECIMAL.fullmatch(text):
        return float(match[1])
    return _parse_word_or_hex(text, _hex_double)


def parse_float(text: str) -> float:
    """Parse as `Float.parseFloat`: return the nearest float32, rounded once from the exact number.

    Raises:
        ValueError: the text is not such a number.
    """
    text = trimmed(text)
    if match := _DECIMAL.fullmatch(text):
        nearest = float(match[1])
        if not nearest or math.isinf(nearest):
            return nearest
        return float_value(Decimal(match[1]))
    return _parse_word_or_hex(text, _hex_float)


def parse_doubles(texts: Sequence[str]) -> list[float]:
    """Parse many strings as `parse_double` does; fast if most are plain decimal numbers."""
    # With these characters, `float` and Java read the same numbers and reject the same strings.
    return list(map(float if _have_only(texts, b"0123456789+-.eE") else parse_double, texts))


def parse_floats(texts: Sequence[str]) -> list[float]:
    """Parse many strings as `parse_float` does; fast if most are plain decimal numbers."""
    doubles = parse_doubles(texts)
    # Rounding first to 64 and then to 32 bits gives the nearest float32, unless the 64-bit number lies exactly halfway
    # between two of them, or is below the normal range.
    return [
        parse_float(text) if bits & _REST == _HALF or 0 < abs(number) < _LEAST_NORMAL else rounded
        for text, number, bits, rounded in zip(
            texts, doubles, memoryview(array("d", doubles)).cast("B").cast("Q"), to_float32s(doubles), strict=True
        )
    ]


def _have_only(texts: Sequence[str], allowed: bytes) -> bool:
    joined = "".join(texts)
    return joined.isascii() and not joined.encode().translate(None, allowed)


def _parse_word_or_hex(text: str, of_hex: Callable[[int, int], float]) -> float:
    if word := _WORD.fullmatch(text):
        return math.nan if word[2] == "NaN" else -math.inf if word[1] == "-" else math.inf
    if (match := _HEX.fullmatch(text)) is None:
        raise ValueError("not a number")
    sign, plain, whole, fraction, power = match.groups()
    mantissa = int(plain or whole + fraction, 16)
    # With an exponent beyond this limit, the number is infinite or zero, regardless of the digits of the mantissa.
    limit = 4 * len(text) + 5000
    exponent = max(-limit, min(limit, _bounded_exponent(power))) - 4 * len(fraction or "")
    number = of_hex(mantissa, exponent)
    return -number if sign == "-" else number


def _bounded_exponent(power: str) -> int:
    digits = power.lstrip("+-").lstrip("0") or "0"
    number = int(digits) if len(digits) < 19 else 10**18
    return -number if power[0] == "-" else number


def _hex_double(mantissa: int, exponent: int) -> float:
    try:
        return mantissa / (1 << -exponent) if exponent < 0 else float(mantissa << exponent)
    except OverflowError:
        return math.inf


def _hex_float(mantissa: int, exponent: int) -> float:
    spare = mantissa.bit_length() - 40
    if spare > 0:
        # For rounding to 24 bits, it matters only whether these low bits are all zero: keep one bit for all of them.
        mantissa = mantissa >> spare << 1 | (mantissa & ((1 << spare) - 1) != 0)
        exponent += spare - 1
    try:
        return to_float32(math.ldexp(mantissa, max(exponent, -400)))
    except OverflowError:
        return math.inf


def parse_big_decimal(text: str) -> Decimal:
    """Parse as `new BigDecimal(text)`: digits of any script, a scale of 32 bits, no blanks. There is no negative zero.

    Raises:
        ValueError: the text is not such a number.
    """
    if not _BIG_DECIMAL.fullmatch(text) or max(text) > _LAST_CHAR:
        raise ValueError("not a number")
    _, marked, power = text.lower().partition("e")
    if marked and not -(2**31) <= Decimal(power) < 2**31:
        raise ValueError("exponent out of range")
    number = Decimal(text)
    if not -(2**31) < int(number.as_tuple().exponent) <= 2**31:
        raise ValueError("scale out of range")
    return number or number.copy_abs()
