"""Find fields of an applied status that other managers wrote. Pure.

Server-side apply removes a field only if no other manager owns it. The fields of a restored status are owned by the client
that restored it, so they would be kept. Conditions of types that Penstock does not write belong to other controllers, and
are kept.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock_operator.reasons import ConditionType

__all__ = ["removal_of_leftovers", "without_foreign_conditions"]

_OWN: Final = frozenset(ConditionType)


def without_foreign_conditions(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return a status without the conditions of other controllers."""
    own = [c for c in status.get("conditions") or () if c["type"] in _OWN]
    return {**{n: v for n, v in status.items() if n != "conditions"}, **({"conditions": own} if own else {})}


def removal_of_leftovers(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON merge patch that removes unwanted fields and list entries; empty: there are none.

    Args:
        wanted: the status that was applied.
        found: the resulting status.
    """
    patch = _removal(wanted, without_foreign_conditions(found))
    foreign = [c for c in found.get("conditions") or () if c["type"] not in _OWN]
    if foreign and "conditions" in patch:
        patch["conditions"] = [*(patch["conditions"] or ()), *foreign]
    return patch


def _removal(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for name, value in found.items():
        if name not in wanted:
            patch[name] = None
        elif isinstance(value, Mapping) and isinstance(wanted[name], Mapping):
            if more := _removal(wanted[name], value):
                patch[name] = more
        elif isinstance(value, list) and _has_more(wanted[name], value):
            patch[name] = wanted[name]  # a merge patch replaces lists as a whole
    return patch


def _has_more(wanted: Sequence[Any], found: Sequence[Any]) -> bool:
    if len(found) != len(wanted):
        return len(found) > len(wanted)
    pairs = ((w, f) for w, f in zip(wanted, found, strict=True) if isinstance(w, Mapping) and isinstance(f, Mapping))
    return any(_is_same(w, f) and _removal(w, f) for w, f in pairs)


def _is_same(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Return whether both are the same entry of a list."""
    return all(found.get(name) == value for name, value in wanted.items() if not isinstance(value, (Mapping, list)))
