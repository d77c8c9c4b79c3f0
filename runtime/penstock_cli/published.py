"""Configuration definitions that PluginVersions have published, from manifests or from the cluster."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock import ConfigError
from penstock_cli.kubectl_client import Kubectl
from penstock_cli.manifests.reader import read_resources
from penstock_model.contracts.definitions import KEY, Definitions, unpack

__all__ = ["Given", "in_file", "in_namespace"]

_KIND: Final = "PluginVersion"
_SELECTOR: Final = "penstock.dev/role=definitions"


@dataclass(frozen=True, slots=True)
class Given:
    """PluginVersions, and the ConfigMaps with the definitions of their classes.

    Attributes:
        plugin_versions: PluginVersions of one namespace.
        config_maps: any ConfigMaps.
    """

    plugin_versions: Sequence[Mapping[str, Any]]
    config_maps: Sequence[Mapping[str, Any]]

    def definitions(self, plugin_version: str) -> Definitions:
        """Return the definitions that a PluginVersion has published.

        Raises:
            ConfigError: it has published none, they are missing in `config_maps`, or they do not match its digest.
        """
        document = next((d for d in self.plugin_versions if _metadata(d).get("name") == plugin_version), {})
        status = document.get("status")
        where = status.get("definitions") if isinstance(status, Mapping) else None
        if not isinstance(where, Mapping):
            raise ConfigError(
                f"cannot show the configuration of PluginVersion {plugin_version}: its configuration definitions "
                f"have not been published; run `kubectl describe pluginversion {plugin_version}` to see whether it is "
                "verified"
            )
        name = str(where.get("configMap"))
        content = next((c for c in self.config_maps if _metadata(c).get("name") == name), None)
        if content is None:
            raise ConfigError(
                f"cannot show the configuration of PluginVersion {plugin_version}: ConfigMap {name}, which holds it, is "
                f"missing; use --namespace, or pass the ConfigMaps with the label {_SELECTOR} as well"
            )
        try:
            return unpack(_bytes(content), str(where.get("digest")))
        except ConfigError as e:
            raise ConfigError(f"cannot read ConfigMap {name} of PluginVersion {plugin_version}: {e}") from None


def in_file(file: str | Path) -> Given:
    """Read a file of manifests, or the output of `kubectl get --output=yaml`; `-` is standard input.

    Raises:
        ConfigError: it holds other kinds, or cannot be read.
    """
    return _given(read_resources(file, _KIND, "ConfigMap"))


def in_namespace(kubectl: Kubectl) -> Given:
    """Read a namespace of the cluster.

    Raises:
        ConnectError: kubectl is not installed, or cannot read it.
    """
    versions = kubectl.json("get", "pluginversions.penstock.dev")
    config_maps = kubectl.json("get", "configmaps", f"--selector={_SELECTOR}")
    return _given((*_of_kind(versions, _KIND), *_of_kind(config_maps, "ConfigMap")))


def _given(resources: Iterable[Mapping[str, Any]]) -> Given:
    found = list(resources)
    versions = [r for r in found if r.get("kind") == _KIND]
    return Given(versions, [r for r in found if r.get("kind") != _KIND])


def _of_kind(answer: Mapping[str, Any], kind: str) -> Iterable[Mapping[str, Any]]:
    return ({**item, "kind": kind} for item in answer["items"])


def _metadata(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = resource.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _bytes(config_map: Mapping[str, Any]) -> bytes:
    data = config_map.get("binaryData")
    text = data.get(KEY) if isinstance(data, Mapping) else None
    try:
        return base64.b64decode(str(text or ""), validate=True)
    except ValueError as e:
        raise ConfigError(f"{KEY} is not base64: {e}") from None
