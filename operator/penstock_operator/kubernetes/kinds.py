"""Kinds of objects that the operator works with, and their paths. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

__all__ = [
    "ACCESS_REVIEW",
    "CONFIG_MAP",
    "CONNECTOR",
    "EVENT",
    "LEASE",
    "NAMESPACE",
    "PLUGIN_VERSION",
    "POD",
    "POLICY",
    "SECRET",
    "SELF_ACCESS_REVIEW",
    "SELF_REVIEW",
    "WEBHOOKS",
    "Kind",
    "kind_of",
    "name_of_plural",
]


@dataclass(frozen=True)
class Kind:
    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str = "") -> str:
        """Return the path of an object; without a name, of all objects; without a namespace, of all namespaces."""
        root = "api" if "/" not in self.api_version else "apis"
        parts = [root, *self.api_version.split("/")]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [self.plural, *([name] if name else []), *([subresource] if subresource else [])]
        return "/" + "/".join(quote(part, safe="") for part in parts)

    def __str__(self) -> str:
        return self.kind


_OURS: Final = "penstock.dev/v1alpha1"
CONNECTOR: Final = Kind(_OURS, "Connector", "connectors")
POLICY: Final = Kind(_OURS, "TopicCreationPolicy", "topiccreationpolicies")
PLUGIN_VERSION: Final = Kind(_OURS, "PluginVersion", "pluginversions")
POD: Final = Kind("v1", "Pod", "pods")
CONFIG_MAP: Final = Kind("v1", "ConfigMap", "configmaps")
SECRET: Final = Kind("v1", "Secret", "secrets")
NAMESPACE: Final = Kind("v1", "Namespace", "namespaces", namespaced=False)
EVENT: Final = Kind("events.k8s.io/v1", "Event", "events")
WEBHOOKS: Final = Kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
ACCESS_REVIEW: Final = Kind("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False)
SELF_ACCESS_REVIEW: Final = Kind(
    "authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
SELF_REVIEW: Final = Kind("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False)
LEASE: Final = Kind("coordination.k8s.io/v1", "Lease", "leases")

_ALL: Final = {
    (k.api_version, k.kind): k
    for k in (CONNECTOR, POLICY, PLUGIN_VERSION, POD, CONFIG_MAP, SECRET, NAMESPACE, EVENT, WEBHOOKS, LEASE)
}


def kind_of(manifest: Mapping[str, Any]) -> Kind:
    """Return the kind of a manifest.

    Raises:
        KeyError: the operator does not work with this kind.
    """
    return _ALL[manifest["apiVersion"], manifest["kind"]]


def name_of_plural(plural: str) -> str:
    """Return the name of the kind with this plural, or the plural if the operator does not work with the kind."""
    return next((k.kind for k in _ALL.values() if k.plural == plural), plural)
