"""`kubectl penstock` as an on-call engineer uses it: see a connector, pause, restart and stop it, and set its offsets."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..integration.running import until
from .place import Connector, Place


@dataclass(frozen=True)
class Plugin:
    """`kubectl penstock` in one namespace."""

    place: Place
    folder: Path

    def __call__(self, *words: str, code: int = 0, stdin: str | None = None) -> str:
        """Run a command; what it printed."""
        done = self._run("penstock", *words, stdin=stdin)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def complete(self, *words: str) -> list[str]:
        """Ask the shell completion as kubectl does."""
        return self._run("__complete", "penstock", *words).stdout.splitlines()

    def _run(self, *words: str, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
        cluster = self.place.cluster
        scripts = str(Path(sys.executable).parent)
        path = f"{Path(cluster.programs['kubectl']).parent}:{scripts}:{os.environ['PATH']}"
        env = {**os.environ, "KUBECONFIG": str(self.folder / "kubeconfig"), "PATH": path}
        return subprocess.run(
            [cluster.programs["kubectl"], *words],
            env=env,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )


@pytest.fixture
def plugin(place: Place, tmp_path: Path) -> Plugin:
    """The plugin, with a kubeconfig whose context names the cluster and the namespace."""
    text = place.cluster.kubectl("config", "view", "--minify", "--flatten", "--output=json")
    config = json.loads(text)
    config["contexts"][0]["context"]["namespace"] = place.namespace
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    return Plugin(place, tmp_path)


def managers(connector: Connector) -> set[str]:
    words = ("get", "connector", connector.name, "--show-managed-fields", "-o", "json")
    return {m["manager"] for m in json.loads(connector.kubectl(*words))["metadata"]["managedFields"]}


def test_an_engineer_sees_and_operates_a_connector_by_kubectl_penstock(place: Place, plugin: Plugin) -> None:
    source = place.datagen("orders", config={"rate": 200}, tasksMax=1)
    source.reaches("Running")
    place.kafka.records(source.topic, least=200)

    head, row = plugin("status").splitlines()[:2]
    assert head.split()[:6] == ["NAME", "CLASS", "STATE", "TASKS", "READY", "RECORDS/S"]
    name, plugin_class, state, tasks, ready, rate = row.split()[:6]
    assert (name, plugin_class, state, tasks, ready) == ("orders", "Datagen", "Running", "1/1", "True")
    assert float(rate.replace(",", "")) >= 0  # a number, since two measurements were made
    details = plugin("status", "orders")
    assert f"{place.namespace}/orders: Running" in details
    assert re.search(r"^Ready +True ", details, re.MULTILINE)
    assert source.topic in details
    assert source.topic in plugin("topics", "orders")
    assert re.search(r"^connector +\S+ +0$", plugin("versions", "orders"), re.MULTILINE)
    assert '"message"' in plugin("logs", "orders", "--task", "0", "--tail", "5")
    assert "rate" in plugin("explain", "Datagen")

    assert "log level DEBUG 0" in plugin("log-level", "orders", "DEBUG", "--tasks", "0")
    until(lambda: "Batch of " in plugin("logs", "orders", "--task", "0", "--tail", "20"))
    plugin("log-level", "orders", "--reset")

    changed = json.loads(source.manifest())
    changed["spec"]["config"]["rate"] = 300
    planned = plugin("plan", "--filename=-", stdin=json.dumps(changed))
    assert re.search(r"^config.rate +200 +300$", planned, re.MULTILINE)
    assert "are replaced after validation" in planned
    assert "would be created" not in planned  # the topic exists
    changed["spec"]["config"]["topic"] = f"{source.topic}-more"
    planned = plugin("plan", "--filename=-", stdin=json.dumps(changed))
    assert "Topics that would be created" in planned
    assert re.search(rf"^{source.topic}-more ", planned, re.MULTILINE)

    assert "orders is Paused" in plugin("pause", "orders")
    assert "orders is Running" in plugin("resume", "orders")
    assert "penstock-cli" in managers(source)
    before = source.lives()
    assert "orders: Succeeded" in plugin("restart", "orders")
    source.until_pods(
        lambda pods: {p["metadata"]["uid"] for p in pods.values()}.isdisjoint(before.values()), "new pods"
    )
    source.reaches("Running")

    assert "spec.state is Running; run `kubectl penstock stop orders` first" in plugin(
        "offsets", "reset", "orders", "--yes", code=5
    )
    assert "orders is Stopped" in plugin("stop", "orders")
    (tmp := plugin.folder / "offsets.json").write_text(_json(plugin("offsets", "list", "orders", "-o", "json")))
    document = json.loads(tmp.read_text())
    document["offsets"][0]["offset"]["count"] = 7
    tmp.write_text(json.dumps(document))
    assert "Nothing was requested" in plugin("offsets", "alter", "orders", "--offsets", str(tmp), "--dry-run")
    altered = plugin("offsets", "alter", "orders", "--offsets", str(tmp), "--yes")
    assert "orders: Succeeded" in altered
    assert '"count":7' in plugin("offsets", "list", "orders")
    assert "orders: Succeeded" in plugin("offsets", "reset", "orders", "--yes")
    assert "0 positions" in plugin("offsets", "list", "orders")
    assert "orders: Succeeded" in plugin("topics", "orders", "--reset")


def _json(text: str) -> str:
    return text[text.index("{") : text.rindex("}") + 1]


def test_a_refusal_of_the_operator_is_printed_with_exit_code_1(place: Place, plugin: Plugin) -> None:
    source = place.datagen("refused")
    source.reaches("Running")
    assert "refused: Refused: " in plugin("restart", "refused", "--tasks", "7", code=1)
    assert "not found" in plugin("status", "missing", code=5)


def test_completion_offers_commands_options_and_names(place: Place, plugin: Plugin) -> None:
    place.datagen("orders")
    assert {"status", "stop"} <= set(plugin.complete("st"))
    assert {"list", "alter", "reset"} <= set(plugin.complete("offsets", ""))
    assert "--watch" in plugin.complete("status", "--w")
    assert plugin.complete("restart", "or")[0] == "orders"
