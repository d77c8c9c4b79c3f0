"""Build the chain of a connector: transforms with their predicates, each created and configured once."""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from penstock.context import PluginContext
from penstock.plugin import Plugin, Predicate, Transform
from penstock_model.connect import plugin_chain
from penstock_model.contracts.task_spec import PluginReference
from penstock_runtime.pipeline.chain import Step
from penstock_runtime.plugins import plugin_ref
from penstock_runtime.plugins.open_plugins import OpenPlugins

__all__ = ["ContextOf", "build_steps", "class_name", "made"]

ContextOf: TypeAlias = Callable[[str, str], PluginContext]
"""Function that returns the context of a plugin for its place in the configuration and its version."""


def build_steps(
    config: Mapping[str, str], plugins: Mapping[str, PluginReference], context: ContextOf, opened: OpenPlugins
) -> tuple[Step, ...]:
    """Return the steps of a chain, in order.

    Args:
        config: properties of the connector, variables resolved.
        plugins: plugins by place (`transforms.hoist`, `predicates.tombstone`), as a plan found them.
        context: returns the context of each plugin.
        opened: collects the plugins. The caller closes them, also after an error.

    Raises:
        ConfigError: a plugin cannot be loaded, or rejects its properties.
    """
    predicates: dict[str, Predicate] = {}
    for place in plugin_chain.predicates(config):
        predicate = opened.add(place.name, cast("Predicate", made(place.name, plugins[place.name], context)))
        predicate.configure(predicate.Config.parse(place.properties, place.prefix))
        predicates[place.name.removeprefix("predicates.")] = predicate
    steps = []
    for place in plugin_chain.transforms(config):
        ref = plugins[place.name]
        transform = opened.add(place.name, cast("Transform", made(place.name, ref, context)))
        if ref.variant is not None:
            transform.side = ref.variant.lower()
        transform.configure(transform.Config.parse(place.properties, place.prefix))
        guard = None if place.predicate is None else predicates[place.predicate]
        name = class_name(transform, ref.variant)
        steps.append(Step(place.name.removeprefix("transforms."), transform, name, guard, place.negated))
    return tuple(steps)


def made(place: str, reference: PluginReference, context: ContextOf) -> Plugin:
    """Load a plugin and return a new, unconfigured instance of it.

    Args:
        place: place of the plugin in the configuration (`transforms.hoist`).
        reference: the plugin, as a plan found it.
        context: returns the context that the instance receives.

    Raises:
        ConfigError: the plugin cannot be loaded.
    """
    return plugin_ref.make(plugin_ref.load(reference.reference), context(place, reference.version))


def class_name(plugin: object, variant: str | None = None) -> str:
    """Return the class name that Kafka Connect's users know, else the Python name."""
    java = getattr(plugin, "java_names", ())
    name = java[0] if java else f"{type(plugin).__module__}.{type(plugin).__qualname__}"
    return f"{name}${variant}" if variant and not re.search(r"\$", name) else name
