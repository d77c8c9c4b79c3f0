"""Transform chain of a Connector, and its other properties. Pure.

Takes the public view of the configuration, in which values that could be secrets are replaced.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock_model.connect.plugin_chain import predicates, transforms

__all__ = ["ConfigView", "Step", "config_view"]


class Step(NamedTuple):
    """One transform; `guard` describes the records to which its predicate limits it."""

    alias: str
    type: str
    properties: list[tuple[str, str]]
    guard: str
    guard_properties: list[tuple[str, str]]


class ConfigView(NamedTuple):
    """Properties of a Connector without those of the chain, and the chain."""

    properties: Sequence[tuple[str, str]]
    steps: Sequence[Step]


def config_view(config: Mapping[str, str]) -> ConfigView:
    """Return the chain and the other properties of a configuration."""
    guards = {p.name.partition(".")[2]: p for p in predicates(config)}
    steps = []
    for place in transforms(config):
        guard = guards.get(place.predicate or "")
        words = ""
        if place.predicate:
            kind = (guard.type or "?").rpartition(".")[2] if guard is not None else "unknown"
            words = f"only records that {place.predicate} ({kind}) {'does not select' if place.negated else 'selects'}"
        steps.append(
            Step(
                alias=place.name.partition(".")[2],
                type=(place.type or "?").strip(),
                properties=sorted(place.properties.items()),
                guard=words,
                guard_properties=[] if guard is None else sorted(guard.properties.items()),
            )
        )
    rest = {n: v for n, v in config.items() if not n.startswith(("transforms.", "predicates."))}
    rest = {n: v for n, v in rest.items() if n not in ("transforms", "predicates")}
    return ConfigView(sorted(rest.items()), steps)
