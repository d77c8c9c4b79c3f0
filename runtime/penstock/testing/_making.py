"""Creation of a plugin, its configuration and its records."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from penstock.plugin import Plugin
from penstock.record import Record

__all__ = ["fresh", "make", "parsed"]

_P = TypeVar("_P", bound=Plugin)


def make(plugin: type[_P]) -> _P:
    """Create a plugin object as the runtime does."""
    return plugin()


def parsed(plugin: type[Plugin], properties: Mapping[str, str]) -> Any:
    """Parse properties with the `Config` of the plugin.

    Raises:
        ConfigError: the properties are invalid. Contains all problems.
    """
    return plugin.Config.parse(properties)


def fresh(records: Sequence[Record]) -> list[Record]:
    """Return deep copies of records, so that a plugin that modifies them is detected in any order of the tests."""
    return [
        r.replace(
            key=copy.deepcopy(r.key),
            value=copy.deepcopy(r.value),
            headers=tuple(h._replace(value=copy.deepcopy(h.value)) for h in r.headers),
        )
        for r in records
    ]
