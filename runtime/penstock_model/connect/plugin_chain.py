"""The plugins that the properties of a connector name, each with its place and its own properties. Pure.

The plan checks the plugins and the task builds them. Both read the properties by this module, so that they agree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock_java.property_text import items

__all__ = [
    "CONVERTERS",
    "PLUGIN_VERSION",
    "Place",
    "TransformPlace",
    "aliases",
    "converter",
    "predicates",
    "transforms",
]

CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")
PLUGIN_VERSION: Final = "plugin.version"


@dataclass(frozen=True, slots=True)
class Place:
    """A place for one plugin.

    Attributes:
        name: `value.converter`, `transforms.hoist`, `predicates.tombstone`: the key in `TaskSpec.plugins`.
        type_property: the property that names the class (`value.converter`, `transforms.hoist.type`).
        type: the name of the class; None if the property is missing.
        version: `<name>.plugin.version`, None if not set.
        properties: of the plugin, without the prefix and without `type`, `predicate`, `negate`, `plugin.version`.
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
        """The prefix of the plugin's own properties."""
        return f"{self.name}."


@dataclass(frozen=True, slots=True)
class TransformPlace(Place):
    """The place of a transform; `predicate` is an alias, `negate` the text as written."""

    predicate: str | None = None
    negate: str | None = None

    @property
    def negated(self) -> bool:
        return (self.negate or "").lower() == "true"


def converter(name: str, config: Mapping[str, str], worker: Mapping[str, str]) -> Place:
    """The place of a converter.

    If the connector names a class, all properties come from the connector. Otherwise class and properties come from the
    worker, and none from the connector (Connect's rule).

    Args:
        name: one of `CONVERTERS`.
        config: properties of the connector.
        worker: properties of the worker, default classes included.
    """
    in_connector = name in config
    source = config if in_connector else worker
    properties = _below(f"{name}.", source)
    version = properties.pop(PLUGIN_VERSION, None)
    return Place(name, name, source.get(name), version, properties, from_worker=not in_connector)


def transforms(config: Mapping[str, str]) -> tuple[TransformPlace, ...]:
    """The transforms, in the order of the list."""
    return tuple(_transform(alias, config) for alias in aliases("transforms", config))


def predicates(config: Mapping[str, str]) -> tuple[Place, ...]:
    """The predicates, in the order of the list."""
    places = []
    for alias in aliases("predicates", config):
        name = f"predicates.{alias}"
        properties = _below(f"{name}.", config)
        kind, version = properties.pop("type", None), properties.pop(PLUGIN_VERSION, None)
        places.append(Place(name, f"{name}.type", kind, version, properties))
    return tuple(places)


def aliases(kind: str, config: Mapping[str, str]) -> Sequence[str]:
    """The list `transforms` or `predicates`, each alias once. An extra comma makes an empty alias (Connect's rule)."""
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
