"""Lists of field names in configurations: what Kafka Connect refuses in them (`ConfigDef.ValidList`)."""

from typing import Annotated

from penstock.config_rules import Rule

__all__ = ["FieldNames", "SomeFieldNames"]


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if "" in names:
        raise ValueError("values must not be empty. Take out the comma that nothing stands beside.")
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise ValueError(f"values must not be duplicated. Name '{twice}' once.")
    return names


def _some(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError("must not be empty. Name at least one field.")
    return names


FieldNames = Annotated[tuple[str, ...], Rule(_distinct, "each once, none empty")]
"""Names, each once, none of them empty; perhaps no name at all."""

SomeFieldNames = Annotated[tuple[str, ...], Rule(_some, "at least one"), Rule(_distinct, "each once, none empty")]
"""The same, but at least one."""
