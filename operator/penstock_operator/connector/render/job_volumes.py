"""The volumes of a job pod: those that any number of pods may have at once. Pure.

`spec.template` is written for the tasks. A claim that only one pod or one node may have would keep a job pod from starting
until the connector's own tasks are gone, which go on until the job pod has answered. So a job pod keeps what Kubernetes
makes anew for each pod. Inline CSI volumes are kept where they are read-only: that is how drivers hand out credentials
(secrets-store, cert-manager, SPIFFE), while a writable one may be a disk of one node.

Every other volume is an empty folder, and its mounts stay: a plugin that looks whether a path is there finds it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock_operator.connector.decide.pod_security import items, mapping

__all__ = ["sharable"]

_KEPT: Final = frozenset(("configMap", "secret", "projected", "downwardAPI", "emptyDir", "image"))
_CONTAINERS: Final = ("containers", "initContainers")


def sharable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A pod's spec with an empty folder in place of each volume that a job pod cannot have."""
    given = items(spec.get("volumes"))
    volumes = [_volume(v) for v in given]
    emptied = [v.get("name") for v, before in zip(volumes, given, strict=True) if v != before]
    found = {**spec, "volumes": volumes}
    for kind in _CONTAINERS:
        if kind in spec:
            found[kind] = [_container(c, emptied) for c in items(spec[kind])]
    return found


def _volume(volume: Mapping[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in volume.items() if k == "name" or k in _KEPT or (k == "csi" and _is_read_only(v))}
    return kept if len(kept) > 1 else {**kept, "emptyDir": {}}


def _is_read_only(csi: Any) -> bool:
    return isinstance(csi, Mapping) and csi.get("readOnly") is True


def _container(container: Mapping[str, Any], emptied: Sequence[Any]) -> dict[str, Any]:
    """Without block devices that are folders now, and without the ways of mounting that an empty folder has not."""
    found = dict(container)
    given = items(container.get("volumeDevices"))
    devices = [d for d in given if mapping(d).get("name") not in emptied]
    if devices:
        found["volumeDevices"] = devices
    elif given:
        del found["volumeDevices"]
    if mounts := items(container.get("volumeMounts")):
        found["volumeMounts"] = [
            _mount(m) if isinstance(m, Mapping) and m.get("name") in emptied else m for m in mounts
        ]
    return found


def _mount(mount: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in mount.items() if k != "mountPropagation"}
