"""Creation of a plugin, its configuration and its records."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from penstock.plugin import Plugin
from penstock.record import Record

__all__ = ["fresh", "make", "parsed"]

_P = TypeVar("_P", bound=Plugin)


def make(plugin: type[_P]) -> _P:
    """Create a plugin object like the runtime."""
    return plugin()


def parsed(plugin: type[Plugin], properties: Mapping[str, str]) -> Any:
    """Parse properties with the `Config` of the plugin.

    Raises:
        ConfigError: all problems of the properties.
    """
    return plugin.Config.parse(properties)


def fresh(records: Sequence[Record]) -> list[Record]:
    """Return deep copies of records, so that a test detects modified records regardless of the tests before it."""
    return [
        r.replace(
            key=copy.deepcopy(r.key),
            value=copy.deepcopy(r.value),
            headers=tuple(h._replace(value=copy.deepcopy(h.value)) for h in r.headers),
        )
        for r in records
    ]
