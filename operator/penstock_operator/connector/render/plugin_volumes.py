"""Renders the images of PluginVersions as volumes of a pod (Kubernetes: image volumes). Pure."""

from collections.abc import Sequence
from typing import Any, Literal

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.pod_layout import PLUGINS_DIR

__all__ = ["plugin_volumes"]


def plugin_volumes(
    mounts: Sequence[PluginMount], how: Literal["ImageVolume", "InitContainer"]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The volumes, and where the container mounts them.

    The whole image is mounted: a `subPath` of an image volume needs a newer Kubernetes than the volume itself. A digest
    means one image for ever, so that a node that has it pulls nothing.
    """
    if how != "ImageVolume":
        raise AssertionError(f"settings refuse {how}")
    volumes = [
        {"name": f"penstock-plugin-{n}", "image": {"reference": mount.image, "pullPolicy": "IfNotPresent"}}
        for n, mount in enumerate(mounts)
    ]
    places = [
        {"name": f"penstock-plugin-{n}", "mountPath": f"{PLUGINS_DIR}/{n}", "readOnly": True}
        for n, _ in enumerate(mounts)
    ]
    return volumes, places
