"""Which plugins a connector's properties name, in which place, and which properties are theirs. Pure.

The plan checks them and the task builds them; both read the properties here, so that they cannot disagree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock_java.property_text import items

__all__ = ["CONVERTERS", "PLUGIN_VERSION", "Place", "TransformPlace", "converter", "predicates", "transforms"]

CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")
PLUGIN_VERSION: Final = "plugin.version"


@dataclass(frozen=True, slots=True)
class Place:
    """A place for one plugin.

    Attributes:
        name: `value.converter`, `transforms.hoist`, `predicates.tombstone`: the key in `TaskSpec.plugins`.
        type_property: the property that names the class (`value.converter`, `transforms.hoist.type`).
        type: the class's name; None when the property is missing.
        version: `<name>.plugin.version`, None when not set.
        properties: the plugin's own, without the prefix, without `type`, `predicate`, `negate`, `plugin.version`.
        from_worker: a converter that the worker configuration names.
    """

    name: str
    type_property: str
    type: str | None
    version: str | None
    properties: Mapping[str, str]
    from_worker: bool = False

    @property
    def prefix(self) -> str:
        """What stands before the plugin's own properties."""
        return f"{self.name}."


@dataclass(frozen=True, slots=True)
class TransformPlace(Place):
    """A transform's place; `predicate` is an alias, `negate` the text as written."""

    predicate: str | None = None
    negate: str | None = None

    @property
    def negated(self) -> bool:
        """`negate`, read."""
        return (self.negate or "").lower() == "true"


def converter(name: str, config: Mapping[str, str], worker: Mapping[str, str]) -> Place:
    """A converter's place.

    A connector that names a class brings all of its properties; one that does not takes the worker's class and
    properties, none of its own (Connect's rule).

    Args:
        name: one of `CONVERTERS`.
        config: the connector's properties.
        worker: the worker's, with its default classes filled in.
    """
    own = name in config
    source = config if own else worker
    properties = _below(f"{name}.", source)
    version = properties.pop(PLUGIN_VERSION, None)
    return Place(name, name, source.get(name), version, properties, from_worker=not own)


def transforms(config: Mapping[str, str]) -> tuple[TransformPlace, ...]:
    """The chain, in order."""
    return tuple(_transform(alias, config) for alias in aliases("transforms", config))


def predicates(config: Mapping[str, str]) -> tuple[Place, ...]:
    """The predicates, in the order of the list."""
    found = []
    for alias in aliases("predicates", config):
        name = f"predicates.{alias}"
        properties = _below(f"{name}.", config)
        kind, version = properties.pop("type", None), properties.pop(PLUGIN_VERSION, None)
        found.append(Place(name, f"{name}.type", kind, version, properties))
    return tuple(found)


def aliases(of: str, config: Mapping[str, str]) -> Sequence[str]:
    """The list `transforms` or `predicates`, each alias once; a comma too many makes an empty one (Connect's rule)."""
    return list(dict.fromkeys(items(config.get(of, ""))))


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
