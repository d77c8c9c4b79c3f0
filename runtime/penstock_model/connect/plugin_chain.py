"""Plugins that the properties of a connector define, each with its place and its own properties. Pure.

The plan checks the plugins and the task builds them. Both read the properties with this module, so that they agree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock_java_compat.property_text import items, trimmed
from penstock_model.connect.plugin_names import PluginKind

__all__ = [
    "CONNECTOR",
    "CONVERTERS",
    "PLUGIN_VERSION",
    "AskedPlugin",
    "Place",
    "TransformPlace",
    "aliases",
    "asked_plugins",
    "class_names",
    "converter",
    "predicates",
    "transforms",
    "type_property",
]

CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")
PLUGIN_VERSION: Final = "plugin.version"
_CONVERTER_KINDS: Final[Mapping[str, PluginKind]] = {
    "key.converter": "converter",
    "value.converter": "converter",
    "header.converter": "headerConverter",
}
CONNECTOR: Final = "connector"
"""Place of the connector itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """Place of one plugin in a configuration.

    Attributes:
        name: `value.converter`, `transforms.hoist`, `predicates.tombstone`: the key in `TaskSpec.plugins`.
        type_property: property that names the class (`value.converter`, `transforms.hoist.type`).
        type: name of the class; None if the property is missing.
        version: `<name>.plugin.version`, None if not set.
        properties: properties of the plugin, without the prefix and without `type`, `predicate`, `negate`, `plugin.version`.
        from_worker: whether it is a converter that the worker configuration names.
    """

    name: str
    type_property: str
    type: str | None
    version: str | None
    properties: Mapping[str, str]
    from_worker: bool = False

    @property
    def prefix(self) -> str:
        """Return the prefix of the plugin's own properties."""
        return f"{self.name}."


@dataclass(frozen=True, slots=True)
class TransformPlace(Place):
    """Place of a transform; `predicate` is an alias, `negate` the text as written."""

    predicate: str | None = None
    negate: str | None = None

    @property
    def negated(self) -> bool:
        return (self.negate or "").lower() == "true"


@dataclass(frozen=True, slots=True)
class AskedPlugin:
    """Plugin that a place requires, by class and version.

    Attributes:
        place: key in `TaskSpec.plugins`.
        kind: kind of plugin.
        name: name of the class, without surrounding blanks and without `$Key` or `$Value`.
        version: version range as written; None if there is none.
        type_property, version_property: names of the properties that the author wrote, for messages.
        from_worker: whether it is a converter that the worker configuration names.
    """

    place: str
    kind: PluginKind
    name: str
    version: str | None
    type_property: str
    version_property: str
    from_worker: bool = False


def asked_plugins(
    class_name: str, version: str | None, config: Mapping[str, str], worker: Mapping[str, str]
) -> tuple[AskedPlugin, ...]:
    """Return all plugins that a connector requires, starting with itself. Classes that are missing or variables are omitted.

    Args:
        class_name: `spec.class`.
        version: `spec.version`.
        config: `spec.config`.
        worker: properties of the worker.
    """

    def asked(place: Place, kind: PluginKind) -> AskedPlugin:
        of = "worker configuration, " if place.from_worker else ""
        text = trimmed(place.type or "")
        name = "" if "${" in text else text.partition("$")[0]  # only pods know the values of variables
        properties = f"{of}{place.type_property}", f"{of}{place.name}.{PLUGIN_VERSION}"
        return AskedPlugin(place.name, kind, name, place.version, *properties, from_worker=place.from_worker)

    found = [AskedPlugin(CONNECTOR, "connector", trimmed(class_name), version, "spec.class", "spec.version")]
    found += (asked(converter(name, config, worker), _CONVERTER_KINDS[name]) for name in CONVERTERS)
    found += (asked(place, "transform") for place in transforms(config))
    found += (asked(place, "predicate") for place in predicates(config))
    return tuple(a for a in found if a.name)


def class_names(config: Mapping[str, str]) -> list[str]:
    """Return the classes that a configuration names in addition to the connector class."""
    places = [*(converter(name, config, {}) for name in CONVERTERS), *transforms(config), *predicates(config)]
    return [place.type for place in places if place.type]


def type_property(place: str) -> str:
    """Return the property of a Connector that names the class of a place."""
    if place == CONNECTOR:
        return "spec.class"
    return place if place in CONVERTERS else f"{place}.type"


def converter(name: str, config: Mapping[str, str], worker: Mapping[str, str]) -> Place:
    """Return the place of a converter.

    If the connector names a class, all properties come from the connector. Otherwise class and properties come from the
    worker, and none from the connector (Connect's rule).

    Args:
        name: one of `CONVERTERS`.
        config: properties of the connector.
        worker: properties of the worker, including default classes.
    """
    in_connector = name in config
    source = config if in_connector else worker
    properties = _below(f"{name}.", source)
    version = properties.pop(PLUGIN_VERSION, None)
    return Place(name, name, source.get(name), version, properties, from_worker=not in_connector)


def transforms(config: Mapping[str, str]) -> tuple[TransformPlace, ...]:
    """Return the transforms, in the order of the list."""
    return tuple(_transform(alias, config) for alias in aliases("transforms", config))


def predicates(config: Mapping[str, str]) -> tuple[Place, ...]:
    """Return the predicates, in the order of the list."""
    places = []
    for alias in aliases("predicates", config):
        name = f"predicates.{alias}"
        properties = _below(f"{name}.", config)
        kind, version = properties.pop("type", None), properties.pop(PLUGIN_VERSION, None)
        places.append(Place(name, f"{name}.type", kind, version, properties))
    return tuple(places)


def aliases(kind: str, config: Mapping[str, str]) -> Sequence[str]:
    """Return the distinct aliases in `transforms` or `predicates`. An extra comma is an empty alias, as in Connect."""
    return list(dict.fromkeys(items(config.get(kind, ""))))


def _transform(alias: str, config: Mapping[str, str]) -> TransformPlace:
    name = f"transforms.{alias}"
    properties = _below(f"{name}.", config)
    taken = {key: properties.pop(key, None) for key in ("type", PLUGIN_VERSION, "predicate", "negate")}
    return TransformPlace(
        name,
        f"{name}.type",
        taken["type"],
        taken[PLUGIN_VERSION],
        properties,
        predicate=(taken["predicate"] or "").strip() or None,
        negate=taken["negate"],
    )


def _below(prefix: str, properties: Mapping[str, str]) -> dict[str, str]:
    return {name[len(prefix) :]: text for name, text in properties.items() if name.startswith(prefix)}
