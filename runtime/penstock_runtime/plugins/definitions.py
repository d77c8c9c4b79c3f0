"""Describe the configuration of a Python plugin."""

import inspect
from collections.abc import Mapping
from typing import Final

from penstock import Converter, HeaderConverter, Plugin, Predicate, SinkConnector, SourceConnector, Transform
from penstock_model.contracts.definitions import ClassDefinition, config_key
from penstock_model.contracts.plugin_mount import PluginType

__all__ = ["definition_of"]

_TYPES: Final[Mapping[type[Plugin], PluginType]] = {
    SourceConnector: "source",
    SinkConnector: "sink",
    Transform: "transform",
    Predicate: "predicate",
    Converter: "converter",
    HeaderConverter: "headerConverter",
}


def definition_of(alias: str, cls: type[Plugin], version: str) -> ClassDefinition:
    """Return the configuration definition of a class.

    Args:
        alias: name of its entry point.
        cls: plugin class.
        version: version of its distribution.
    """
    return ClassDefinition(
        class_name=alias,
        type=next(word for kind, word in _TYPES.items() if issubclass(cls, kind)),
        version=version,
        java_names=tuple(cls.java_names),
        variants=tuple(cls.variants) if issubclass(cls, Transform) else (),
        open_prefixes=tuple(cls.Config.open_prefixes),
        description=inspect.cleandoc(cls.__doc__ or ""),
        config=tuple(map(config_key, cls.Config.properties())),
    )
