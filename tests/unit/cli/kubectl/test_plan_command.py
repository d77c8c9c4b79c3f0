"""`kubectl penstock plan`: its dry runs, and files that cannot be read."""

from pathlib import Path
from typing import Any

import pytest

from penstock_cli.kubectl.command import main

from .cluster import Cluster


def connector(rate: int, *managers: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": "orders", "namespace": "shop", "managedFields": list(managers)}
    spec = {"class": "Datagen", "config": {"rate": rate}}
    return {
        "kind": "Connector",
        "metadata": metadata,
        "spec": spec,
        "status": {"tasks": [{"id": 0, "state": "Running"}]},
    }


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "orders.yaml").write_text("kind: Connector\n")
    return str(tmp_path / "orders.yaml")


def test_the_dry_run_is_that_of_kubectl_apply(cluster: Cluster, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    others = [
        {"operation": "Update", "manager": "kubectl"},
        {"operation": "Apply", "manager": "x", "subresource": "status"},
    ]
    policy = {"kind": "TopicCreationPolicy", "metadata": {"name": "p", "namespace": "shop"}}
    cluster.answers("apply", out={"kind": "List", "items": [connector(20), policy]}, err="Warning: spec: is odd\n")
    cluster.answers("get", out=connector(10, *others))
    assert main(["plan", "-f", file]) == 0
    printed = capsys.readouterr()
    assert printed.out == (
        "shop/orders: tasks whose configuration changes are replaced after validation; if it fails, all keep running "
        "(1 running)\nFIELD         BEFORE   AFTER\nconfig.rate   10       20\n1 other resource: not planned\n"
    )
    assert printed.err == "Warning: spec: is odd\n"
    assert [(words[0], given) for words, given in cluster.calls()] == [("apply", "kind: Connector\n"), ("get", None)]


def test_a_connector_that_is_applied_on_the_server_is_planned_likewise(
    cluster: Cluster, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.answers("--server-side", "--force-conflicts", "--field-manager=flux", out=connector(30))
    cluster.answers("apply", out=connector(20))
    cluster.answers("get", "--show-managed-fields", out=connector(10, {"operation": "Apply", "manager": "flux"}))
    assert main(["plan", "-f", file]) == 0
    assert "config.rate   10       30\n" in capsys.readouterr().out


def test_a_new_connector_is_named(cluster: Cluster, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.answers("apply", out=connector(20))
    assert main(["plan", "-f", file]) == 0
    assert capsys.readouterr().out == "shop/orders: new; up to 1 tasks start after validation\n"


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
