"""Image of a PluginVersion in a pod: its mount path, and its declared contents (KIP-891). Pure.

The operator resolves it and keeps it in the plan, so that a lost pod is recreated with the same image. Plugins cannot
influence it.
"""

from collections.abc import Sequence
from posixpath import normpath
from typing import Literal, Self, TypeAlias

from pydantic import Field

from penstock_model.contracts.base import Part
from penstock_model.contracts.pod_layout import PLUGINS_DIR

__all__ = ["DeclaredClass", "PluginMount", "PluginType"]

PluginType: TypeAlias = Literal["source", "sink", "transform", "predicate", "converter", "headerConverter"]
"""Types of classes, as in a PluginVersion."""


class DeclaredClass(Part):
    """Class that a PluginVersion declares.

    Attributes:
        alias: name of its entry point, which configurations use.
        type: type of the class.
        java_names: Kafka Connect classes that it replaces; for a Java class its own name first, and that of the enclosing
            class.
    """

    alias: str
    type: PluginType
    java_names: tuple[str, ...] = Field(default=(), exclude_if=lambda v: not v)


class PluginMount(Part):
    """Image that a pod mounts.

    Attributes:
        name: name of the PluginVersion.
        plugin, version: name and version of the distribution in the folder; for a Java plugin, the class and its version.
        image: image reference with a digest.
        folder: folder in the pod with the distributions; for a Java plugin, its folder with jars, or its jar.
        runtime: language runtime of its plugins.
        classes: its declared classes, only for planning pods.
        places: places whose plugins come from it (`connector`, `value.converter`, `transforms.hoist`), only for planning
            pods.
    """

    name: str
    plugin: str
    version: str
    image: str
    folder: str
    runtime: Literal["Python", "Java"] = Field(default="Python", exclude_if=lambda v: v == "Python")
    classes: tuple[DeclaredClass, ...] = Field(default=(), exclude_if=lambda v: not v)
    places: tuple[str, ...] = Field(default=(), exclude_if=lambda v: not v)

    def numbered(self, number: int, places: Sequence[str]) -> Self:
        """Return the mount of the image with this number in the pod, for these places."""
        within = self.folder.removeprefix(f"{PLUGINS_DIR}/").partition("/")[2]
        folder = normpath(f"{PLUGINS_DIR}/{number}/{within}")
        return self.model_copy(update={"folder": folder, "places": tuple(places)})
