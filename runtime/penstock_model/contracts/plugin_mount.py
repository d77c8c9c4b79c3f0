"""The image of a PluginVersion in a pod: where it is mounted, and what it is declared to hold (KIP-891). Pure.

The operator resolves it and keeps it in the plan, so that a lost pod comes back on the same image. No plugin has a hand in
it.
"""

from collections.abc import Sequence
from posixpath import normpath
from typing import Literal, Self, TypeAlias

from pydantic import Field

from penstock_model.contracts.base import Part
from penstock_model.contracts.pod_layout import PLUGINS_DIR

__all__ = ["DeclaredClass", "PluginMount", "PluginType"]

PluginType: TypeAlias = Literal["source", "sink", "transform", "predicate", "converter", "headerConverter"]
"""The words of a PluginVersion for what a class is."""


class DeclaredClass(Part):
    """A class that a PluginVersion declares.

    Attributes:
        alias: the name of its entry point, by which configurations name it.
        type: what it is.
        java_names: classes of Kafka Connect that it stands in for; of a Java class its own name first, and that of the class
            around it.
    """

    alias: str
    type: PluginType
    java_names: tuple[str, ...] = Field(default=(), exclude_if=lambda v: not v)


class PluginMount(Part):
    """An image that a pod mounts.

    Attributes:
        name: of the PluginVersion.
        plugin, version: the distribution that the folder holds; of a Java plugin the class, and its version.
        image: by digest.
        folder: in the pod, with the distributions; of a Java plugin its folder with jars, or its jar.
        runtime: what runs it.
        classes: what it is declared to hold, for the pod that plans. Tasks do not get it.
        places: whose plugins come from it (`connector`, `value.converter`, `transforms.hoist`), likewise.
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
        """The same image as the pod's mount of this number, for these places."""
        within = self.folder.removeprefix(f"{PLUGINS_DIR}/").partition("/")[2]
        folder = normpath(f"{PLUGINS_DIR}/{number}/{within}")
        return self.model_copy(update={"folder": folder, "places": tuple(places)})
