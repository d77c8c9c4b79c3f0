"""Print doubles and floats like Java 17 (`Double.toString`, `Float.toString`).

Java before 19 does not print the shortest digits that identify a number: it prints 2e23 as 1.9999999999999998E23. This
module implements its algorithm, `jdk.internal.math.FloatingDecimal.dtoa`, with Python's integers.
"""

import math
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

__all__ = ["double_text", "float_text", "plain_range", "plain_ranges"]

_EXP_SHIFT: Final = 52
_MAX_SMALL, _MIN_SMALL = 62, -21
_LEAST_NORMAL: Final = 2.0**-1022
_LONG_5_POWERS: Final = 27
_FIVE_BITS: Final = tuple((5**n).bit_length() if n else 0 for n in range(_LONG_5_POWERS))
# Number of insignificant decimal digits, by the number of insignificant low bits.
_INSIGNIFICANT: Final = (
    *(0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9),
    *(9, 9, 10, 10, 10, 11, 11, 11, 12, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15, 15, 16, 16, 16),
    *(17, 17, 17, 18, 18, 18, 19),
)


def plain_range(number: float) -> bool:
    """Return whether Java prints the same as `repr`: in Java's plain form its digits are the shortest, as in Python.

    Java's digits differ from Python's only in the E form, or if a midpoint between two doubles is itself a short decimal;
    below 1e7 a midpoint has at least 29 binary places.
    """
    return number == 0 or 1e-3 <= number < 1e7 or -1e7 < number <= -1e-3


def plain_ranges(numbers: Sequence[float]) -> bool:
    """Return True only if `plain_range` is true for all. Compares only minimum and maximum: False may mean unknown."""
    return min(numbers) >= 1e-3 and max(numbers) < 1e7 and not math.isnan(sum(numbers))


def double_text(number: float) -> str:
    """Return the result of `Double.toString`."""
    if plain_range(number):
        return repr(number)
    return _scientific(number) if _e_range(number) else _double_text(number)


def _e_range(number: float) -> bool:
    """Return whether Java's digits are the shortest in its E form, too.

    Java prints whole numbers in full. It ends other numbers at the same decimal as Python, because a midpoint between two
    doubles below 2^51 has too many digits, and appends a zero to a single digit. If the algorithm needs fewer than 64 bits,
    Java's `int` or `long` may overflow at the last digits; the bits that are required here exclude that. They also exclude
    powers of two, whose two neighbors are not equally close.
    """
    size = abs(number)
    if size >= 1e7:
        return size < 2.0**51 and (number.is_integer() or int(math.frexp(size)[0] * 2**53) & 0x1FFFFF != 0)
    return _LEAST_NORMAL <= size < 2.0**-16 and int(math.frexp(size)[0] * 2**53) & 7 != 0


def _scientific(number: float) -> str:
    """Return the digits of `repr` in Java's E form."""
    text = repr(number)
    if "e" in text:
        digits, _, power = text.partition("e")
        return f"{digits if '.' in digits else digits + '.0'}E{int(power)}"
    sign = "-" if number < 0 else ""
    whole, _, fraction = text.lstrip("-").partition(".")
    return f"{sign}{whole[0]}.{(whole[1:] + fraction).rstrip('0') or '0'}E{len(whole) - 1}"


@lru_cache(4096)
def _double_text(number: float) -> str:
    if number != number:
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    bits = int.from_bytes(struct.pack(">d", number), "big")
    exponent, fraction = (bits >> 52) & 0x7FF, bits & ((1 << 52) - 1)
    if exponent:
        fraction |= 1 << 52
        significant = 53
    else:
        shift = 53 - fraction.bit_length()
        significant = fraction.bit_length()
        fraction <<= shift
        exponent = 1 - shift
    return ("-" if bits >> 63 else "") + _layout(*_digits(exponent - 1023, fraction, significant))


def float_text(number: float) -> str:
    """Return the result of `Float.toString` for the nearest float."""
    # The two zeros are equal, so the cache would return one instead of the other.
    return _float_text(number) if number else repr(float(number))


@lru_cache(4096)
def _float_text(number: float) -> str:
    try:
        packed = struct.pack(">f", number)
    except OverflowError:
        return "Infinity" if number > 0 else "-Infinity"
    bits = int.from_bytes(packed, "big")
    exponent, fraction = (bits >> 23) & 0xFF, bits & ((1 << 23) - 1)
    sign = "-" if bits >> 31 else ""
    if exponent == 0xFF:
        return "NaN" if fraction else f"{sign}Infinity"
    if not exponent and not fraction:
        return f"{sign}0.0"
    if exponent:
        fraction |= 1 << 23
        significant = 24
    else:
        shift = 24 - fraction.bit_length()
        significant = fraction.bit_length()
        fraction <<= shift
        exponent = 1 - shift
    return sign + _layout(*_digits(exponent - 127, fraction << 29, significant))


def _digits(exponent: int, fraction: int, significant: int) -> tuple[str, int]:
    """Return the digits, and the position of the decimal point in them. Variables are named as in `dtoa`, shortened."""
    tail = (fraction & -fraction).bit_length() - 1
    used = _EXP_SHIFT + 1 - tail
    tiny = max(0, used - exponent - 1)
    if _MIN_SMALL <= exponent <= _MAX_SMALL and tiny == 0:
        drop = _insignificant(exponent - significant - 1) if exponent > significant else 0
        whole = fraction << (exponent - _EXP_SHIFT) if exponent >= _EXP_SHIFT else fraction >> (_EXP_SHIFT - exponent)
        return _long_digits(whole, drop)
    point = _estimate(fraction, exponent)
    b5, s5 = max(0, -point), max(0, point)
    b2, s2 = b5 + tiny + exponent, s5 + tiny
    m2 = b2 - significant
    fraction >>= tail
    b2 -= used - 1
    common = min(b2, s2)
    b2, s2, m2 = b2 - common, s2 - common, m2 - common
    if used == 1:
        m2 -= 1
    if m2 < 0:
        b2, s2, m2 = b2 - m2, s2 - m2, 0
    bits = max(used + b2 + _five_bits(b5), s2 + 1 + _five_bits(s5 + 1))
    half = 1 << 31 if bits < 32 else 1 << 63 if bits < 64 else 0  # Java's int, long, or unbounded numbers
    b, s, m = (fraction * 5**b5) << b2, 5**s5 << s2, 5**b5 << m2
    tens = s * 10
    digit, b = b // s, 10 * (b % s)
    m = _wrapped(m * 10, half)
    low, high = b < m, _reaches(b, m, tens, half)
    digits: list[int] = []
    if digit == 0 and not high:
        point -= 1
    else:
        digits.append(digit)
    if point < -3 or point >= 8:  # the E form has a digit after the point even if it needs none
        high = low = False
    while not low and not high:
        digit, b = b // s, 10 * (b % s)
        m = _wrapped(m * 10, half)
        low, high = (b < m, _reaches(b, m, tens, half)) if m > 0 else (True, True)
        digits.append(digit)
    if high and (not low or (b << 1) > tens or ((b << 1) == tens and digits[-1] & 1)):
        return _rounded_up(digits, point + 1)
    return "".join(map(str, digits)), point + 1


def _wrapped(number: int, half: int) -> int:
    """Return a number as it is after an overflow in Java, which affects the digits of numbers around 1e25."""
    return (number + half) % (2 * half) - half if half else number


def _reaches(b: int, m: int, tens: int, half: int) -> bool:
    return _wrapped(b + m, half) > tens if half else b + m >= tens


def _five_bits(power: int) -> int:
    return _FIVE_BITS[power] if power < _LONG_5_POWERS else power * 3


def _insignificant(bits: int) -> int:
    return _INSIGNIFICANT[bits] if 1 < bits < len(_INSIGNIFICANT) else 0


def _estimate(fraction: int, exponent: int) -> int:
    mantissa = fraction / (1 << 52)
    return math.floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981)


def _long_digits(whole: int, drop: int) -> tuple[str, int]:
    if drop:
        power = 10**drop
        whole, rest = divmod(whole, power)
        if rest >= power >> 1:
            whole += 1
    text = str(whole)
    return text.rstrip("0"), len(text) + drop


def _rounded_up(digits: list[int], point: int) -> tuple[str, int]:
    i = len(digits) - 1
    while digits[i] == 9 and i > 0:
        digits[i] = 0
        i -= 1
    if digits[i] == 9:  # all nines
        return "1" + "0" * (len(digits) - 1), point + 1
    digits[i] += 1
    return "".join(map(str, digits)), point


def _layout(digits: str, point: int) -> str:
    if 0 < point < 8:
        whole = digits[:point].ljust(point, "0")
        return f"{whole}.{digits[point:] or '0'}"
    if -3 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    return f"{digits[0]}.{digits[1:] or '0'}E{point - 1}"
