"""Rules for lists of names in configurations (`ConfigDef.ValidList`)."""

from typing import Annotated

from penstock.rules import Rule

__all__ = ["DistinctNames", "NonEmptyDistinctNames", "NonEmptyNames"]


def _require_distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if "" in names:
        raise ValueError("values must not be empty. Remove the comma without a name next to it.")
    if len(set(names)) != len(names):
        repeated = next(n for n in names if names.count(n) > 1)
        raise ValueError(f"values must not be duplicated. Name '{repeated}' once.")
    return names


def _require_any(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError("must not be empty. Name at least one.")
    return names


DistinctNames = Annotated[tuple[str, ...], Rule(_require_distinct, "each once, none empty")]
"""Names, each once and none empty. The list may be empty."""

NonEmptyNames = Annotated[tuple[str, ...], Rule(_require_any, "at least one")]
"""At least one name."""

NonEmptyDistinctNames = Annotated[
    tuple[str, ...], Rule(_require_any, "at least one"), Rule(_require_distinct, "each once, none empty")
]
"""At least one name, each once and none empty."""
