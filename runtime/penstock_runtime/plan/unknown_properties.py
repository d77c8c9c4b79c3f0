"""Warn of properties that nothing reads, and suggest similar names. Never an error (Connect's rule)."""

from collections.abc import Iterable, Iterator, Mapping

from penstock import Plugin, Problem
from penstock.config import Config, nearest
from penstock_model.connect import plugin_chain
from penstock_runtime.plan.clients import OVERRIDES
from penstock_runtime.plugins.discovery import PluginRef

__all__ = ["typed_properties", "unknown_properties"]

_TRANSFORM = ("type", "predicate", "negate", plugin_chain.PLUGIN_VERSION)
_TYPED = ("BOOLEAN", "DOUBLE", "INT")
_PREDICATE = ("type", plugin_chain.PLUGIN_VERSION)


def unknown_properties(
    config: Mapping[str, str],
    framework: type[Config],
    connector: type[Plugin] | None,
    chain: Mapping[str, PluginRef[Plugin]],
) -> Iterator[Problem]:
    """Yield a warning for each property that nothing reads.

    Args:
        config: the connector's properties.
        framework: defines the framework's properties.
        connector: the connector's class; None if it was not found: then its properties are unknown and cause no warning.
        chain: the plugins found, by place.
    """
    known = {*_names(framework), *(_names(connector.Config) if connector else ())}
    prefixes = tuple(OVERRIDES.values()) + (connector.Config.open_prefixes if connector else ())
    for name in config:
        if name in known or name.startswith("topic.creation."):
            continue
        place = _place(name, config)
        if place is not None:
            yield from _in_place(name, place, config, chain)
        elif prefixes and name.startswith(prefixes):
            continue
        elif connector is not None:
            near = nearest(name, known)
            yield Problem(name, f"is not known to {_title(connector)}" + _hint(near))


def typed_properties(
    framework: type[Config], connector: type[Plugin] | None, chain: Mapping[str, PluginRef[Plugin]]
) -> set[str]:
    """Return the names of properties that are numbers or booleans, for which any spelling is acceptable."""
    configs = [("", framework), *([("", connector.Config)] if connector else ())]
    configs += [(f"{place}.", ref.cls.Config) for place, ref in chain.items()]
    typed = {f"{prefix}{p.name}" for prefix, c in configs for p in c.properties() if p.type in _TYPED}
    return typed | {f"{place}.negate" for place in chain if place.startswith("transforms.")}


def _in_place(
    name: str, place: str, config: Mapping[str, str], chain: Mapping[str, PluginRef[Plugin]]
) -> Iterator[Problem]:
    if place in plugin_chain.CONVERTERS:
        if place not in config:
            yield Problem(name, f"has no effect without {place}: the worker's converter brings its own properties")
            return
        fixed: Iterable[str] = (plugin_chain.PLUGIN_VERSION,)
    else:
        of, _, alias = place.partition(".")
        if alias not in plugin_chain.aliases(of, config):
            near = nearest(alias, plugin_chain.aliases(of, config))
            yield Problem(name, f"has no effect: {alias} is not in the list {of}" + _hint(near))
            return
        fixed = _TRANSFORM if of == "transforms" else _PREDICATE
    found = chain.get(place)
    if found is None:
        return
    own = name[len(place) + 1 :]
    if own == "schemas.enable" and place in plugin_chain.CONVERTERS:
        return  # often set for all converters, and harmless for a converter without schemas
    known = {*fixed, *_names(found.cls.Config)}
    if own not in known and not (found.cls.Config.open_prefixes and own.startswith(found.cls.Config.open_prefixes)):
        near = nearest(own, known)
        yield Problem(name, f"is not known to {found.alias}" + _hint(f"{place}.{near}" if near else None))


def _place(name: str, config: Mapping[str, str]) -> str | None:
    """Return the place that a property belongs to by its name. If several aliases match, the longest counts."""
    for converter in plugin_chain.CONVERTERS:
        if name.startswith(f"{converter}."):
            return converter
    for of in ("transforms", "predicates"):
        if name.startswith(f"{of}."):
            fitting = [a for a in plugin_chain.aliases(of, config) if name.startswith(f"{of}.{a}.")]
            return f"{of}.{max(fitting, key=len) if fitting else name.split('.')[1]}"
    return None


def _names(config: type[Config]) -> set[str]:
    return {p.name for p in config.properties()}


def _title(plugin: type[Plugin]) -> str:
    return plugin.__name__


def _hint(near: str | None) -> str:
    return f"; did you mean {near}?" if near else ""
