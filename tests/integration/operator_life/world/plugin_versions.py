"""PluginVersions of the namespace, and how they are waited for."""

import time
from typing import Any

from penstock_model.resources.connector import API_VERSION

from .site import Site

__all__ = ["image_of", "observed", "plugin_version"]


def plugin_version(site: Site, version: str = "1.4.2", **spec: Any) -> dict[str, Any]:
    """One of a plugin with the class Files."""
    whole = {
        "plugin": "files",
        "version": version,
        "image": image_of(version),
        "classes": [{"alias": "Files", "type": "source"}],
        **spec,
    }
    metadata = {"name": f"files-{version}", "namespace": site.namespace}
    return {"apiVersion": API_VERSION, "kind": "PluginVersion", "metadata": metadata, "spec": whole}


def image_of(version: str) -> str:
    """Its image."""
    return f"r.example/f@sha256:{version.encode().hex().rjust(64, '0')}"


def observed(site: Site, manifest: dict[str, Any], generation: int = 1) -> dict[str, Any]:
    """The resource, as soon as its status is of that generation."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = site.api.get(manifest)
        if found["status"].get("observedGeneration") == generation:
            return found
        time.sleep(0.1)
    raise AssertionError(found)
