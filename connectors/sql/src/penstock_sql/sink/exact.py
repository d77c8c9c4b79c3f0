"""Whole numbers that JsonConverter has cut to 64 bits, as Kafka Connect's does, and that are here what the message says."""

from collections.abc import Mapping
from typing import Any, Final

from penstock import Int64

__all__ = ["exact_column"]

_HOLDERS: Final = frozenset({Int64, dict, list})


def exact_column(column: list[Any]) -> list[Any]:
    """A column with the numbers of its messages, in lists and maps too."""
    return column if _HOLDERS.isdisjoint(map(type, column)) else list(map(_exact, column))


def _exact(value: Any) -> Any:
    if isinstance(value, Int64):
        return value if value.exact is None else value.exact
    if isinstance(value, Mapping):
        return {name: _exact(each) for name, each in value.items()}
    return list(map(_exact, value)) if isinstance(value, list) else value
