"""`kubectl penstock plan`: its dry runs, and files that cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock_cli.kubectl.command import main

from .cluster import Cluster

API = "penstock.dev/v1alpha1"


def connector(rate: int, *managers: dict[str, str], name: str = "orders") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "managedFields": list(managers)}
    spec = {"class": "Datagen", "config": {"rate": rate}}
    return {
        "apiVersion": API,
        "kind": "Connector",
        "metadata": metadata,
        "spec": spec,
        "status": {"tasks": [{"id": 0, "state": "Running"}], "connector": {"type": "sink"}},
    }


POLICY: dict[str, Any] = {
    "apiVersion": API,
    "kind": "TopicCreationPolicy",
    "metadata": {"name": "p", "namespace": "shop"},
    "spec": {"connectorSelector": {}, "default": {"partitions": 7}},
}


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "List", "items": items}


def names(stdin: str) -> list[str]:
    return [item["metadata"]["name"] for item in json.loads(stdin)["items"]]


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "orders.yaml").write_text("kind: Connector\n")
    return str(tmp_path / "orders.yaml")


def test_the_dry_run_is_that_of_kubectl_apply(cluster: Cluster, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    others = [
        {"operation": "Update", "manager": "kubectl"},
        {"operation": "Apply", "manager": "x", "subresource": "status"},
    ]
    cluster.answers("create", out=json.dumps(connector(20)) + "\n" + json.dumps(POLICY))
    cluster.answers("apply", out=listed(connector(20), POLICY), err="Warning: spec: is odd\n")
    cluster.answers("topiccreationpolicies.penstock.dev", out=listed())
    cluster.answers("get", out=connector(10, *others))
    assert main(["plan", "-f", file]) == 0
    printed = capsys.readouterr()
    assert printed.out == (
        "shop/orders: tasks whose configuration changes are replaced after validation; if it fails, all keep running "
        "(1 running)\nFIELD         BEFORE   AFTER\nconfig.rate   10       20\n1 other resource: not planned\n"
    )
    assert printed.err == "Warning: spec: is odd\n"
    (first, text), (second, read), (third, applied), _ = cluster.calls()
    assert [first[0], second[0], third[0]] == ["create", "get", "apply"]
    assert "--dry-run=client" in first
    assert "--server-side" not in third
    assert text == "kind: Connector\n"
    assert names(read) == names(applied) == ["orders", "p"]


def test_each_resource_is_planned_as_who_applies_it_does(
    cluster: Cluster, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flux = {"operation": "Apply", "manager": "flux"}
    cluster.answers("create", out=json.dumps(connector(20)) + json.dumps(connector(20, name="own")))
    cluster.answers("--server-side", "--force-conflicts", "--field-manager=flux", out=connector(30))
    cluster.answers("apply", out=connector(20, name="own"))
    cluster.answers("topiccreationpolicies.penstock.dev", out=listed())
    cluster.answers("get", "--show-managed-fields", out=listed(connector(10, flux), connector(10, name="own")))
    assert main(["plan", "-f", file]) == 0
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line.startswith("config.")] == [
        "config.rate   10       30",
        "config.rate   10       20",
    ]
    applied = {"--server-side" in words: names(given) for words, given in cluster.calls() if words[0] == "apply"}
    assert applied == {True: ["orders"], False: ["own"]}


def test_a_new_connector_is_named_with_its_topics_by_the_policies_of_the_file_and_the_cluster(
    cluster: Cluster, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    new = connector(20)
    new["spec"]["config"]["topic"] = "orders"
    there = {**POLICY, "spec": {"connectorSelector": {}, "default": {"partitions": 3}}}
    limits = {**POLICY, "metadata": {"name": "q"}, "spec": {"connectorSelector": {}, "limits": {"maxPartitions": 5}}}
    cluster.answers("create", out=json.dumps(new) + json.dumps(POLICY))
    cluster.answers("apply", out=listed(new, POLICY))
    cluster.answers("topiccreationpolicies.penstock.dev", "--namespace=shop", out=listed(there, limits))
    assert main(["plan", "-f", file]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("shop/orders: new; up to 1 task starts after validation\nTopics that would be created")
    assert (
        "maxPartitions of the TopicCreationPolicy q is 5, but default of the TopicCreationPolicy p requests 7"
        in printed
    )


def test_policies_that_may_not_be_read_hinder_no_plan(
    cluster: Cluster, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.answers("create", out=connector(20))
    cluster.answers("apply", out=connector(20))
    cluster.answers("topiccreationpolicies.penstock.dev", err="Error: forbidden\n", code=1)
    assert main(["plan", "-f", file]) == 0
    assert "The rules are unknown: kubectl get: Error: forbidden\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "message"), [(None, "cannot be read: No such file"), (b"\xff\xfe", "not UTF-8"), (b" ", "is empty")]
)
def test_a_file_that_cannot_be_read_has_exit_code_2(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes | None, message: str
) -> None:
    file = tmp_path / "missing.yaml"
    if data is not None:
        file.write_bytes(data)
    assert main(["plan", "-f", str(file)]) == 2
    assert message in capsys.readouterr().err
    assert cluster.calls() == []
