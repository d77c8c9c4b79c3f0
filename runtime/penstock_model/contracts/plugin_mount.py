"""The image of a PluginVersion in a pod: where it is mounted, and what it is declared to hold (KIP-891). Pure.

The operator resolves it and keeps it in the plan, so that a lost pod comes back on the same image. No plugin has a hand in
it.
"""

from typing import Literal

from pydantic import Field

from penstock_model.contracts.base import Part

__all__ = ["DeclaredClass", "PluginMount"]


class DeclaredClass(Part):
    """A class that a PluginVersion declares.

    Attributes:
        alias: the name of its entry point, by which configurations name it.
        type: what it is.
        java_names: classes of Kafka Connect that it stands in for.
    """

    alias: str
    type: Literal["source", "sink", "transform", "predicate", "converter", "headerConverter"]
    java_names: tuple[str, ...] = Field(default=(), exclude_if=lambda v: not v)


class PluginMount(Part):
    """An image that a pod mounts.

    Attributes:
        name: of the PluginVersion.
        plugin, version: the distribution that the folder holds.
        image: by digest.
        folder: in the pod, with the distributions.
        classes: what it is declared to hold, for the pod that plans. Tasks do not get it.
    """

    name: str
    plugin: str
    version: str
    image: str
    folder: str
    classes: tuple[DeclaredClass, ...] = Field(default=(), exclude_if=lambda v: not v)
