"""Making one plugin and its configuration, as the runtime does."""

from collections.abc import Mapping
from typing import Any, TypeVar

from penstock.plugin import Plugin

__all__ = ["make", "parsed"]

_P = TypeVar("_P", bound=Plugin)


def make(plugin: type[_P]) -> _P:
    """A plugin object, as the runtime makes it."""
    return plugin()


def parsed(plugin: type[Plugin], properties: Mapping[str, str]) -> Any:
    """These properties, parsed by the `Config` of the plugin.

    Raises:
        ConfigError: holds all problems.
    """
    return plugin.Config.parse(properties)
