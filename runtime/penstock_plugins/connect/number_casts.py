"""Casts between Java's numbers, such as `(short) number`, `(float) number` and `BigDecimal.doubleValue`."""

import math
import struct
from array import array
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from penstock import Type
from penstock_plugins.connect.values import BOUNDS

__all__ = ["double_value", "float_value", "low_bits", "narrow", "to_float32", "to_float32s", "truncate"]

_EXACT: Final = 2**53
"""Largest integer up to which a float64 represents each integer exactly."""


def narrow(number: int, kind: Type) -> int:
    """Cast an integer to a narrower type: its low bits are kept."""
    low, high = BOUNDS[kind]
    return number if low <= number <= high else (number - low) % (high - low + 1) + low


def truncate(number: float, kind: Type) -> int:
    """Cast a float to an integer: round toward zero, stop at the bounds of the type, and return 0 for NaN.

    Types of less than 32 bits get the low bits of the 32-bit result.
    """
    if number != number:
        return 0
    wide = Type.INT64 if kind is Type.INT64 else Type.INT32
    low, high = BOUNDS[wide]
    return narrow(low if number <= low else high if number >= high else int(number), kind)


def to_float32(number: float) -> float:
    """Return `(float) number` for an int or float: the nearest float32; infinite if out of range."""
    if isinstance(number, int) and not -_EXACT <= number <= _EXACT:
        return float_value(int(number))
    return float(array("f", (number,))[0])


def to_float32s(numbers: Sequence[float]) -> list[float]:
    """Return `to_float32` of many numbers."""
    if isinstance(numbers[0], int) and (min(numbers) < -_EXACT or max(numbers) > _EXACT):
        return list(map(to_float32, numbers))
    return array("f", numbers).tolist()


def low_bits(number: Any, kind: Type) -> int:
    """Return `intValue` or `longValue`, narrowed to a type: the low bits of the integer part; 0 for a non-number."""
    if isinstance(number, bool) or not isinstance(number, (int, Decimal)):
        return 0
    if isinstance(number, Decimal):
        exponent = int(number.as_tuple().exponent)
        # Java keeps the low 64 bits; they are all 0 in a multiple of a power of ten beyond 10^64.
        number = 0 if exponent > 64 or number.adjusted() < 0 else int(number)
    return narrow(int(number), kind)


def double_value(number: Any) -> float:
    """Return `doubleValue`: the nearest float64; infinite if out of range; 0 if the value is not a number."""
    if isinstance(number, bool) or not isinstance(number, (int, Decimal)) or not number:
        return 0.0
    try:
        return float(number)
    except OverflowError:
        return -math.inf if number < 0 else math.inf


def float_value(number: Any) -> float:
    """Return `floatValue`: the nearest float32, rounded once from the exact number; 0 if the value is not a number."""
    nearest = double_value(number)
    if not nearest or math.isinf(nearest):
        return nearest
    if nearest != number and struct.pack(">d", nearest)[-1] & 1 == 0:
        # Rounding to odd keeps the information that digits were lost, so that the second rounding is correct.
        nearest = math.nextafter(nearest, math.inf if number > nearest else -math.inf)
    try:
        return float(struct.unpack(">f", struct.pack(">f", nearest))[0])
    except OverflowError:
        return math.copysign(math.inf, nearest)
