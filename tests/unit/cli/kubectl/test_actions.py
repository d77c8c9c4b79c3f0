"""Actions of `kubectl penstock`: their results, their exit codes, and documents of offsets."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock_cli.kubectl import requests
from penstock_cli.kubectl.command import main

from .cluster import Cluster

FIXED = 1_780_000_000.0
TOKEN = "cli-1780000000000"


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "time", lambda: FIXED)


def connector(annotations: dict[str, str] | None = None, state: str = "Stopped", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "orders", "namespace": "shop", "uid": "u", "annotations": annotations or {}},
        "spec": {"class": "Datagen", "state": state},
        "status": status,
    }


def acted(result: str, message: str = "", token: str = TOKEN) -> list[dict[str, str]]:
    return [{"token": token, "result": result, "message": message}]


def test_a_restart_reports_the_result_of_its_own_token(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.answers("get", out=connector(restartActions=acted("Succeeded", "2 tasks were restarted")))
    assert main(["restart", "orders", "--tasks", "0,2"]) == 0
    assert "orders: Succeeded: 2 tasks were restarted\n" in capsys.readouterr().err
    assert cluster.calls()[0][1] == {"metadata": {"annotations": {"penstock.dev/restart-tasks": f"{TOKEN} 0,2"}}}


def test_a_request_that_another_user_replaced_is_reported(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.answers(
        "get", out=connector({"penstock.dev/restart": "cli-2"}, restartActions=acted("Pending", token="cli-2"))
    )
    assert main(["restart", "orders"]) == 5
    assert "the annotation penstock.dev/restart was changed by another user" in capsys.readouterr().err


def test_a_replaced_request_that_the_operator_has_read_is_awaited(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.answers("get", out=connector({"penstock.dev/restart": "cli-2"}, restartActions=acted("Pending")))
    assert main(["restart", "orders", "--timeout", "0.1"]) == 5
    message = capsys.readouterr().err
    assert "there is no result for orders within 0.1 s; `kubectl describe connector orders -n shop` may show" in message


def test_a_refused_list_of_offsets_has_exit_code_1(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.answers("get", out=connector(offsetsActions=acted("Refused", "no plan\x1b[2J")))
    assert main(["offsets", "list", "orders"]) == 1
    assert "cannot list the offsets of orders: Refused: no plan\\x1b[2J\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "is not JSON"),
        ([], "must have the form"),
        ({"offsets": {"partition": {}}}, "must have the form"),
        ({"offsets": ["a"]}, "offsets[0] must be"),
        ({"offsets": [{"partition": {"a": 1}}]}, "offsets[0] must be"),
        ({"offsets": [{"partition": [["a", 1]], "offset": {}}]}, "offsets[0] must be"),
        ({"offsets": [{"partition": {"a": 1}, "offset": 7}]}, "offsets[0] must be"),
        ({"offsets": [{"partition": {"a": [1]}, "offset": None}]}, "offsets[0] Offsets may only contain primitive"),
    ],
)
def test_a_document_of_another_form_is_refused(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], document: Any, message: str
) -> None:
    file = tmp_path / "offsets.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    assert main(["offsets", "alter", "orders", "--offsets", str(file), "--yes"]) == 2
    assert message in capsys.readouterr().err.replace(": offsets[0]:", ": offsets[0]")
    assert cluster.calls() == []


def test_an_offset_in_another_form_than_that_of_a_sink_is_shown_as_json(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "offsets.json"
    partition = {"kafka_topic": "t", "kafka_partition": 0}
    file.write_text(json.dumps({"offsets": [{"partition": partition, "offset": {"at": 1}}]}))
    cluster.answers("configmap", out={"data": {"offsets.json": '{"offsets": []}'}})
    cluster.answers("get", out=connector(offsetsActions=acted("Succeeded")))
    assert main(["offsets", "alter", "orders", "--offsets", str(file), "--dry-run"]) == 0
    assert '{"at":1}' in capsys.readouterr().out
