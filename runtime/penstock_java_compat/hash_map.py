"""Iteration order of Java's `HashMap`, for results of Kafka Connect that depend on it."""

from collections.abc import Iterable
from typing import TypeVar

__all__ = ["in_hash_order"]

_K = TypeVar("_K", str, str | None)


def in_hash_order(keys: Iterable[_K]) -> list[_K]:
    """Return the distinct strings (and null) in the iteration order of a `HashMap` into which they were put one by one."""
    distinct = list(dict.fromkeys(keys))
    buckets = 16
    while len(distinct) > buckets * 3 // 4:
        buckets *= 2
    return sorted(distinct, key=lambda key: _spread(key) & (buckets - 1))  # stable, like the lists in the buckets


def _spread(text: str | None) -> int:
    """Return `String.hashCode`, mixed as in `HashMap.hash`; 0 for null."""
    if text is None:
        return 0
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code ^ (code >> 16)
