"""Casts between Java's numbers: `(short) number`, `(float) number`, `BigDecimal.doubleValue` and the like."""

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
"""Up to here each integer is a float64."""


def narrow(number: int, kind: Type) -> int:
    """The low bits of an integer, as a cast to a narrower type leaves them."""
    low, high = BOUNDS[kind]
    return number if low <= number <= high else (number - low) % (high - low + 1) + low


def truncate(number: float, kind: Type) -> int:
    """A float as an integer: toward zero, the nearest bound beyond, NaN 0; less than 32 bits are the low bits of 32."""
    if number != number:
        return 0
    wide = Type.INT64 if kind is Type.INT64 else Type.INT32
    low, high = BOUNDS[wide]
    return narrow(low if number <= low else high if number >= high else int(number), kind)


def to_float32(number: float) -> float:
    """`(float) number` of an int or float: the nearest of 32 bits, infinite beyond."""
    if isinstance(number, int) and not -_EXACT <= number <= _EXACT:
        return float_value(int(number))
    return float(array("f", (number,))[0])


def to_float32s(numbers: Sequence[float]) -> list[float]:
    """`to_float32` of many."""
    if isinstance(numbers[0], int) and (min(numbers) < -_EXACT or max(numbers) > _EXACT):
        return list(map(to_float32, numbers))
    return array("f", numbers).tolist()


def low_bits(node: Any, kind: Type) -> int:
    """`intValue`/`longValue` narrowed to a width: the low bits of the integer part, 0 for what is no number."""
    if isinstance(node, bool) or not isinstance(node, (int, Decimal)):
        return 0
    if isinstance(node, Decimal):
        exponent = int(node.as_tuple().exponent)
        # Java cuts to 64 bits; a power of ten beyond 10^64 has none of them.
        node = 0 if exponent > 64 or node.adjusted() < 0 else int(node)
    low, high = BOUNDS[kind]
    span = high - low + 1
    return int((node - low) % span + low)


def double_value(node: Any) -> float:
    """`doubleValue`: rounded to the nearest, infinite beyond; 0 for what is no number."""
    if isinstance(node, bool) or not isinstance(node, (int, Decimal)) or not node:
        return 0.0
    try:
        return float(node)
    except OverflowError:
        return -math.inf if node < 0 else math.inf


def float_value(node: Any) -> float:
    """`floatValue`: rounded once, from the exact number."""
    near = double_value(node)
    if not near or math.isinf(near):
        return near
    if near != node and struct.pack(">d", near)[-1] & 1 == 0:
        # Rounding to odd keeps what is lost, so that the second rounding is right.
        near = math.nextafter(near, math.inf if node > near else -math.inf)
    try:
        return float(struct.unpack(">f", struct.pack(">f", near))[0])
    except OverflowError:
        return math.copysign(math.inf, near)
