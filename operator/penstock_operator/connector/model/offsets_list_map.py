"""ConfigMap with the list of a Connector's offsets (`penstock.dev/list-offsets`, KIP-875). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from penstock_operator import names
from penstock_operator.kubernetes.kinds import CONNECTOR

__all__ = ["OFFSETS_KEY", "ListMap", "OffsetsList", "Owner", "list_map_of"]

OFFSETS_KEY: Final = "offsets.json"
_ROLE: Final = "offsets"
_LISTED_BY: Final = "penstock.dev/listed-by"
_LISTED_FOR: Final = "penstock.dev/list-offsets"


class Owner(Enum):
    """Owner of the ConfigMap with the name of the list.

    OURS: this Connector.
    GOING: the ConfigMap is being deleted, or Kubernetes will delete it with an earlier Connector of this name.
    FOREIGN: anything else.
    """

    OURS = auto()
    GOING = auto()
    FOREIGN = auto()


@dataclass(frozen=True, slots=True)
class ListMap:
    """ConfigMap with the name of the list.

    Attributes:
        owner: its owner.
        version: its `resourceVersion`.
        pod_uid: UID of the pod that made the list.
        token: token of the request for that list.
    """

    owner: Owner
    version: str = ""
    pod_uid: str = ""
    token: str = ""

    @classmethod
    def of(cls, manifest: Mapping[str, Any], connector: str, uid: str) -> "ListMap":
        """Read the metadata of a ConfigMap.

        A ConfigMap of an earlier Connector is owned by that Connector, so Kubernetes deletes the ConfigMap.

        Args:
            manifest: the ConfigMap, with at least its metadata.
            connector: name of the Connector.
            uid: UID of the Connector.
        """
        metadata = manifest["metadata"]
        owner = Owner.FOREIGN
        if (
            names.label(manifest, names.ROLE_LABEL) == _ROLE
            and names.label(manifest, names.CONNECTOR_LABEL) == connector
        ):
            if names.label(manifest, names.UID_LABEL) == uid:
                owner = Owner.OURS
            elif any(
                (o.get("kind"), o.get("name")) == (CONNECTOR.kind, connector) and o.get("uid") != uid
                for o in metadata.get("ownerReferences") or ()
            ):
                owner = Owner.GOING
        if "deletionTimestamp" in metadata:
            owner = Owner.GOING
        annotations = metadata.get("annotations") or {}
        return cls(
            owner, metadata["resourceVersion"], annotations.get(_LISTED_BY, ""), annotations.get(_LISTED_FOR, "")
        )


@dataclass(frozen=True, slots=True)
class OffsetsList:
    """List of offsets to write.

    Attributes:
        text: the offsets as JSON of KIP-875.
        token: token of the request for it.
        pod_uid: UID of the pod that made it.
        replaces: `resourceVersion` of the previous list; empty: there is none.
    """

    text: str
    token: str
    pod_uid: str
    replaces: str = ""


def list_map_of(made: OffsetsList, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ConfigMap of a list. If it replaces a previous list, it can only be merged into that version of the list.

    Args:
        made: the list.
        metadata: metadata of an object of the Connector with role `offsets`.
    """
    annotations = {_LISTED_FOR: made.token, _LISTED_BY: made.pod_uid}
    seen = {"resourceVersion": made.replaces} if made.replaces else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**metadata, **seen, "annotations": annotations},
        "data": {OFFSETS_KEY: made.text},
    }
