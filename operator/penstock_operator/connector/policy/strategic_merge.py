"""Strategic merge of pods, like `kubectl patch`: lists with a merge key are merged by it. Pure.

The keys are those of Kubernetes' types (`patchMergeKey`); a list without a key is replaced. `null` removes a field.
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
    """Return `base` with `patch` merged into it; neither argument is modified."""
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        result = {name: value for name, value in base.items() if name not in patch}
        for name, value in patch.items():
            if value is not None:
                result[name] = merged(base.get(name), value, name)
        # Fields of the base keep their order and new ones follow, so that equal patches give equal JSON.
        return {name: result[name] for name in (*base, *(n for n in patch if n not in base)) if name in result}
    keys = _KEYS.get(field)
    if keys is not None and isinstance(base, Sequence) and isinstance(patch, Sequence) and not isinstance(patch, str):
        return _by_key(base, patch, keys)
    return patch


def _by_key(base: Sequence[Any], patch: Sequence[Any], keys: tuple[str, ...]) -> list[Any]:
    by_key: dict[tuple[Any, ...], Any] = {_key(item, keys): item for item in base}
    for item in patch:
        key = _key(item, keys)
        if isinstance(item, Mapping) and item.get("$patch") == "delete":
            by_key.pop(key, None)
        else:
            by_key[key] = merged(by_key[key], item) if key in by_key else item
    return list(by_key.values())


def _key(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    if not isinstance(item, Mapping):
        return (repr(item),)
    values = (item.get(k, _DEFAULTS.get(k)) for k in keys)
    # Users may write values of any type; the API server reports errors.
    return tuple(v if v is None or isinstance(v, (str, int)) else repr(v) for v in values)
