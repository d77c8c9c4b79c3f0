"""Plugins in the JSON formats of Kafka Connect's REST API: `PluginInfo`, `ConfigKeyInfo`. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.errors import ConfigError
from penstock_model.connect.connector_config import config_class
from penstock_model.connect.plugin_names import CONNECTOR_ENDING
from penstock_model.connect.version_messages import newest_first, not_found
from penstock_model.connect.versions import Version, VersionRange
from penstock_model.contracts.definitions import ClassDefinition, ConfigKey, config_key

__all__ = [
    "NoSuchVersion",
    "PluginRow",
    "UnknownPlugin",
    "framework_keys",
    "plugin_infos",
    "plugin_keys",
    "plugin_rows",
]

_OWN_KEYS: Final = tuple(
    ConfigKey(
        name=name,
        type=type_,
        required=required,
        default_value=default,
        importance="HIGH",
        documentation=text,
        group="Common",
        order_in_group=order,
        display_name=display,
    )
    for order, (name, type_, required, default, display, text) in enumerate(
        (
            ("name", "STRING", True, None, "Connector name", "Name of the Connector resource (metadata.name)."),
            ("connector.class", "STRING", True, None, "Connector class", "Class of the connector (spec.class)."),
            ("connector.plugin.version", "STRING", False, None, "Connector version", "Version (spec.version)."),
            ("tasks.max", "INT", False, "1", "Tasks max", "Maximum number of tasks (spec.tasksMax)."),
        ),
        1,
    )
)
"""Properties of Kafka Connect that are fields of the resource."""
_TYPES: Final[Mapping[str, str]] = {
    "sink": "sink",
    "source": "source",
    "transform": "transformation",
    "predicate": "predicate",
    "converter": "converter",
    "headerConverter": "header_converter",
}


class UnknownPlugin(ConfigError):
    """Raised when there is no plugin of that name."""


class NoSuchVersion(ConfigError):
    """Raised when a plugin does not exist in the requested version."""


@dataclass(frozen=True, slots=True)
class PluginRow:
    """One class in one version.

    Attributes:
        class_name: Kafka Connect's name of the class if it has one, with a variant (`$Key`) if the class has variants.
        names: all names that mean the class.
        definition: its definition.
    """

    class_name: str
    names: frozenset[str]
    definition: ClassDefinition


def plugin_rows(definitions: Iterable[ClassDefinition]) -> list[PluginRow]:
    """Return a row for each class, variant and version, ordered as Kafka Connect lists them."""
    found = {
        (row.class_name, row.definition.type, row.definition.version): row for d in definitions for row in _rows(d)
    }
    order = [*_TYPES]
    return sorted(
        found.values(), key=lambda r: (order.index(r.definition.type), r.class_name, Version(r.definition.version))
    )


def plugin_infos(rows: Iterable[PluginRow], *, connectors_only: bool) -> list[dict[str, str]]:
    """Return `PluginInfo` of each row."""
    return [
        {"class": row.class_name, "type": _TYPES[row.definition.type], "version": row.definition.version}
        for row in rows
        if not connectors_only or row.definition.type in ("source", "sink")
    ]


def plugin_keys(
    rows: Iterable[PluginRow], name: str, version: str | None
) -> tuple[ClassDefinition, tuple[ConfigKey, ...]]:
    """Return a class and its properties, including those of every connector.

    Args:
        rows: all plugins.
        name: name of the class, or an alias.
        version: version or range of versions; None: the latest.

    Raises:
        UnknownPlugin, NoSuchVersion: there is none.
    """
    named = [row for row in rows if name in row.names]
    if not named:
        raise UnknownPlugin(f"Unknown plugin {name}.")
    versions = newest_first({row.definition.version for row in named})
    if version is not None:
        try:
            wanted = VersionRange.requested(version)
        except ValueError as e:
            raise NoSuchVersion(f"cannot read the version {version}: {e}") from None
        within = [v for v in versions if wanted is None or v in wanted]
        if not within:
            raise NoSuchVersion(not_found(named[0].class_name, wanted, versions))
        versions = tuple(within)
    found = next(row.definition for row in named if row.definition.version == versions[0])
    own = {key.name for key in found.config}
    return found, (*found.config, *(key for key in framework_keys(found.type) if key.name not in own))


def framework_keys(kind: str) -> tuple[ConfigKey, ...]:
    """Return the properties that every source or sink has; none for other plugins."""
    if kind not in ("source", "sink"):
        return ()
    return (*_OWN_KEYS, *(config_key(p) for p in config_class(kind).properties()))


def _rows(definition: ClassDefinition) -> Iterator[PluginRow]:
    java = definition.java_names[0] if definition.java_names else definition.class_name
    outer = java if definition.is_java else java.partition("$")[0]
    own = {definition.class_name, definition.class_name.rpartition(".")[2], *definition.java_names}
    own |= {n.rpartition(".")[2] for n in definition.java_names}
    own |= {n.removesuffix(CONNECTOR_ENDING) for n in own if definition.type in ("source", "sink")} - {""}
    for variant in definition.variants or ("",):
        ending = f"${variant}" if variant else ""
        yield PluginRow(f"{outer}{ending}", frozenset(f"{n}{ending}" for n in own), definition)
