"""Render the volumes of a job pod: only those that any number of pods may mount at the same time. Pure.

`spec.template` is written for the tasks. A claim that only one pod or one node may mount would keep a job pod from starting
until the tasks of the connector have ended, and they run until the job pod has answered. So a job pod keeps the volumes that
Kubernetes makes for each pod. It keeps inline CSI volumes that are read-only, since drivers provide credentials with them
(secrets-store, cert-manager, SPIFFE); a writable one may be a disk of one node.

Every other volume is an empty folder, and its mounts stay, so that a plugin that checks for a path sees it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock_operator.connector.policy.pod_security import items, mapping

__all__ = ["sharable"]

_KEPT: Final = frozenset(("configMap", "secret", "projected", "downwardAPI", "emptyDir", "image"))
_CONTAINERS: Final = ("containers", "initContainers")


def sharable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a pod with an empty folder instead of each volume that a job pod cannot mount."""
    given = items(spec.get("volumes"))
    volumes = [_volume(v) for v in given]
    emptied = [v.get("name") for v, before in zip(volumes, given, strict=True) if v != before]
    job_spec = {**spec, "volumes": volumes}
    for kind in _CONTAINERS:
        if kind in spec:
            job_spec[kind] = [_container(c, emptied) for c in items(spec[kind])]
    return job_spec


def _volume(volume: Mapping[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in volume.items() if k == "name" or k in _KEPT or (k == "csi" and _is_read_only(v))}
    return kept if len(kept) > 1 else {**kept, "emptyDir": {}}


def _is_read_only(csi: Any) -> bool:
    return isinstance(csi, Mapping) and csi.get("readOnly") is True


def _container(container: Mapping[str, Any], emptied: Sequence[Any]) -> dict[str, Any]:
    """Return the container without block devices that are folders now, and without options that empty folders reject."""
    changed = dict(container)
    given = items(container.get("volumeDevices"))
    devices = [d for d in given if mapping(d).get("name") not in emptied]
    if devices:
        changed["volumeDevices"] = devices
    elif given:
        del changed["volumeDevices"]
    if mounts := items(container.get("volumeMounts")):
        changed["volumeMounts"] = [
            _mount(m) if isinstance(m, Mapping) and m.get("name") in emptied else m for m in mounts
        ]
    return changed


def _mount(mount: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in mount.items() if k != "mountPropagation"}
