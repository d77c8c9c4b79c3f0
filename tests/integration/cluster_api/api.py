"""A small client of a real API server, for tests: JSON objects in and out, refusals as the server words them."""

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from kubernetes.client import ApiClient
from kubernetes.config import new_client_from_config

__all__ = ["Api", "ApiRefused"]

Json = dict[str, Any]
_PLURALS: Final = {
    "TopicCreationPolicy": "topiccreationpolicies",
    "NetworkPolicy": "networkpolicies",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
}
_CLUSTER_WIDE: Final = (
    "Namespace",
    "Node",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
)
_APPLY: Final = "application/apply-patch+yaml"


class ApiRefused(Exception):
    """The server's answer is no success."""

    def __init__(self, code: int, answer: Json) -> None:
        super().__init__(f"{code}: {answer.get('message', answer)}")
        self.code = code
        self.answer = answer


class Api:
    """Requests to one server. Unknown fields are refused, as kubectl does."""

    def __init__(self, kubeconfig: Path) -> None:
        self._client: ApiClient = new_client_from_config(str(kubeconfig))  # type: ignore[no-untyped-call]
        self._server: str = self._client.configuration.host

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()  # type: ignore[no-untyped-call]

    def call(
        self, method: str, path: str, body: object = None, content_type: str = "application/json", **query: str
    ) -> Json:
        """One request.

        Raises:
            ApiRefused: the server answers with anything but success.
        """
        url = f"{self._server}{path}" + (f"?{urlencode(query)}" if query else "")
        # Below the client's own encoding: JSON is YAML, so one text serves server-side apply too.
        text = None if body is None else json.dumps(body)
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        pool = self._client.rest_client.pool_manager
        response = pool.request(method, url, body=text, headers=headers, timeout=30, retries=False)
        data = response.data
        answer = json.loads(data) if data and data.lstrip()[:1] in b"{[" else {"message": data.decode()}
        if response.status >= 400:
            raise ApiRefused(response.status, answer)
        return dict(answer)

    def create(self, manifest: Mapping[str, Any]) -> Json:
        """Create an object."""
        return self.call("POST", self._path(manifest), manifest, fieldValidation="Strict")

    def replace(self, manifest: Mapping[str, Any]) -> Json:
        """Put an object in the place of the one of its name."""
        return self.call("PUT", self._path_of(manifest), manifest, fieldValidation="Strict")

    def apply(
        self, manifest: Mapping[str, Any], *, manager: str = "test", part: str = "", dry_run: bool = False
    ) -> Json:
        """Server-side apply, by force; `part` is a subresource such as `status`."""
        query = {"fieldManager": manager, "force": "true", "fieldValidation": "Strict"}
        query |= {"dryRun": "All"} if dry_run else {}
        return self.call("PATCH", self._path_of(manifest, part), manifest, _APPLY, **query)

    def get(self, manifest: Mapping[str, Any], part: str = "") -> Json:
        """The object of this kind and name, as it is now."""
        return self.call("GET", self._path_of(manifest, part))

    def merge(self, manifest: Mapping[str, Any], patch: Mapping[str, Any], part: str = "") -> Json:
        """A JSON merge patch."""
        return self.call("PATCH", self._path_of(manifest, part), patch, "application/merge-patch+json")

    def delete(self, manifest: Mapping[str, Any]) -> Json:
        """Delete an object."""
        return self.call("DELETE", self._path_of(manifest))

    def list(self, api_version: str, kind: str, namespace: str) -> list[Json]:
        """All objects of a kind in a namespace."""
        of = {"apiVersion": api_version, "kind": kind, "metadata": {"namespace": namespace}}
        return list(self.call("GET", self._path(of))["items"])

    def new_namespace(self) -> str:
        """A namespace that no other test uses."""
        name = f"test-{uuid.uuid4().hex[:8]}"
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def _path(self, manifest: Mapping[str, Any]) -> str:
        version, kind = manifest["apiVersion"], manifest["kind"]
        plural = _PLURALS.get(kind, f"{kind.lower()}s")
        space = "" if kind in _CLUSTER_WIDE else f"/namespaces/{manifest['metadata'].get('namespace', 'default')}"
        return f"/{'apis' if '/' in version else 'api'}/{version}{space}/{plural}"

    def _path_of(self, manifest: Mapping[str, Any], part: str = "") -> str:
        return f"{self._path(manifest)}/{manifest['metadata']['name']}" + (f"/{part}" if part else "")
