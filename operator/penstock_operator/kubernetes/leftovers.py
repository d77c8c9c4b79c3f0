"""Finds fields that others have written to an applied object. Pure.

Server-side apply removes a field only if no other manager owns it. A restored status is owned by who restored it, so its
fields would stay.
"""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["removal_of_leftovers"]


def removal_of_leftovers(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON merge patch that removes the fields and list entries that are not wanted; empty: there are none.

    Args:
        wanted: as it was applied.
        found: the result of that.
    """
    patch: dict[str, Any] = {}
    for name, value in found.items():
        if name not in wanted:
            patch[name] = None
        elif isinstance(value, Mapping) and isinstance(wanted[name], Mapping):
            if more := removal_of_leftovers(wanted[name], value):
                patch[name] = more
        elif isinstance(value, list) and _has_more(wanted[name], value):
            patch[name] = wanted[name]  # a merge patch replaces a whole list
    return patch


def _has_more(wanted: Sequence[Any], found: Sequence[Any]) -> bool:
    if len(found) != len(wanted):
        return len(found) > len(wanted)
    pairs = ((w, f) for w, f in zip(wanted, found, strict=True) if isinstance(w, Mapping) and isinstance(f, Mapping))
    return any(_is_same(w, f) and removal_of_leftovers(w, f) for w, f in pairs)


def _is_same(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Return whether both are one entry: their order may differ."""
    return all(found.get(name) == value for name, value in wanted.items() if not isinstance(value, (Mapping, list)))
