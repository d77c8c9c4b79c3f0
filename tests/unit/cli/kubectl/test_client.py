"""Client that runs kubectl."""

from pathlib import Path

import pytest

from penstock.errors import ConnectError
from penstock_cli.kubectl_client import FIELD_MANAGER, Kubectl

from .cluster import Cluster


def test_a_document_longer_than_an_argument_is_sent(cluster: Cluster) -> None:
    document = "x" * 200_000
    Kubectl().annotate("orders", "penstock.dev/alter-offsets", document)
    ((words, patch),) = cluster.calls()
    assert patch == {"metadata": {"annotations": {"penstock.dev/alter-offsets": document}}}
    assert f"--field-manager={FIELD_MANAGER}" in words


def test_an_annotation_is_removed_by_null(cluster: Cluster) -> None:
    Kubectl().annotate("orders", "penstock.dev/log-level", None)
    assert cluster.calls()[0][1] == {"metadata": {"annotations": {"penstock.dev/log-level": None}}}


def test_warnings_of_the_api_server_are_printed(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.answers("patch", err="Warning: spec.config.rate: is high\x1b[2J\n")
    with caplog.at_level("INFO", "penstock"):
        Kubectl().patch_spec("orders", {"state": "Paused"})
    assert caplog.messages == ["Warning: spec.config.rate: is high\\x1b[2J"]


@pytest.mark.parametrize("out", ["Logged in as me\n{}", "[]", ""])
def test_other_output_than_json_is_an_error(cluster: Cluster, out: str) -> None:
    cluster.answers("get", out=out)
    with pytest.raises(ConnectError, match="cannot read the output of kubectl get: it is not valid JSON"):
        Kubectl().connector("orders")


def test_output_is_read_as_utf_8(cluster: Cluster) -> None:
    cluster.answers("get", out='{"name": "Grüße"}')
    assert Kubectl().connector("orders") == {"name": "Grüße"}


def test_a_kubectl_that_cannot_run_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "kubectl").write_text("no program")
    (tmp_path / "kubectl").chmod(0o755)
    with pytest.raises(ConnectError, match="cannot run kubectl: Exec format error"):
        Kubectl().text("version")
    (tmp_path / "kubectl").unlink()
    with pytest.raises(ConnectError, match="kubectl is not installed"):
        Kubectl().text("version")
