"""The release of a tenant as docs/tenants.md has it: nothing of it is shared with that of another."""

import re

import pytest
import yaml

from penstock_model.connect.worker_config import WorkerConfig

from .rendering import NAMESPACE, ROOT, Document, Helm, Rendered
from .test_rights import READ, rights


def documented() -> Document:
    """The values of the page."""
    page = (ROOT / "docs" / "tenants.md").read_text()
    (text,) = re.findall(r"```yaml\n# tenant-shop\.yaml\n(.*?)```", page, re.DOTALL)
    values: Document = yaml.safe_load(text)
    return values


@pytest.fixture
def tenant(helm: Helm) -> Rendered:
    return helm.render(documented())


def test_it_has_rights_in_the_tenants_namespace_and_its_own_and_makes_nothing_of_the_cluster(tenant: Rendered) -> None:
    assert {namespace for namespace, _ in rights(tenant)} == {"shop", NAMESPACE}
    assert rights(tenant)["shop", "secrets"] == READ | {"create"}
    everywhere = [d["kind"] for d in tenant.documents if d["kind"].startswith(("ClusterRole", "CustomResource"))]
    assert everywhere == []
    assert {d["metadata"].get("namespace") for d in tenant.documents} == {"shop", NAMESPACE}


def test_it_has_a_service_account_and_names_in_kafka_of_its_own(tenant: Rendered) -> None:
    assert tenant.one("ServiceAccount")["metadata"]["namespace"] == NAMESPACE
    assert tenant.pod["serviceAccountName"] == "penstock-operator"
    worker = tenant.configuration["worker"]
    names = ("group.id", "offset.storage.topic", "status.storage.topic")
    assert {n: worker[n] for n in names} == {
        "group.id": "shop",
        "offset.storage.topic": "shop-offsets",
        "status.storage.topic": "shop-status",
    }
    assert not {worker[n] for n in names} & {WorkerConfig.parse({"bootstrap.servers": "k:1"}).raw.get(n) for n in names}


def test_its_connectors_cannot_name_another_principal_or_group(tenant: Rendered) -> None:
    assert tenant.configuration["worker"]["connector.client.config.override.policy"] == "None"


def test_its_principal_comes_from_the_secrets_of_its_two_namespaces(tenant: Rendered) -> None:
    mounted = [v["secret"]["secretName"] for v in tenant.pod["volumes"] if "secret" in v]
    assert "kafka-client" in mounted
    assert "${secret:kafka-client:" in tenant.configuration["worker"]["sasl.jaas.config"]
    assert tenant.of("Secret") == []


def test_its_pods_reach_kafka_and_what_is_listed(tenant: Rendered) -> None:
    for policy in tenant.of("NetworkPolicy"):
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
        assert {"protocol": "TCP", "port": 9093} in [p for rule in policy["spec"]["egress"] for p in rule["ports"]]
