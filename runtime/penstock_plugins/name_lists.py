"""Rules for properties that are lists of names, with Kafka Connect's messages."""

from typing import Final

from penstock.config_rules import Rule

__all__ = ["not_empty", "unique"]


def _not_empty(names: list[str]) -> list[str]:
    if not names:
        raise ValueError("Empty list. Name at least one")
    return names


def _unique(names: list[str]) -> list[str]:
    if "" in _not_empty(names):
        raise ValueError("Configuration values must not be empty; there is nothing between two commas, or at an end")
    if len(set(names)) != len(names):
        raise ValueError("Configuration values must not be duplicated. Name each once")
    return names


not_empty: Final = Rule(_not_empty, "at least one")
"""At least one name."""

unique: Final = Rule(_unique, "at least one, each once, none empty")
"""At least one name, each once, and none of them empty."""
