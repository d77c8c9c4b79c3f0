"""Find properties that nothing reads, and suggest similar names. Pure.

Kafka Connect accepts any property. The plan only warns about them, because a running Connector must not fail for them. The
admission webhook rejects those that are similar to a known property, because it sees them when they are written.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.config import Config, nearest
from penstock.errors import Problem
from penstock_model.connect import plugin_chain
from penstock_model.contracts.definitions import ClassDefinition
from penstock_model.validation.client_overrides import OVERRIDES

__all__ = ["Known", "Unknown", "typed_properties", "unknown_properties"]

_TRANSFORM: Final = ("type", "predicate", "negate", plugin_chain.PLUGIN_VERSION)
_TYPED: Final = ("BOOLEAN", "DOUBLE", "INT")
_PREDICATE: Final = ("type", plugin_chain.PLUGIN_VERSION)


@dataclass(frozen=True, slots=True)
class Known:
    """Properties that a plugin, or the framework, reads.

    Attributes:
        title: name of the plugin, for messages.
        types: type of each property, by name.
        open_prefixes: prefixes of additional properties that it reads.
        is_complete: whether it declares all properties that it reads. A Java class may read others, so the plan does not
            warn about them.
    """

    title: str
    types: Mapping[str, str]
    open_prefixes: tuple[str, ...] = ()
    is_complete: bool = True

    @classmethod
    def of(cls, config: type[Config], title: str = "") -> "Known":
        """Return the properties of a configuration class."""
        return cls(title, {p.name: p.type for p in config.properties()}, config.open_prefixes)

    @classmethod
    def defined(cls, definition: ClassDefinition) -> "Known":
        """Return the properties in a configuration definition."""
        title = definition.class_name.rpartition(".")[2]
        types = {k.name: k.type for k in definition.config}
        return cls(title, types, definition.open_prefixes, is_complete=not definition.is_java)

    def reads(self, name: str) -> bool:
        """Return whether the plugin reads a property."""
        return name in self.types or (bool(self.open_prefixes) and name.startswith(self.open_prefixes))


@dataclass(frozen=True, slots=True)
class Unknown:
    """Property that nothing reads.

    Attributes:
        problem: the property and the cause, with a similar name as a suggestion.
        is_similar: whether it is a misspelling of a known property with a similar name.
    """

    problem: Problem
    is_similar: bool


def unknown_properties(
    config: Mapping[str, str], framework: Known, connector: Known | None, chain: Mapping[str, Known]
) -> Iterator[Unknown]:
    """Yield each property that nothing reads.

    Args:
        config: the connector's properties.
        framework: the framework's properties.
        connector: the connector's properties; None: they are unknown, so no property that could be one of them is reported.
        chain: the properties of the known plugins, by place.
    """
    known = {*framework.types, *(connector.types if connector else ())}
    prefixes = tuple(OVERRIDES.values())
    for name in config:
        if name in known or name.startswith("topic.creation."):
            continue
        place = _place(name, config)
        if place is not None:
            yield from _in_place(name, place, config, chain)
        elif name.startswith(prefixes):
            continue
        elif connector is not None and not connector.reads(name):
            yield _unknown(name, connector, nearest(name, known))


def typed_properties(framework: Known, connector: Known | None, chain: Mapping[str, Known]) -> set[str]:
    """Return the names of properties that are numbers or booleans, whose values may be spelled in several ways."""
    every = [("", framework), *([("", connector)] if connector else ())]
    every += [(f"{place}.", known) for place, known in chain.items()]
    typed = {f"{prefix}{name}" for prefix, known in every for name, type_ in known.types.items() if type_ in _TYPED}
    return typed | {f"{place}.negate" for place in chain if place.startswith("transforms.")}


def _in_place(name: str, place: str, config: Mapping[str, str], chain: Mapping[str, Known]) -> Iterator[Unknown]:
    if place in plugin_chain.CONVERTERS:
        if place not in config:
            message = f"has no effect without {place}: the worker's converter has its own properties"
            yield Unknown(Problem(name, message), is_similar=False)
            return
        fixed: Iterable[str] = (plugin_chain.PLUGIN_VERSION,)
    else:
        of, _, alias = place.partition(".")
        listed = plugin_chain.aliases(of, config)
        if alias not in listed:
            near = nearest(alias, listed)
            # With a class, it is a transform or predicate that was removed from the list.
            has_class = any(n.startswith(f"{place}.") and n.endswith(".type") for n in config)
            is_similar = near is not None and not has_class
            yield Unknown(Problem(name, f"has no effect: {alias} is not in the list {of}{_hint(near)}"), is_similar)
            return
        fixed = _TRANSFORM if of == "transforms" else _PREDICATE
    found = chain.get(place)
    if found is None:
        return
    own = name[len(place) + 1 :]
    if own == "schemas.enable" and place in plugin_chain.CONVERTERS:
        return  # often set for all converters, and harmless for a converter without schemas
    if own not in fixed and not found.reads(own):
        near = nearest(own, {*fixed, *found.types})
        yield _unknown(name, found, f"{place}.{near}" if near else None)


def _place(name: str, config: Mapping[str, str]) -> str | None:
    """Return the place that a property belongs to by its name. Of several matching aliases, the longest applies."""
    for converter in plugin_chain.CONVERTERS:
        if name.startswith(f"{converter}."):
            return converter
    for of in ("transforms", "predicates"):
        if name.startswith(f"{of}."):
            fitting = [a for a in plugin_chain.aliases(of, config) if name.startswith(f"{of}.{a}.")]
            return f"{of}.{max(fitting, key=len) if fitting else name.split('.')[1]}"
    return None


def _unknown(name: str, of: Known, near: str | None) -> Unknown:
    problem = Problem(name, f"is not known to {of.title}{_hint(near)}")
    return Unknown(problem, is_similar=near is not None and of.is_complete)


def _hint(near: str | None) -> str:
    return f"; did you mean {near}?" if near else ""
