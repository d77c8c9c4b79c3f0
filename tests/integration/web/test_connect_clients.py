"""Unmodified clients of Kafka Connect's REST API work with Penstock's."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from penstock_runtime.maven import cache_folder, exclusively

from ...unit.web.connect_examples import NAMESPACE, TASKS, connector
from ...unit.web.connect_requests import CONFIGS
from ...unit.web.resources import Resources, Rights
from ...unit.web.serving import served
from ..running import until

pytestmark = pytest.mark.slow

PY_CLIENT: Final = "kafka-connect-py==1.0.0"
CLI: Final = "kafka-connect-cli==0.2.5"
WATCHER: Final = "kafka-connect-watcher==0.6.0"


def installed(requirement: str) -> Path:
    """The programs of a client, installed into an environment of its own: two of them have the same package name."""
    folder = cache_folder() / f"connect-clients/{requirement}"
    with exclusively(folder):
        if not (folder / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", requirement], check=True)
            (folder / "complete").touch()
    return folder / "bin"


@pytest.fixture
def resources() -> Resources:
    names = ("broken", "lines-in", "lines-out", "waiting")  # the second client does not know the state STOPPED
    return Resources(*(connector(name, CONFIGS[name], TASKS[name]) for name in names))


@pytest.fixture
def rights(resources: Resources) -> Rights:
    return Rights(resources, token=NAMESPACE)


@pytest.fixture
def port(resources: Resources, rights: Rights) -> Iterator[int]:
    with served(resources, access=rights) as server:
        yield server.port


def output(*command: str | Path) -> Any:
    found = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    return json.loads(found) if found.strip() else None


def annotations(rights: Rights) -> list[tuple[str, str]]:
    """The actions requested by annotations: connector and action."""
    return [
        (name, annotation.removeprefix("penstock.dev/"))
        for _, name, patch in rights.patches
        for annotation in patch.get("metadata", {}).get("annotations", ())
    ]


def test_kafka_connect_py_reads_and_acts(port: int, rights: Rights) -> None:
    client = installed(PY_CLIENT) / "kafka-connect"

    def ask(*arguments: str) -> Any:
        return output(
            client, "--url", f"http://127.0.0.1:{port}/connect/{NAMESPACE}", "--auth", "any:token", *arguments
        )

    assert ask("info")["version"].startswith("4.")
    assert ask("list") == ["broken", "lines-in", "lines-out", "waiting"]
    assert list(ask("list", "--expand", "status", "--state", "PAUSED")) == ["waiting"]
    assert [task["id"]["task"] for task in ask("list-tasks", "lines-out")] == [0, 1]
    assert ask("list-topics", "lines-in") == {"lines-in": {"topics": ["lines"]}}
    assert ask("task-status", "broken", "0")["state"] == "FAILED"
    assert ask("config", "lines-in")["topic"] == "lines"
    assert {"FileStreamSinkConnector"} <= {p["class"].rpartition(".")[2] for p in ask("list-plugins")}
    ask("pause", "lines-in")
    assert rights.patches == [("token", "lines-in", {"spec": {"state": "Paused"}})]
    ask("restart", "lines-in", "--include-tasks")
    ask("restart-task", "broken", "0")
    assert annotations(rights) == [("lines-in", "restart"), ("broken", "restart-tasks")]


def test_kafka_connect_cli_checks_and_acts(port: int, rights: Rights) -> None:
    python = installed(CLI) / "python"

    def ask(*arguments: str) -> Any:
        url = f"http://any:token@127.0.0.1:{port}/connect/{NAMESPACE}"
        return output(python, "-m", "kafka_connect", *arguments, "--url", url)

    assert {c["connector"]: c["state"] for c in ask("connector", "list")}["waiting"] == "PAUSED"
    assert ask("connector", "get", "--name", "broken")["failedTasks"] != []
    assert ask("task", "list", "--connector", "lines-in")[0]["state"] == "RUNNING"
    ask("connector", "resume", "--name", "waiting")
    assert rights.patches[-1] == ("token", "waiting", {"spec": {"state": "Running"}})


def test_kafka_connect_watcher_restarts_what_failed(port: int, rights: Rights, tmp_path: Path) -> None:
    rules = [{"include_regex": [".*"], "auto_correct_actions": [{"action": "restart"}]}]
    cluster = {
        "name": "penstock",
        "hostname": "127.0.0.1",
        "url": f"http://127.0.0.1:{port}/connect/{NAMESPACE}",
        "authentication": {"username": "any", "password": "token"},
        "evaluation_rules": rules,
    }
    file = tmp_path / "watcher.yaml"
    file.write_text(json.dumps({"clusters": [cluster], "watch_interval": "2s"}))
    with subprocess.Popen([installed(WATCHER) / "kafka-connect-watcher", "-c", file]) as watcher:
        try:
            until(lambda: ("broken", "restart-failed") in annotations(rights), seconds=60)
        finally:
            watcher.terminate()
