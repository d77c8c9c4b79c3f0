"""Configurations in Kafka Connect's own forms are read as the connectors that they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock import ConfigError
from penstock_cli.manifests.reader import read_manifests
from penstock_cli.run import plans
from penstock_model.resources.connector import Connector
from penstock_runtime.plan.worker_check import worker_from

CONFIG = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "tasks.max": "2",
    "file": "/tmp/a",
    "topic": "t",
}
PROPERTIES = "".join(f"{n}={t}\n" for n, t in {"name": "a", **CONFIG}.items())


def read(folder: Path, text: str, name: str = "a.json") -> Connector:
    (folder / name).write_text(text)
    (manifest,) = read_manifests([folder / name]).connectors
    return manifest.connector


def reported(folder: Path, text: str, name: str = "a.json") -> dict[str, str]:
    """The problems that the commands show: by property, without the place."""
    (folder / name).write_text(text)
    with pytest.raises(ConfigError) as caught:
        plans([str(folder / name)], worker_from({}).config, None)
    return {p.property.rpartition(": ")[2]: p.message for p in caught.value.problems}


def posted(**changes: Any) -> str:
    return json.dumps({"name": "a", "config": {**CONFIG, **changes}})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", posted()),
        ("a.json", json.dumps({**json.loads(posted()), "tasks": [{"connector": "a", "task": 0}], "type": "source"})),
        ("a.json", json.dumps({"name": "a", "config": {**CONFIG, "name": "a"}}, indent="\t")),
        ("a.json", json.dumps({"name": "a", **CONFIG, "tasks.max": 2})),
        ("a.yaml", "name: a\n" + "".join(f"{n}: {t}\n" for n, t in CONFIG.items())),
        ("a.properties", PROPERTIES),
        ("a.conf", PROPERTIES),
    ],
    ids=["posted", "answered", "tabs", "put", "yaml", "properties", "properties of another name"],
)
def test_each_form_stands_for_the_same_manifest(tmp_path: Path, name: str, text: str) -> None:
    found = read(tmp_path, text, name)
    assert (found.connect_name, found.spec.class_name, found.spec.tasks_max) == ("a", CONFIG["connector.class"], 2)
    assert found.spec.config == {"file": "/tmp/a", "topic": "t"}
    assert found.reading.problems == ()


def test_what_a_form_stands_for_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(posted())
    _, (tasks, warning) = plans([str(tmp_path / "a.json")], worker_from({}).config, None)
    assert "has no effect above 1" in tasks
    assert warning == (
        f"{tmp_path / 'a.json'}, connector a: is in Kafka Connect's format; the equivalent manifest, which kubectl takes, "
        f"is {{kind: Connector, metadata: {{name: a}}, spec: {{class: {CONFIG['connector.class']}, tasksMax: 2, config: "
        f"{{the other properties}}}}}}"
    )


@pytest.mark.parametrize("state", ["RUNNING", "paused", "STOPPED"])
def test_the_initial_state_is_the_state(tmp_path: Path, state: str) -> None:
    found = read(tmp_path, json.dumps({**json.loads(posted()), "initial_state": state}))
    assert found.spec.state == state.capitalize()


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Orders_In.1", "orders-in-1"),
        (" my connector ", "my-connector"),
        ("a\u00a0b", "a-b"),
        ("a/b%20?", "a-b-20"),
        ("日本", "connector"),
        ("x" * 46, "x" * 45),
    ],
)
def test_a_name_that_kubernetes_does_not_take_stays_the_name_in_kafka(tmp_path: Path, name: str, plain: str) -> None:
    found = read(tmp_path, json.dumps({**json.loads(posted()), "name": name}))
    assert (found.metadata.name, found.connect_name, found.reading.problems) == (plain, name.strip(), ())
    (remark,) = found.reading.warnings
    assert f"metadata: {{name: {plain}}}, spec: {{class: {CONFIG['connector.class']}, connectName: {name.strip()}," in (
        remark.message
    )


def test_a_name_with_control_characters_is_refused(tmp_path: Path) -> None:
    found = reported(tmp_path, json.dumps({**json.loads(posted()), "name": "a\x07b"}))
    assert found == {"name": "must not contain control characters"}


def test_problems_have_the_names_that_kafka_connect_has(tmp_path: Path) -> None:
    text = posted(**{"connector.class": "Nope", "tasks.max": "x", "connector.plugin.version": "[1", "topic": None})
    found = reported(tmp_path, text.replace('"name": "a"', '"initial_state": "On", "confg": {}'))
    assert set(found) == {"confg", "name", "connector.class", "tasks.max", "initial_state", "topic"}
    assert found["confg"] == "is not a field of Kafka Connect's format; did you mean config?"
    assert found["connector.class"].startswith("Invalid value Nope for configuration connector.class: Class Nope could")
    assert found["initial_state"] == "must be RUNNING, PAUSED or STOPPED"


def test_a_number_stays_as_it_was_written(tmp_path: Path) -> None:
    assert read(tmp_path, posted(x=5.0, y=5)).spec.config == {"file": "/tmp/a", "topic": "t", "x": "5.0", "y": "5"}


def test_two_names_are_one_too_many(tmp_path: Path) -> None:
    assert list(reported(tmp_path, posted(name="b"))) == ["config.name"]


def test_a_name_that_is_elsewhere_in_the_url_is_asked_for(tmp_path: Path) -> None:
    ((name, message),) = reported(tmp_path, json.dumps(CONFIG)).items()
    assert (name, message) == ("name", "is missing; add it even if Kafka Connect takes it from the URL")


def test_a_worker_configuration_is_known_for_what_it_is(tmp_path: Path) -> None:
    found = reported(tmp_path, "bootstrap.servers=h:1\ngroup.id=g\n", "worker.properties")
    assert found["connector.class"] == "is missing; pass a worker configuration with --worker"


def test_json_with_a_mistake_is_reported_as_json(tmp_path: Path) -> None:
    found = reported(tmp_path, '{\n "name": "a",\n "config": {"password": "hunter2" "file": "x"}\n}\n')
    assert found == {"line 3": "is not JSON: expecting ',' delimiter (column 35)"}


def test_a_duplicate_key_in_json_is_reported(tmp_path: Path) -> None:
    assert list(reported(tmp_path, posted().replace('"file"', '"topic": "u", "file"'))) == ["topic"]
