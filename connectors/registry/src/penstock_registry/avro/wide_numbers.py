"""Decode numbers of equal length, such as timestamps, together.

A loop over the bytes of each number takes most of the time of a record. Numbers that all take six bytes, as timestamps in
milliseconds do until 2039, are joined into one integer instead, and a few operations on it decode all of them.
"""

from collections.abc import Sequence
from functools import lru_cache
from struct import unpack
from typing import Final

__all__ = ["Varied", "common_width", "wide_numbers"]

_NARROWEST: Final = 3
"""Minimum length, in bytes, of numbers that are faster to decode together."""
_WIDEST: Final = 8


class Varied(Exception):
    """Raised when not all numbers have the expected length."""


def common_width(numbers: Sequence[int | None]) -> int | None:
    """Return the width in bytes of these numbers; None if it differs, or if decoding them together is not faster."""
    present = [number for number in numbers if number is not None]
    if not present:
        return None
    low, high = min(present), max(present)
    if low < 0 <= high:  # the numbers in between may have any width
        return None
    width = _width(low)
    return width if width == _width(high) and _NARROWEST <= width <= _WIDEST else None


def _width(number: int) -> int:
    stored = number << 1 if number >= 0 else ~number << 1 | 1
    return max(1, -(-stored.bit_length() // 7))


def wide_numbers(stored: Sequence[bytes | None], size: int) -> list[int | None]:
    """Return the numbers that are stored in these bytes; None stays None.

    Raises:
        Varied: a number is shorter or longer than `size` bytes.
    """
    try:
        return list(_read(stored, size))
    except TypeError:  # some are None
        numbers = iter(_read([each for each in stored if each is not None], size))
    return [None if each is None else next(numbers) for each in stored]


def _read(stored: Sequence[bytes | None], size: int) -> Sequence[int]:
    count = len(stored)
    if not count:
        return []
    gap = bytes(_WIDEST - size)
    data = gap.join(stored) + gap  # type: ignore[arg-type]  # a TypeError if one is None
    last, more, sevens, low, middle, high, value, ones = _masks(count, size)
    joined = int.from_bytes(data, "little")
    if len(data) != _WIDEST * count or joined & (last | more) != more:
        raise Varied
    joined &= sevens
    joined = (joined & low) | (joined & low << 8) >> 1
    joined = (joined & middle) | (joined & middle << 16) >> 2
    joined = (joined & high) | (joined & high << 32) >> 4
    negative = joined & ones
    joined = (joined >> 1 & value) ^ ((negative << 8 * _WIDEST) - negative)
    return unpack(f"<{count}q", joined.to_bytes(_WIDEST * count, "little"))


@lru_cache(maxsize=16)
def _masks(count: int, size: int) -> tuple[int, ...]:
    """Return the bit masks for `count` numbers of `size` bytes each."""
    each = (
        0x80 << 8 * (size - 1),
        sum(0x80 << 8 * i for i in range(size - 1)),
        0x7F7F7F7F7F7F7F7F,
        0x007F007F007F007F,
        0x00003FFF00003FFF,
        0x000000000FFFFFFF,
        0x7FFFFFFFFFFFFFFF,
        1,
    )
    return tuple(int.from_bytes(mask.to_bytes(_WIDEST, "little") * count, "little") for mask in each)
