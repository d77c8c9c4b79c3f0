"""A plugin knows where it runs: the connector, its own place and version, and its task."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    Config,
    Converter,
    Limits,
    Offsets,
    OffsetUpdates,
    PluginContext,
    PollingSource,
    Predicate,
    Record,
    SourceConnector,
    Transform,
)
from penstock_model.connect.variables import Secret
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.task_spec import PluginReference, TaskSpec
from penstock_model.resources.connector import Connector
from penstock_runtime.plan.planning import plan
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.task.context import task_context

TOLD: list[PluginContext] = []
"""The contexts of all plugins that were used, in order."""


class Silent(PollingSource):
    def start(self, offsets: Offsets) -> None: ...

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[Sequence[Record], OffsetUpdates]]:
        yield from ()


class Source(SourceConnector):
    def validate(self, config: Config) -> Sequence[Any]:
        TOLD.append(self.context)
        return ()

    def task_configs(self, config: Config, properties: Any, max_tasks: int) -> Sequence[Any]:
        return [properties] * max_tasks

    def source(self, config: Config) -> PollingSource:
        TOLD.append(self.context)
        return Silent()


class Passes(Transform):
    def configure(self, config: Config) -> None:
        TOLD.append(self.context)

    def apply(self, record: Record) -> Record:
        return record


class Holds(Predicate):
    def configure(self, config: Config) -> None:
        TOLD.append(self.context)

    def test(self, record: Record) -> bool:
        return True


class Texts(Converter):
    def configure(self, config: Config, *, is_key: bool) -> None:
        TOLD.append(self.context)

    def from_connect(self, topic: str, schema: Any, value: Any) -> bytes:
        return b""

    def to_connect(self, topic: str, data: bytes | None) -> tuple[None, None]:
        return None, None


PLUGINS = Plugins.of({c.__name__: c for c in (Source, Passes, Holds, Texts)}, version="1.5.0")
PLACES = ("connector", "key.converter", "predicates.p", "transforms.t", "value.converter")


@pytest.fixture(autouse=True)
def _nothing_told() -> None:
    TOLD.clear()


def test_plugins_know_the_connector_when_planned_and_the_task_when_running() -> None:
    config = {
        "key.converter": "Texts",
        "value.converter": "Texts",
        "transforms": "t",
        "transforms.t.type": "Passes",
        "transforms.t.predicate": "p",
        "predicates": "p",
        "predicates.p.type": "Holds",
    }
    found = plan(
        Connector.read(
            {
                "metadata": {"name": "orders", "generation": 1},
                "spec": {"class": "Source", "connectName": "shop.orders", "tasksMax": 3, "config": config},
            }
        ),
        WorkerConfig.parse({"bootstrap.servers": "localhost:9"}),
        Plugins([*PLUGINS.entries, *Plugins.installed().entries]),
    )
    assert sorted(TOLD, key=lambda c: c.place) == [PluginContext("shop.orders", place, "1.5.0") for place in PLACES]
    TOLD.clear()

    spec = found.tasks[2].for_incarnation(generation=7, incarnation=2, token="t")
    context = task_context(spec, slots_dir=Path("none"))
    context.source()  # type: ignore[union-attr]
    assert len(context.steps) == 1
    assert len(context.converters.names) == 3
    assert sorted(TOLD, key=lambda c: c.place) == [
        PluginContext("shop.orders", place, "1.5.0", task=2, tasks=3, start_id="000000000007-000002")
        for place in PLACES
    ]


def test_spark_workers_get_the_values_of_java_config_providers_and_start_no_jvm(tmp_path: Path) -> None:
    (tmp_path / "name").write_text("t")
    config = {"topics": "t", "file": "${vault:files:out}", "value.converter.x": f"${{dir:{tmp_path}:name}}"}
    worker = {
        "bootstrap.servers": "localhost:9",
        "config.providers": "vault",
        "config.providers.vault.class": "com.example.Vault",
    }
    nowhere = PluginReference(reference="java:configprovider:/nowhere#com.example.Vault", alias="Vault", version="1")
    resource = {"metadata": {"name": "a"}, "spec": {"class": "FileStreamSink", "config": {**config, "file": "x"}}}
    (planned,) = plan(Connector.read(resource), WorkerConfig.parse(worker), Plugins.installed()).tasks
    assert planned.config_providers == {}  # no variable names it
    spec = planned.model_copy(update={"config": config, "config_providers": {"vault": nowhere}})
    known = Secret("${vault:files:out}", "/tmp/out")
    context = SinkContext.of(TaskSpec.from_json(spec.to_json()), slots_dir=tmp_path, known=[known])
    assert context.config["file"] == "/tmp/out"
    assert context.sent_secrets == {known.reference: known.value}
