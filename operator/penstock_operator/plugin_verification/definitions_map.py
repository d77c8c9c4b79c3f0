"""ConfigMap that publishes the configuration definitions of a PluginVersion. Pure."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from penstock_model.contracts.definitions import KEY
from penstock_operator import names

__all__ = ["definitions_labels", "definitions_map", "definitions_name"]

_LONGEST_NAME: Final = 253


def definitions_name(document: Mapping[str, Any], digest: str) -> str:
    """Return the name of the ConfigMap with the definitions of this digest."""
    end = f"-definitions-{names.digest(document['metadata']['uid'], digest)[:10]}"
    name: str = document["metadata"]["name"]
    return name[: _LONGEST_NAME - len(end)] + end


def definitions_labels(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of such ConfigMaps of a PluginVersion."""
    return {
        names.MANAGED_BY[0]: names.MANAGED_BY[1],
        names.PLUGIN_VERSION_LABEL: document["metadata"]["uid"],
        names.ROLE_LABEL: names.DEFINITIONS,
    }


def definitions_map(document: Mapping[str, Any], content: bytes, digest: str) -> dict[str, Any]:
    """Return the manifest, which belongs to the PluginVersion and never changes."""
    own = document["metadata"]
    owner = names.owner_reference(document["apiVersion"], document["kind"], own["name"], own["uid"])
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": definitions_name(document, digest),
            "namespace": own["namespace"],
            "labels": definitions_labels(document),
            "ownerReferences": [owner],
        },
        "immutable": True,
        "binaryData": {KEY: base64.b64encode(content).decode()},
    }
