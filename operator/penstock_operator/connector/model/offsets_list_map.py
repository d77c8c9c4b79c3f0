"""The ConfigMap with the list of a Connector's offsets (`penstock.dev/list-offsets`, KIP-875). Pure."""

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
    """Whose a ConfigMap is that has the name of the list.

    OURS: this Connector's.
    GOING: it is being deleted, or is an earlier Connector's of this name, and so goes by itself.
    FOREIGN: somebody else's.
    """

    OURS = auto()
    GOING = auto()
    FOREIGN = auto()


@dataclass(frozen=True, slots=True)
class ListMap:
    """A ConfigMap that has the name of the list.

    Attributes:
        owner: whose it is.
        version: its `resourceVersion`.
        pod_uid: of the pod whose list it holds.
    """

    owner: Owner
    version: str = ""
    pod_uid: str = ""

    @classmethod
    def of(cls, manifest: Mapping[str, Any], connector: str, uid: str) -> "ListMap":
        """Of the metadata of a ConfigMap.

        That of an earlier Connector has that as its owner, so that Kubernetes collects it.

        Args:
            manifest: with its metadata at least.
            connector: name of the Connector.
            uid: of the Connector.
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
        return cls(owner, metadata["resourceVersion"], (metadata.get("annotations") or {}).get(_LISTED_BY, ""))


@dataclass(frozen=True, slots=True)
class OffsetsList:
    """A list that is to be written.

    Attributes:
        text: KIP-875's JSON.
        token: that asked for it.
        pod_uid: of the pod that made it.
        replaces: the version of the list of before; empty: there is none.
    """

    text: str
    token: str
    pod_uid: str
    replaces: str = ""


def list_map_of(made: OffsetsList, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The ConfigMap, which is merged into no other one than that of before.

    Args:
        made: the list.
        metadata: of an object of the Connector with role `offsets`.
    """
    annotations = {_LISTED_FOR: made.token, _LISTED_BY: made.pod_uid}
    seen = {"resourceVersion": made.replaces} if made.replaces else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**metadata, **seen, "annotations": annotations},
        "data": {OFFSETS_KEY: made.text},
    }
