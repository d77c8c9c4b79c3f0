"""`kubectl penstock plan` on a real API server, with the real kubectl: whoever applies an object, and however."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from penstock_cli.kubectl.command import main

from ...unit.cli.command import own_log
from ..api_servers import ApiServer, run

Planned = Callable[[str], tuple[str, str]]
CONNECTOR = """
apiVersion: penstock.dev/v1alpha1
kind: Connector
metadata: {name: %s, labels: {team: %s}}
spec: {class: Datagen, config: {topic: shop-orders, rate: %d}}
---
"""
POLICY = """
apiVersion: penstock.dev/v1alpha1
kind: TopicCreationPolicy
metadata: {name: stock}
spec: {connectorSelector: {matchLabels: {team: stock}}, default: {partitions: 6, replicationFactor: 3}}
---
"""


@pytest.fixture
def planned(
    api_server: ApiServer,
    namespace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Planned]:
    """Plan manifests, and return the output and the warnings."""
    kubectl = Path(run("any", "path", "kubectl").strip())
    monkeypatch.setenv("PATH", f"{kubectl.parent}:/usr/bin:/bin")
    monkeypatch.setenv("KUBECONFIG", str(api_server.kubeconfig))
    file = tmp_path / "edited.yaml"

    def plan(text: str) -> tuple[str, str]:
        file.write_text(text)
        code = main(["plan", "--namespace", namespace, "--filename", str(file)])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return printed.out, printed.err

    with own_log():
        yield plan


@pytest.fixture
def apply(api_server: ApiServer, namespace: str, tmp_path: Path) -> Callable[..., None]:
    def applied(text: str, *words: str) -> None:
        file = tmp_path / "applied.yaml"
        file.write_text(text)
        api_server.kubectl("apply", "--namespace", namespace, "--filename", str(file), *words)

    return applied


def test_an_object_that_flux_applies_is_planned_without_a_warning_and_as_flux_does(
    planned: Planned, apply: Callable[..., None]
) -> None:
    apply(CONNECTOR % ("flux", "shop", 10), "--server-side", "--field-manager=kustomize-controller")
    apply(CONNECTOR % ("own", "shop", 10))
    out, err = planned(CONNECTOR % ("flux", "shop", 20) + CONNECTOR.replace("rate: %d", "a: b") % ("own", "shop"))
    assert err == ""
    rows = [line.split() for line in out.splitlines() if line.startswith("config.")]
    assert rows == [["config.rate", "10", "20"], ["config.a", "-", "b"], ["config.rate", "10", "-"]]


def test_an_object_that_was_created_without_apply_has_kubectls_warning(
    planned: Planned, api_server: ApiServer, namespace: str, tmp_path: Path
) -> None:
    (tmp_path / "created.yaml").write_text(CONNECTOR % ("made", "shop", 10))
    api_server.kubectl("create", "--namespace", namespace, "--filename", str(tmp_path / "created.yaml"))
    out, err = planned(CONNECTOR % ("made", "shop", 10))
    assert "unchanged" in out
    assert "last-applied-configuration" in err


def test_a_label_that_selects_a_policy_of_the_same_file_changes_the_topics_rule(
    planned: Planned, apply: Callable[..., None], namespace: str
) -> None:
    apply(CONNECTOR % ("orders", "shop", 10))
    out, _ = planned(CONNECTOR % ("orders", "stock", 10) + POLICY)
    assert f"{namespace}/orders: tasks are replaced one by one, if the rules change" in out
    assert "labels.team   shop     stock" in out
    assert "shop-orders   6            3             -          default of the TopicCreationPolicy stock\n" in out
    assert "1 other resource: not planned" in out


def test_a_plan_changes_nothing(planned: Planned, api_server: ApiServer, namespace: str) -> None:
    out, err = planned(CONNECTOR % ("orders", "stock", 10) + POLICY)
    assert out.startswith(f"{namespace}/orders: new; up to 1 task starts")
    assert "shop-orders   6 " in out
    assert err == ""
    words = ("get", "connectors,topiccreationpolicies", "--namespace", namespace, "--output=yaml")
    assert yaml.safe_load(api_server.kubectl(*words))["items"] == []
