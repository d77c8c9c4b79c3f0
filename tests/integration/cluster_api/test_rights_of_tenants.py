"""What who has Kubernetes' `edit` or `view` in one namespace may do with Penstock's resources, as the API server decides it.

No controller aggregates roles here: the roles of the chart are bound as they are, which gives what they add.
"""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from ..api_servers import ROOT, ApiServer, run
from ..running import until
from .api import Api

RESOURCES = ("connectors", "topiccreationpolicies", "pluginversions")
READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete", "deletecollection")


def rendered(api_server: ApiServer, folder: Path, namespace: str, **values: Any) -> list[dict[str, Any]]:
    """The release of a tenant with a namespace of its own."""
    helm = run(api_server.name, "path", "helm").strip()
    file = folder / "values.yaml"
    given = {"worker": {"bootstrap.servers": "kafka:9092"}, "crds": {"install": False}, **values}
    file.write_text(yaml.safe_dump(given))
    words = [helm, "template", "penstock", str(ROOT / "helm" / "penstock"), "--namespace", namespace]
    done = subprocess.run(
        [*words, "--values", str(file), "--kube-version", "1.36.0"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [d for d in yaml.safe_load_all(done.stdout) if d]


@dataclass(frozen=True)
class Tenants:
    """A release, and ann with `edit`, vic with `view` and pat with the role for policies in one namespace of two."""

    api: Api
    release: str
    own: str
    other: str

    def may(
        self, user: str, verb: str, resource: str, namespace: str, group: str = "penstock.dev", name: str = ""
    ) -> bool:
        """Whether the API server lets a user do that."""
        kind, _, part = resource.partition("/")
        asked = {
            "namespace": namespace,
            "verb": verb,
            "group": group,
            "resource": kind,
            "subresource": part,
            "name": name,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": asked},
        }
        answer = self.api.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(answer["status"]["allowed"])

    @property
    def operator(self) -> str:
        """The operator's user."""
        return f"system:serviceaccount:{self.release}:penstock-operator"


@pytest.fixture
def tenants(api_server: ApiServer, api: Api, tmp_path: Path) -> Iterator[Tenants]:
    release, own, other = (api.new_namespace() for _ in range(3))
    roles = [
        d
        for d in rendered(
            api_server, tmp_path, release, watchNamespaces=[own], clusterId="test", rbac={"endingNamespaces": False}
        )
        if d["kind"] in ("ServiceAccount", "Role", "RoleBinding", "ClusterRole")
    ]
    for role in roles:
        api.apply(role)
    for user, level in (("ann", "edit"), ("vic", "view")):
        # Kubernetes' own role, and what the chart adds to it.
        for number, name in enumerate(
            (level, f"penstock:{release}:penstock:{level}", f"penstock:{release}:penstock:view")
        ):
            api.apply(
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": "RoleBinding",
                    "metadata": {"name": f"{user}-{number}", "namespace": own},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
                }
            )
    api.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "pat", "namespace": own},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": f"penstock:{release}:penstock:topic-policies",
            },
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "pat"}],
        }
    )
    made = Tenants(api, release, own, other)
    # The API server itself learns of bindings by a watch, a moment after it has taken them; this one is the last.
    until(lambda: made.may("pat", "create", "topiccreationpolicies", own), what="the bindings hold")
    yield made
    for role in roles:
        if role["kind"] == "ClusterRole":
            api.delete(role)


def test_who_edits_a_namespace_writes_our_resources_there_and_nothing_of_ours_elsewhere(tenants: Tenants) -> None:
    for resource in RESOURCES:
        for verb in (*READ, *WRITE):
            is_allowed = verb in READ or resource != "topiccreationpolicies"
            assert tenants.may("ann", verb, resource, tenants.own) is is_allowed
            assert not tenants.may("ann", verb, resource, tenants.other)
            assert not tenants.may("ann", verb, resource, tenants.release)
    assert tenants.may("ann", "patch", "connectors/scale", tenants.own)
    assert not tenants.may("ann", "patch", "connectors/scale", tenants.other)


def test_policies_are_written_only_by_those_who_were_given_their_role(tenants: Tenants) -> None:
    for verb in WRITE:
        assert tenants.may("pat", verb, "topiccreationpolicies", tenants.own)
        assert not tenants.may("pat", verb, "topiccreationpolicies", tenants.other)
        assert not tenants.may("pat", verb, "connectors", tenants.own)


def test_who_views_a_namespace_writes_nothing(tenants: Tenants) -> None:
    for resource in (*RESOURCES, "connectors/status", "connectors/scale"):
        assert tenants.may("vic", "get", resource, tenants.own)
        for verb in WRITE:
            assert not tenants.may("vic", verb, resource, tenants.own)


def test_nobody_but_the_operator_writes_status(tenants: Tenants) -> None:
    for resource in RESOURCES:
        for verb in ("update", "patch"):
            assert not tenants.may("ann", verb, f"{resource}/status", tenants.own)
        assert tenants.may(tenants.operator, "patch", f"{resource}/status", tenants.own)


def test_a_tenant_reaches_no_secret_of_others_and_not_the_operators_account(tenants: Tenants) -> None:
    assert tenants.may("ann", "get", "secrets", tenants.own, group="")
    for namespace in (tenants.other, tenants.release):
        for verb in READ:
            assert not tenants.may("ann", verb, "secrets", namespace, group="")
        assert not tenants.may("ann", "get", "pods/log", namespace, group="")
        assert not tenants.may("ann", "create", "pods/exec", namespace, group="")
    for verb, resource in (("create", "serviceaccounts/token"), ("impersonate", "serviceaccounts"), ("get", "pods")):
        assert not tenants.may("ann", verb, resource, tenants.release, group="", name="penstock-operator")


def test_the_operator_of_a_tenant_does_nothing_for_it_elsewhere(tenants: Tenants) -> None:
    for resource, group in (("connectors", "penstock.dev"), ("pods", ""), ("secrets", ""), ("configmaps", "")):
        assert tenants.may(tenants.operator, "list", resource, tenants.own, group)
        assert not tenants.may(tenants.operator, "list", resource, tenants.other, group)
    assert not tenants.may(tenants.operator, "create", "pods", tenants.other, "")
    assert not tenants.may(tenants.operator, "get", "secrets", tenants.release, "", name="kafka-client")


def test_the_api_server_takes_the_network_policies_of_a_tenant(api_server: ApiServer, api: Api, tmp_path: Path) -> None:
    release, own = (api.new_namespace() for _ in range(2))
    kafka = [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}], "ports": [{"port": 9093}]}]
    policy = {"egress": {"enabled": True, "kafka": kafka}}
    documents = rendered(api_server, tmp_path, release, watchNamespaces=[own], networkPolicy=policy)
    policies = [d for d in documents if d["kind"] == "NetworkPolicy"]
    assert {p["metadata"]["namespace"] for p in policies} == {release, own}
    for made in policies:
        assert api.create(made)["spec"]["policyTypes"] == ["Ingress", "Egress"]
