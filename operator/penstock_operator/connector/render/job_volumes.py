"""Render the volumes of a job pod: only those that any number of pods may mount at the same time. Pure.

`spec.template` is written for tasks. If a claim may be mounted by only one pod or node, a job pod that mounts it could not
start until the connector's tasks have ended, but they run until the job pod has answered. So a job pod keeps only volumes
that Kubernetes creates for each pod, and read-only inline CSI volumes, with which drivers provide credentials
(secrets-store, cert-manager, SPIFFE); a writable one may be a disk of one node.

Every other volume becomes an empty folder. Its mounts are kept, so that a plugin that checks for the path finds it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock_operator.connector.policy.pod_security import items, mapping

__all__ = ["sharable"]

_KEPT: Final = frozenset(("configMap", "secret", "projected", "downwardAPI", "emptyDir", "image"))
_CONTAINERS: Final = ("containers", "initContainers")


def sharable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a pod in which each volume that a job pod cannot mount is replaced with an empty folder."""
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
    """Return the container without devices of replaced volumes, and without mount options that empty folders reject."""
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
