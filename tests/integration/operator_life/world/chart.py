"""What the chart makes of a release that matters to the API server: the operator's account, rights and configuration."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from ...ports import free_port
from .processes import ROOT, OperatorProcess
from .site import Site

__all__ = ["Chart", "Right"]

Right = tuple[str, str, str, str]
"""Namespace (empty: everywhere), API group, resource, verb."""
_ADMISSION: Final = (
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
)
"""Of the cluster. The API server does not reach the webhook, which has no Service here, and so accepts every object."""


class Chart:
    """What the chart makes for a release."""

    def __init__(self, site: Site, watch: list[str], **more: Any) -> None:
        values = {
            "worker": {"bootstrap.servers": site.servers},
            "watchNamespaces": watch,
            "crds": {"install": False},
            **more,
        }
        helm = site.server.cluster("path", "helm").strip()
        site.folder.mkdir(parents=True, exist_ok=True)
        file = site.folder / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        done = subprocess.run(
            [
                helm,
                "template",
                "penstock",
                str(ROOT / "helm" / "penstock"),
                "--namespace",
                site.namespace,
                "--values",
                str(file),
                "--kube-version",
                "1.36.0",
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        documents = [d for d in yaml.safe_load_all(done.stdout) if d]
        kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", *_ADMISSION)
        self.documents = [
            d for d in documents if d["kind"] in kinds and "aggregate" not in str(d["metadata"]["labels"])
        ]
        template = next(d for d in documents if d["kind"] == "Deployment")["spec"]["template"]
        self.configuration: dict[str, Any] = yaml.safe_load(
            template["metadata"]["annotations"]["penstock.dev/configuration"]
        )
        for document in self.documents:
            site.api.apply(document)
        self.account = next(d for d in documents if d["kind"] == "ServiceAccount")["metadata"]["name"]
        self.site = site

    def kubeconfig(self) -> Path:
        """Of the operator's ServiceAccount."""
        site = self.site
        path = f"/api/v1/namespaces/{site.namespace}/serviceaccounts/{self.account}/token"
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        }
        token = site.api.call("POST", path, request)["status"]["token"]
        admin = yaml.safe_load(site.server.kubeconfig.read_text())
        user = {"name": "operator", "user": {"token": token}}
        context = {"name": "c", "context": {"cluster": admin["clusters"][0]["name"], "user": "operator"}}
        file = site.folder / "operator.kubeconfig"
        file.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": admin["clusters"],
                    "users": [user],
                    "contexts": [context],
                    "current-context": "c",
                }
            )
        )
        return file

    def rights(self) -> set[Right]:
        """What the ServiceAccount may do, beside what everybody may."""
        bound = {d["roleRef"]["name"] for d in self.documents if d["kind"].endswith("RoleBinding")}
        return {
            (d["metadata"].get("namespace", ""), group, resource, verb)
            for d in self.documents
            if d["kind"] in ("Role", "ClusterRole") and d["metadata"]["name"] in bound
            for rule in d["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }

    def remove(self) -> None:
        """Of what is the cluster's."""
        for document in self.documents:
            if document["kind"].startswith("ClusterRole") or document["kind"] in _ADMISSION:
                self.site.api.delete(document)

    def operator(self, kubeconfig: Path | None = None) -> OperatorProcess:
        """The operator as the chart configures it, with what a test must set: not started yet."""
        made = self.site.operator(kubeconfig or self.kubeconfig())
        ours: Mapping[str, Any] = made.settings
        made.settings = {
            **self.configuration,
            "worker": {**self.configuration["worker"], **ours["worker"]},
            "metrics": {"port": free_port()},
            "probes": {"port": free_port()},
            "webhook": {**self.configuration["webhook"], "port": free_port()},
            "console": {**self.configuration["console"], "port": free_port()},
        }
        (made.folder / "operator.yaml").write_text(yaml.safe_dump(made.settings))
        return made
