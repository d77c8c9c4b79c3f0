"""The order in which Java's `HashMap` names its keys, where Kafka Connect's results depend on it."""

from collections.abc import Iterable
from typing import TypeVar

__all__ = ["in_hash_order"]


K = TypeVar("K", str, str | None)


def in_hash_order(keys: Iterable[K]) -> list[K]:
    """Each of these texts (and null) once, as a `HashMap` that they were put into one by one iterates over them."""
    there = list(dict.fromkeys(keys))
    buckets = 16
    while len(there) > buckets * 3 // 4:
        buckets *= 2
    return sorted(there, key=lambda key: _spread(key) & (buckets - 1))  # stable, as the lists in the buckets are


def _spread(text: str | None) -> int:
    """`String.hashCode`, mixed as `HashMap.hash` does it; 0 for null."""
    if text is None:
        return 0
    units = text.encode("utf-16-be", "surrogatepass")
    found = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (31 * found + (high << 8 | low)) & 0xFFFFFFFF
    return found ^ (found >> 16)
