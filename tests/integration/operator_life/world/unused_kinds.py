"""Resources of kinds that this release does nothing with; and how any resource is waited for."""

import time
from typing import Any

from penstock_model.resources.connector import API_VERSION

from .site import Site

__all__ = ["SPECS", "manifest", "observed"]

SPECS: dict[str, dict[str, Any]] = {
    "PluginVersion": {"plugin": "files", "version": "1.4.2", "image": f"r.example/f@sha256:{'0' * 64}", "path": "/plugin"},
}  # fmt: skip


def manifest(site: Site, kind: str) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "any", "namespace": site.namespace},
        "spec": SPECS[kind],
    }  # fmt: skip


def observed(site: Site, kind: str, generation: int) -> dict[str, Any]:
    """The resource, as soon as its status is of that generation."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = site.api.get(manifest(site, kind))
        if found["status"].get("observedGeneration") == generation:
            return found
        time.sleep(0.1)
    raise AssertionError(found)
