"""The operator's rights: no more than it uses, no wider than the namespaces that it watches."""

from typing import Any

import pytest

from .rendering import NAMESPACE, Document, Helm, Rendered, least


def rights(rendered: Rendered) -> dict[tuple[str | None, str], set[str]]:
    """Verbs by namespace (None: everywhere) and resource."""
    found: dict[tuple[str | None, str], set[str]] = {}
    for namespace, rule in rendered.rules():
        for resource in rule["resources"]:
            name = resource + (f"/{rule['resourceNames'][0]}" if "resourceNames" in rule else "")
            found.setdefault((namespace, name), set()).update(rule["verbs"])
    return found


READ = {"get", "list", "watch"}
WATCHED = {
    "connectors": READ | {"patch"},
    "connectors/status": {"patch"},
    "topiccreationpolicies": READ,
    "topiccreationpolicies/status": {"patch"},
    "pluginversions": READ,
    "pluginversions/status": {"patch"},
    "pods": READ | {"create", "delete"},
    "pods/log": {"get"},
    "configmaps": {"get", "list", "create", "patch", "delete"},
    "events": {"create", "list"},
    "secrets": READ | {"create"},
}
WEBHOOKS = "validatingwebhookconfigurations/penstock-operator.penstock-system.penstock.dev"
CLUSTER: dict[tuple[str | None, str], set[str]] = {
    (None, "namespaces/kube-system"): {"get"},
    (None, WEBHOOKS): {"get", "update"},
}
AT_HOME = {
    "leases": {"get", "create", "update"},
    "secrets": {"create"},
    "secrets/penstock-secret-hash-key": {"get"},
    "secrets/penstock-webhook-authority": {"get", "update"},
}
NO_WEBHOOK = {"enabled": False}


def test_the_operator_may_do_this_and_nothing_else(rendered: Rendered) -> None:
    everywhere: dict[tuple[str | None, str], set[str]] = {(None, name): verbs for name, verbs in WATCHED.items()}
    at_home: dict[tuple[str | None, str], set[str]] = {(NAMESPACE, name): verbs for name, verbs in AT_HOME.items()}
    assert rights(rendered) == {**everywhere, **CLUSTER, **at_home}


def test_with_watched_namespaces_only_connectors_are_reached_elsewhere(helm: Helm) -> None:
    found = rights(helm.render(least(watchNamespaces=["shop", "audit"])))
    assert {name: verbs for (ns, name), verbs in found.items() if ns is None} == {
        "namespaces/kube-system": {"get"},
        WEBHOOKS: {"get", "update"},
        "namespaces/audit": {"get"},
        "connectors": {"get", "list", "patch"},
    }
    rendered = helm.render(least(watchNamespaces=["shop", "audit"], rbac={"endingNamespaces": False}))
    assert {name for ns, name in rights(rendered) if ns is None} == {"namespaces/kube-system", WEBHOOKS}
    assert rendered.of("ValidatingAdmissionPolicy") == []


def test_what_the_operator_may_change_of_connectors_everywhere_is_bounded(helm: Helm) -> None:
    for namespaces in ([], ["shop"]):
        rendered = helm.render(least(watchNamespaces=namespaces))
        policy = rendered.one("ValidatingAdmissionPolicy")
        assert rendered.one("ValidatingAdmissionPolicyBinding")["spec"]["policyName"] == policy["metadata"]["name"]
        assert (
            f"'system:serviceaccount:{NAMESPACE}:penstock-operator'"
            in policy["spec"]["matchConditions"][0]["expression"]
        )


def test_with_watched_namespaces_and_a_named_cluster_nothing_is_allowed_elsewhere(helm: Helm) -> None:
    narrow = {"clusterId": "prod-1", "rbac": {"endingNamespaces": False}, "webhook": NO_WEBHOOK}
    values = least(watchNamespaces=["shop", "audit"], **narrow)
    rendered = helm.render(values)
    found = rights(rendered)
    assert {namespace for namespace, _ in found} == {"shop", "audit", NAMESPACE}
    assert rendered.configuration["release"]["cluster"] == "prod-1"
    for namespace in ("shop", "audit"):
        assert {name: verbs for (ns, name), verbs in found.items() if ns == namespace} == WATCHED
    assert {name: verbs for (ns, name), verbs in found.items() if ns == NAMESPACE} == {
        name: verbs for name, verbs in AT_HOME.items() if "webhook" not in name
    }
    assert rendered.of("ClusterRoleBinding") == []
    assert rendered.configuration["watchNamespaces"] == ["audit", "shop"]


def test_without_watching_secrets_there_is_no_right_on_secrets_of_others(helm: Helm) -> None:
    for namespaces in ([], ["shop"]):
        values = {"secrets": {"watch": False}, "rbac": {"executors": False}, "watchNamespaces": namespaces}
        rendered = helm.render(least(**values, webhook=NO_WEBHOOK))
        assert not [name for _, name in rights(rendered) if name.startswith("secrets")]
        found = rights(helm.render(least(**values)))
        assert {key: verbs for key, verbs in found.items() if key[1].startswith("secrets")} == {
            (NAMESPACE, "secrets"): {"create"},
            (NAMESPACE, "secrets/penstock-webhook-authority"): {"get", "update"},
        }
        assert rendered.configuration["secrets"] == {"watch": False}


def test_without_watching_secrets_those_for_executors_can_be_made_and_none_can_be_read(helm: Helm) -> None:
    found = rights(helm.render(least(secrets={"watch": False}, watchNamespaces=["shop"], webhook=NO_WEBHOOK)))
    assert {key: v for key, v in found.items() if key[1] == "secrets"} == {("shop", "secrets"): {"create"}}


def test_a_given_hash_key_needs_no_right_to_make_one(helm: Helm) -> None:
    found = rights(helm.render(least(secretHashKey={"existingSecret": "mine"}, webhook=NO_WEBHOOK)))
    assert {name for namespace, name in found if namespace == NAMESPACE} == {"leases"}


def test_no_rule_has_a_wildcard(rendered: Rendered) -> None:
    for role in [*rendered.of("ClusterRole"), *rendered.of("Role")]:
        for rule in role["rules"]:
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]


def test_a_given_service_account_is_used_and_not_made(helm: Helm) -> None:
    rendered = helm.render(least(serviceAccount={"create": False, "name": "given"}))
    assert rendered.of("ServiceAccount") == []
    assert rendered.pod["serviceAccountName"] == "given"
    bindings = [*rendered.of("ClusterRoleBinding"), *rendered.of("RoleBinding")]
    assert {s["name"] for b in bindings for s in b["subjects"]} == {"given"}


def test_without_rbac_there_are_only_the_roles_of_users(helm: Helm) -> None:
    def roles(**values: Any) -> list[Document]:
        rendered = helm.render(least(**values))
        kinds = ("ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding")
        return [d for d in rendered.documents if d["kind"] in kinds]

    assert {r["metadata"]["name"].rpartition(":")[2] for r in roles(rbac={"create": False})} == {
        "view",
        "edit",
        "topic-policies",
    }
    assert roles(rbac={"create": False, "aggregate": False}) == []


@pytest.mark.parametrize(
    ("role", "into"), [("view", {"view", "edit", "admin"}), ("edit", {"edit", "admin"}), ("topic-policies", set())]
)
def test_kubernetes_own_roles_learn_of_the_resources(rendered: Rendered, role: str, into: set[str]) -> None:
    found = rendered.one("ClusterRole", f"penstock:{NAMESPACE}:penstock:{role}")
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    assert {n.removeprefix(prefix) for n, v in found["metadata"]["labels"].items() if n.startswith(prefix)} == into
    verbs = {verb for rule in found["rules"] for verb in rule["verbs"]}
    assert (verbs == READ) is (role == "view")
    assert {group for rule in found["rules"] for group in rule["apiGroups"]} == {"penstock.dev"}


def test_releases_of_two_namespaces_share_no_name_of_the_cluster(rendered: Rendered) -> None:
    kinds = ("ClusterRole", "ClusterRoleBinding")
    names = [d["metadata"]["name"] for kind in kinds for d in rendered.of(kind)]
    assert all(f":{NAMESPACE}:" in name for name in names)


def test_with_cert_manager_the_operator_has_no_right_on_certificates(helm: Helm) -> None:
    found = rights(helm.render(least(webhook={"certManager": {"enabled": True}})))
    assert not [name for _, name in found if "webhook" in name]
