"""Names of a project's plugins, and of their properties, that already have another meaning."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from packaging.utils import canonicalize_name

from penstock.errors import ConfigError, Problem
from penstock_cli.plugin.classes import InspectedPlugin
from penstock_cli.plugin.project import ENTRY_POINTS
from penstock_model.connect.connector_config import config_class
from penstock_model.connect.plugin_chain import CONVERTERS, PLUGIN_VERSION
from penstock_model.resources.connector_spec import OWNED
from penstock_model.validation.client_overrides import OVERRIDES
from penstock_runtime.plugins.discovery import Plugins

__all__ = ["refuse_taken_names"]

_OF_CHAIN: Final[Mapping[str, Collection[str]]] = {
    "transform": ("type", "predicate", "negate", PLUGIN_VERSION),
    "predicate": ("type", PLUGIN_VERSION),
    "converter": (PLUGIN_VERSION,),
    "headerConverter": (PLUGIN_VERSION,),
}
_PREFIXES: Final = (
    "transforms.",
    "predicates.",
    "topic.creation.",
    *(f"{c}." for c in CONVERTERS),
    *OVERRIDES.values(),
)
"""Prefixes of connector properties that are not passed to its plugin."""


def refuse_taken_names(distribution: str, classes: Sequence[InspectedPlugin]) -> None:
    """Raise ConfigError if a configuration could not name a plugin, or could not set one of its properties.

    Args:
        distribution: distribution of the project; an installed version of it is not a conflict.
        classes: its plugins.

    Raises:
        ConfigError: names are taken; the error lists all problems, by alias.
    """
    if problems := [*_aliases(distribution, classes), *_properties(classes)]:
        raise ConfigError(problems)


def _aliases(distribution: str, classes: Sequence[InspectedPlugin]) -> Iterator[Problem]:
    own = canonicalize_name(distribution)
    others = {e.alias: e for e in Plugins.installed().entries if canonicalize_name(e.distribution) != own}
    for looked in classes:
        if (other := others.get(looked.alias)) is not None:
            yield Problem(
                looked.alias,
                f"{other.distribution} {other.version}, which is installed here, has a plugin of that name "
                f"({other.path}), so that the name is ambiguous; choose another name in {ENTRY_POINTS}",
            )


def _properties(classes: Sequence[InspectedPlugin]) -> Iterator[Problem]:
    for looked in classes:
        kind = looked.type or ""
        of_connector = kind in ("source", "sink")
        taken = (
            {*OWNED, *(p.name for p in config_class(kind).properties())} if of_connector else _OF_CHAIN.get(kind, ())
        )
        for name in looked.properties:
            if name in taken or (of_connector and name.startswith(_PREFIXES)):
                yield Problem(
                    looked.alias,
                    f"its property {name} has the name of a property that Penstock reads for every {kind}, so that a "
                    "value would be used for both; rename it",
                )
