"""Exact values of numbers that JsonConverter, as in Kafka Connect, truncates to 64 bits or makes infinite."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from penstock import Float32, Float64, Int64

__all__ = ["Beyond", "exact_column"]

_HOLDERS: Final = frozenset({Int64, Float32, Float64, dict, list})


class Beyond(Decimal):
    """Number beyond the range of floats."""


def exact_column(column: list[Any]) -> list[Any]:
    """Return a column with the exact numbers of its messages, including those within lists and maps."""
    return column if _HOLDERS.isdisjoint(map(type, column)) else list(map(_exact, column))


def _exact(value: Any) -> Any:
    if isinstance(value, Int64):
        return value if value.exact is None else value.exact
    if isinstance(value, (Float32, Float64)):
        return value if value.exact is None else Beyond(value.exact)
    if isinstance(value, Mapping):
        return {name: _exact(each) for name, each in value.items()}
    return list(map(_exact, value)) if isinstance(value, list) else value
