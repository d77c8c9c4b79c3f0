"""Strategic merge, as `kubectl patch` does it for pods: lists of named things are merged by their key. Pure.

The rules are those of Kubernetes' own types (`patchMergeKey`); a list without a key is replaced. `null` removes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["merged"]

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "resourceClaims": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "protocol"),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "schedulingGates": ("name",),
}
_DEFAULTS: Final = {"protocol": "TCP"}


def merged(base: Any, patch: Any, field: str = "") -> Any:
    """`base` with `patch` over it; neither is changed."""
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        found = {name: value for name, value in base.items() if name not in patch}
        for name, value in patch.items():
            if value is not None:
                found[name] = merged(base.get(name), value, name)
        # In the base's order, what is new behind it, so that equal patches give equal texts.
        return {name: found[name] for name in (*base, *(n for n in patch if n not in base)) if name in found}
    keys = _KEYS.get(field)
    if keys is not None and isinstance(base, Sequence) and isinstance(patch, Sequence) and not isinstance(patch, str):
        return _by_key(base, patch, keys)
    return patch


def _by_key(base: Sequence[Any], patch: Sequence[Any], keys: tuple[str, ...]) -> list[Any]:
    found: dict[tuple[Any, ...], Any] = {_key(item, keys): item for item in base}
    for item in patch:
        key = _key(item, keys)
        if isinstance(item, Mapping) and item.get("$patch") == "delete":
            found.pop(key, None)
        else:
            found[key] = merged(found[key], item) if key in found else item
    return list(found.values())


def _key(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    if not isinstance(item, Mapping):
        return (repr(item),)
    values = (item.get(k, _DEFAULTS.get(k)) for k in keys)
    # Users may write values of any type; the API server tells what is wrong.
    return tuple(v if v is None or isinstance(v, (str, int)) else repr(v) for v in values)
