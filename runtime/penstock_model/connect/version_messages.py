"""Messages about versions that do not exist, with the default and the recommended versions (KIP-891). Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from penstock.errors import Problem
from penstock_model.connect.versions import Version

__all__ = ["newest_first", "not_found", "reported_once", "there_are"]

_NOT_FOUND: Final = " not found that matches the version range "


def newest_first(versions: Iterable[str]) -> tuple[str, ...]:
    """Return the recommended versions of a plugin; the first one is the default."""
    return tuple(sorted(dict.fromkeys(versions), key=Version, reverse=True))


def not_found(plugin: str, wanted: object, available: Iterable[str]) -> str:
    """Return Kafka Connect's message for a range without a version, with the default and recommended versions."""
    return f"Plugin {plugin}{_NOT_FOUND}{wanted}, {there_are(available)}"


def there_are(available: Iterable[str]) -> str:
    """Return the available, the default and the recommended versions of a plugin, for messages."""
    recommended = newest_first(available)
    if not recommended:
        return "available versions: []"
    listed = ", ".join(reversed(recommended))
    if len(recommended) == 1:
        return f"available versions: [{listed}] (default and recommended: {listed})"
    return f"available versions: [{listed}] (default: {recommended[0]}; recommended: {', '.join(recommended)})"


def reported_once(problems: Iterable[Problem]) -> Sequence[Problem]:
    """Merge the problems of each missing version into one, which names all properties that request it."""
    found: dict[object, list[Problem]] = {}
    for n, problem in enumerate(problems):
        found.setdefault(problem.message if _NOT_FOUND in problem.message else n, []).append(problem)
    return [Problem(", ".join(dict.fromkeys(p.property for p in same)), same[0].message) for same in found.values()]
