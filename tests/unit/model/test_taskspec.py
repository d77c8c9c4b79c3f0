"""The task spec keeps its form: an old writer's file is read by this reader."""

import json
from pathlib import Path

import pytest

from penstock import ConfigError
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount
from penstock_model.contracts.task_spec import PluginReference, TaskSpec, TaskState
from penstock_model.resources.connector_spec import ConnectorSpec
from penstock_model.resources.task_settings import Spark, SparkStart, TaskSettings

GOLDEN = Path(__file__).parent / "golden" / "taskspec-v1.json"

SPEC = TaskSpec(
    connector="shop.orders-in",
    task=1,
    tasks=2,
    kind="source",
    generation=7,
    incarnation=3,
    token="3f1c",
    config={
        "file": "/data/orders.jsonl",
        "password": "${secret:orders-db:password}",
        "topic": "orders",
        "transforms": "hoist",
        "transforms.hoist.field": "line",
        "transforms.hoist.type": "HoistField$Value",
    },
    plugins={
        "connector": PluginReference(
            reference="penstock_plugins.file_source:FileStreamSource", alias="FileStreamSource", version="0.1.0"
        ),
        "transforms.hoist": PluginReference(
            reference="penstock_plugins.hoist_field:HoistField", alias="HoistField", version="0.1.0", variant="Value"
        ),
    },
    worker={"bootstrap.servers": "kafka:9092", "group.id": "penstock"},
    settings={"spark": {"conf": {"spark.driver.memory": "1g"}}},
    secrets_dir="/secrets",
    state=TaskState.PAUSED,
)


def test_version_1_is_written_as_ever() -> None:
    assert json.loads(SPEC.to_json()) == json.loads(GOLDEN.read_text())


def test_version_1_is_read_as_ever() -> None:
    assert TaskSpec.from_json(GOLDEN.read_text()) == SPEC


def test_a_task_with_mounts_is_written_and_read_as_ever() -> None:
    mount = PluginMount(
        name="files-1.4.2",
        plugin="penstock-files",
        version="1.4.2",
        image=f"r.example/files@sha256:{'0' * 64}",
        folder="/etc/penstock/plugins/0/plugin",
        classes=(DeclaredClass(alias="Files", type="source"),),
    )
    mounted = SPEC.with_mounts([mount])
    golden = GOLDEN.with_name("taskspec-v1-mounts.json").read_text()
    assert json.loads(mounted.to_json()) == json.loads(golden)
    assert TaskSpec.from_json(golden) == mounted
    assert mounted.with_mounts([]) == SPEC


def test_fields_of_a_newer_writer_are_ignored() -> None:
    newer = {**json.loads(GOLDEN.read_text()), "somethingNew": {"a": 1}}
    assert TaskSpec.from_json(json.dumps(newer)) == SPEC


def test_what_is_not_written_takes_its_default() -> None:
    least = {
        "apiVersion": "penstock.dev/task/v1",
        "connector": "c",
        "task": 0,
        "tasks": 1,
        "kind": "sink",
        "config": {},
        "plugins": {},
        "worker": {},
    }
    spec = TaskSpec.from_json(json.dumps(least))
    assert (spec.incarnation, spec.state, spec.secrets_dir, spec.settings) == (0, "Running", None, {})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"apiVersion": "penstock.dev/task/v3"}, "apiVersion"),
        ({"task": -1}, "task"),
        ({"kind": "both"}, "kind"),
        ({"config": {"password": ["hunter2"]}}, "config.password"),
    ],
)
def test_another_version_or_a_wrong_field_is_refused_by_name(change: dict[str, object], field: str) -> None:
    text = json.dumps({**json.loads(GOLDEN.read_text()), **change})
    with pytest.raises(ConfigError) as caught:
        TaskSpec.from_json(text)
    assert [p.property for p in caught.value.problems] == [field]
    assert "hunter2" not in str(caught.value)


def test_a_new_life_changes_nothing_else() -> None:
    live = SPEC.for_incarnation(generation=8, incarnation=4, token="aa")
    assert (live.generation, live.incarnation, live.token, live.config) == (8, 4, "aa", SPEC.config)
    assert live.id == "shop.orders-in-1"


def test_settings_of_a_spec_reach_the_task_without_defaults() -> None:
    spec = ConnectorSpec.model_validate(
        {"class": "A", "spark": {"conf": {"a": "b"}, "start": "OnDemand"}, "java": {"heapPercent": 50}}
    )
    assert spec.for_task() == {"spark": {"conf": {"a": "b"}}}
    assert TaskSettings.of_task(spec.for_task()) == TaskSettings(spark=Spark(conf={"a": "b"}))


def test_settings_of_a_newer_writer_are_ignored() -> None:
    newer = {"spark": {"start": "Eager", "somethingNew": 1}, "somethingElse": {"a": 1}}
    assert TaskSettings.of_task(newer) == TaskSettings(spark=Spark(start=SparkStart.EAGER))


def test_a_wrong_setting_is_refused_by_name() -> None:
    with pytest.raises(ConfigError) as caught:
        TaskSettings.of_task({"spark": {"start": "Later"}})
    assert [p.property for p in caught.value.problems] == ["spark.start"]
