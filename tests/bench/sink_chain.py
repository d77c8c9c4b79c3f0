"""The three transforms of the sink's work, and what they make of a value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock_runtime.plugins.discovery import PluginRef, Plugins

__all__ = ["Chain", "sink_chain"]

_CLASS: Final = "org.apache.kafka.connect.transforms."
_INSERT: Final[Mapping[str, str]] = {
    "transforms.origin.type": f"{_CLASS}InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "bench",
}


@dataclass(frozen=True)
class Chain:
    """Transforms: what people read, the properties, and `becomes(value, topic)`."""

    text: str
    config: Mapping[str, str]
    becomes: Callable[[dict[str, Any], str], dict[str, Any]]


def sink_chain() -> Chain:
    """InsertField, MaskField and ReplaceField; while Penstock does not have those, two InsertField and RegexRouter."""
    aliases = {found.alias for found in Plugins.installed().every() if isinstance(found, PluginRef)}
    return _PROPER if {"MaskField", "ReplaceField"} <= aliases else _SIMPLE


def _masked(value: dict[str, Any], topic: str) -> dict[str, Any]:
    price = value.pop("amount")
    return {**value, "name": "-", "price": price, "origin": "bench"}


def _inserted(value: dict[str, Any], topic: str) -> dict[str, Any]:
    return {**value, "origin": "bench", "topic": topic}


_PROPER: Final = Chain(
    "InsertField, MaskField, ReplaceField",
    {
        "transforms": "origin,mask,rename",
        **_INSERT,
        "transforms.mask.type": f"{_CLASS}MaskField$Value",
        "transforms.mask.fields": "name",
        "transforms.mask.replacement": "-",
        "transforms.rename.type": f"{_CLASS}ReplaceField$Value",
        "transforms.rename.renames": "amount:price",
    },
    _masked,
)
_SIMPLE: Final = Chain(
    "two InsertField, RegexRouter",
    {
        "transforms": "origin,topic,route",
        **_INSERT,
        "transforms.topic.type": f"{_CLASS}InsertField$Value",
        "transforms.topic.topic.field": "topic",
        "transforms.route.type": f"{_CLASS}RegexRouter",
        "transforms.route.regex": "bench-(.*)",
        "transforms.route.replacement": "routed-$1",
    },
    _inserted,
)
