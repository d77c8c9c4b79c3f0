"""PluginVersion of a plugin image, as a manifest. Pure."""

import re
from collections.abc import Sequence
from typing import Any, Final

import yaml

from penstock.errors import ConfigError, Problem
from penstock_cli.plugin.classes import InspectedPlugin
from penstock_cli.plugin.project import ENTRY_POINTS
from penstock_model.resources.plugin_offers import offer_of

__all__ = ["declaration", "manifest", "resource_name"]

_KEYS: Final = {"classes": ENTRY_POINTS, "plugin": "project.name", "name": "project.name", "version": "project.version"}
"""Keys of pyproject.toml that set the fields of the PluginVersion."""


def declaration(plugin: str, version: str, image: str, classes: Sequence[InspectedPlugin]) -> dict[str, Any]:
    """Return the PluginVersion, validated as the operator does.

    Raises:
        ConfigError: a class has the name of a built-in plugin, or an invalid name.
    """
    document = {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "PluginVersion",
        "metadata": {"name": resource_name(f"{plugin}-{version}")},
        "spec": {
            "plugin": plugin,
            "version": version,
            "image": image,
            "classes": [
                {"alias": c.alias, "type": c.type} | ({"javaNames": list(c.java_names)} if c.java_names else {})
                for c in classes
            ],
        },
    }
    try:
        offer_of(document)
    except ConfigError as e:
        raise ConfigError(Problem(_KEYS.get(p.property.split(".")[1], "project"), p.message) for p in e.problems) from e
    return document


def resource_name(text: str) -> str:
    """Convert a string to the name of a resource."""
    return re.sub(r"[^a-z0-9.-]+", "-", text.lower()).strip("-.")


def manifest(document: dict[str, Any]) -> str:
    """Return a PluginVersion as YAML."""
    return yaml.safe_dump(document, sort_keys=False, width=120)
