"""Schemas to which other schemas refer."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from penstock import DataError

__all__ = ["Reference", "collect_references"]

_DEEPEST: Final = 100
_MOST: Final = 10_000
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Reference:
    """Schema to which another one refers by a name: a type, a file or a URI, depending on the format."""

    name: str
    text: str


def collect_references(
    first: Iterable[K], fetch: Callable[[K], tuple[Reference, Iterable[K]]]
) -> tuple[Reference, ...]:
    """Return the direct and indirect references of a schema, each after its own references.

    Args:
        first: keys of the schema's direct references.
        fetch: function that returns the reference with a key, and the keys of the references in it.

    Raises:
        DataError: a reference refers to itself, directly or indirectly, or there are too many.
    """
    found: dict[K, Reference] = {}

    def collect(keys: Iterable[K], path: tuple[K, ...]) -> None:
        for key in keys:
            if key in found:
                continue
            reference, more = fetch(key)
            if key in path:
                raise _refused(f"its reference {reference.name} refers to itself")
            if len(path) >= _DEEPEST:
                raise _refused(f"its references are nested more than {_DEEPEST} levels deep")
            if len(found) >= _MOST:
                raise _refused(f"it has more than {_MOST} references")
            collect(more, (*path, key))
            found[key] = reference

    collect(first, ())
    return tuple(found.values())


def _refused(cause: str) -> DataError:
    return DataError(f"cannot use a schema of the registry: {cause}; correct the references of the schema")
