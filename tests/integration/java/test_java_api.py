"""Every method of Kafka Connect's API for connectors: what the documentation says of it is what a plugin sees."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins.jars import JARS, fetched_jars

from ..reading import create, produce, read_all
from ..running import Running, manifest, new_name, until
from .probe_plugin import Probe, ProbeLab, planned, probe, probe_lab, scraped

__all__ = ["Probe", "probe", "probe_lab"]

pytestmark = pytest.mark.slow

_DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "java-plugins.md"
_ROW: Final = re.compile(r"\| `(\w+\.\w+\(.*?\))` \| (works|called|null|never)\b")


class Report:
    """What a plugin has noted of each method: the words in their order."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def words(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for line in self._file.read_text().splitlines() if self._file.exists() else ():
            method, word = line.split("\t")
            found.setdefault(method, set()).add(word)
        return found

    def await_method(self, method: str, what: Any) -> None:
        until(lambda: method in self.words, seconds=60, what=lambda: f"{method}\n{what()}")


def methods(probe: Probe) -> list[str]:
    """All public methods, by reflection in the jar that plugins get."""
    java = find_java()
    path = [probe.classes, *(fetched_jars(java, print) / jar.file for jar in JARS)]
    command = [str(java.executable), "-cp", ":".join(map(str, path)), "dev.penstock.probe.ApiMethods"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def api_spec(lab: ProbeLab, class_name: str, config: dict[str, Any]) -> TaskSpec:
    text = {"value.converter": "StringConverter", "key.converter": "StringConverter"}
    return planned(manifest(lab.name, class_name, {**config, **text}), lab.servers, lab.probe.folder)


def assert_measured(task: Running, name: str) -> None:
    """What the connector and the task have registered is at the endpoint, and nothing that they have removed."""
    found = {x: value for x, value in scraped(task).items() if "_plugins_" in x}
    labels = (f'{{connector="{name}"}}', f'{{connector="{name}",task="0"}}')
    expected = {"probe_metric": 1, "probe_counted": 7}
    assert found == {f"kafka_connect_plugins_{x}{of}": value for x, value in expected.items() for of in labels}


def altered(lab: ProbeLab, class_name: str, config: dict[str, Any], entry: dict[str, Any], folder: Path) -> None:
    """Alter the offsets of a stopped connector."""
    resource = manifest(lab.name, class_name, config)
    resource["spec"]["state"] = "Stopped"
    (folder / "stopped.yaml").write_text(json.dumps(resource))
    (folder / "offsets.json").write_text(json.dumps({"offsets": [entry]}))
    common = ("--plugin-path", str(lab.probe.folder), "--bootstrap-servers", lab.servers)
    offsets = ("--offsets", str(folder / "offsets.json"), "--yes")
    done = lab.command("offsets", "alter", str(folder / "stopped.yaml"), *common, *offsets)
    assert done.returncode == 0, done.stdout + done.stderr


def run_source(lab: ProbeLab, topic: str, folder: Path) -> Report:
    lab.name = new_name("api-source")
    report, name = Report(folder / "source"), "dev.penstock.probe.ApiSource"
    config = {"topic": topic, "report": folder / "source", "ask": folder / "ask", "raise": folder / "raise"}
    config["transaction.boundary"] = "connector"
    task = lab.processes.task(api_spec(lab, name, config))
    report.await_method("TransactionContext.abortTransaction()", task.last_words)
    assert [r.value for r in read_all(lab.servers, topic)] == [b"0:1", b"0:3"]
    report.await_method("SourceTask.commit()", task.last_words)
    report.await_method("OffsetStorageReader.offsets(Collection)", task.last_words)
    assert_measured(task, lab.name)
    (folder / "ask").touch()
    task.await_event(lambda e: e["event"] == "asked")
    (folder / "raise").touch()
    task.await_exit()
    assert "ApiSource has raised an error: ConnectException: raised by the probe" in str(task.failure)
    altered(lab, name, config, {"partition": {"p": 0}, "offset": {"n": 42}}, folder)
    return report


def run_sink(lab: ProbeLab, topic: str, folder: Path) -> Report:
    lab.name = new_name("api-sink")
    create(lab.servers, topic)
    produce(lab.servers, topic, [str(n).encode() for n in range(10)])
    report, name = Report(folder / "sink"), "dev.penstock.probe.ApiSink"
    letters = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"{topic}-letters"}
    replicas = {"errors.deadletterqueue.topic.replication.factor": "1"}
    first = {"consumer.override.auto.offset.reset": "earliest"}
    config = {"topics": topic, "report": folder / "sink", "raise": folder / "sink-raises", **first}
    spec = api_spec(lab, name, {**config, **letters, **replicas})
    task = lab.processes.task(spec)
    report.await_method("SinkTaskContext.requestCommit()", task.last_words)
    assert_measured(task, lab.name)
    task.stop()
    (folder / "sink-raises").touch()
    task = lab.processes.task(spec)
    task.await_exit()
    assert "ApiSink has raised an error: ConnectException: raised by the probe" in str(task.failure)
    (folder / "sink-raises").unlink()
    entry = {"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": 2}}
    altered(lab, name, config, entry, folder)
    return report


def test_the_documentation_says_of_every_method_of_the_api_what_a_plugin_sees(
    probe_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    documented = dict(_ROW.findall(_DOCUMENT.read_text()))
    of_api = methods(probe_lab.probe)
    assert sorted(documented) == sorted(of_api)
    seen = run_source(probe_lab, f"{topic}-source", tmp_path).words
    for method, words in run_sink(probe_lab, f"{topic}-sink", tmp_path).words.items():
        seen.setdefault(method, set()).update(words)
    found = {method: "/".join(sorted(seen.get(method, {"never"}))) for method in of_api}
    assert found == documented
