"""The chain of a connector as objects: transforms with their predicates, each made and configured once."""

import re
from collections.abc import Mapping
from typing import cast

from penstock.plugin import Predicate, Transform
from penstock_model.connect import plugin_chain
from penstock_model.contracts.task_spec import PluginReference
from penstock_runtime.pipeline.chain import Step
from penstock_runtime.plugins import plugin_ref

__all__ = ["build_steps", "class_name"]


def build_steps(config: Mapping[str, str], plugins: Mapping[str, PluginReference]) -> tuple[Step, ...]:
    """The steps of a chain, in order.

    Args:
        config: the connector's properties, variables resolved.
        plugins: by place (`transforms.hoist`, `predicates.tombstone`), as a plan found them.

    Raises:
        ConfigError: a plugin cannot be loaded, or refuses its properties.
    """
    predicates: dict[str, Predicate] = {}
    for place in plugin_chain.predicates(config):
        predicate = cast("Predicate", plugin_ref.load(plugins[place.name].reference)())
        predicate.configure(predicate.Config.parse(place.properties, place.prefix))
        predicates[place.name.removeprefix("predicates.")] = predicate
    steps = []
    for place in plugin_chain.transforms(config):
        ref = plugins[place.name]
        transform = cast("Transform", plugin_ref.load(ref.reference)())
        if ref.variant is not None:
            transform.side = ref.variant.lower()
        transform.configure(transform.Config.parse(place.properties, place.prefix))
        guard = None if place.predicate is None else predicates[place.predicate]
        name = class_name(transform, ref.variant)
        steps.append(Step(place.name.removeprefix("transforms."), transform, name, guard, place.negated))
    return tuple(steps)


def class_name(plugin: object, variant: str | None = None) -> str:
    """The class by the name that Connect's users know, else its own."""
    java = getattr(plugin, "java_names", ())
    name = java[0] if java else f"{type(plugin).__module__}.{type(plugin).__qualname__}"
    return f"{name}${variant}" if variant and not re.search(r"\$", name) else name
