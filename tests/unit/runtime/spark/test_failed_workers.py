"""A worker of Spark that cannot be set up leaves no plugin open."""

from pathlib import Path
from typing import Any

import pytest

from penstock import Config, ConfigError, Converter, Limits, Record, Transform
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.resources.connector import Connector
from penstock_runtime.pipeline.batch_sizing import PutSize
from penstock_runtime.plan.planning import plan
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.sink import spark_worker as sink_worker
from penstock_runtime.source import spark_worker as source_worker

CALLS: list[str] = []


class Opens(Transform):
    def configure(self, config: Config) -> None:
        CALLS.append("configured")

    def apply(self, record: Record) -> Record:
        return record

    def close(self) -> None:
        CALLS.append("closed")


class Refuses(Converter):
    """Is configured by a plan, and by no task."""

    def configure(self, config: Config, *, is_key: bool) -> None:
        if self.context.task is not None:
            raise ConfigError("the schema registry has another certificate")

    def from_connect(self, topic: str, schema: Any, value: Any) -> bytes:
        return b""

    def to_connect(self, topic: str, data: bytes | None) -> tuple[None, None]:
        return None, None


@pytest.fixture(autouse=True)
def own_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker takes over the output of its process, which is pytest's here."""

    def context_of(kind: Any, spec: str, slots: str, secrets: Any) -> Any:
        return kind.of(TaskSpec.from_json(spec), slots_dir=Path(slots))

    for worker in (sink_worker, source_worker):
        monkeypatch.setattr(worker, "context_of", context_of)


def spec_of(connector: str, **config: str) -> str:
    """The spec of its task, whose transform is made before its converter refuses its configuration."""
    chain = {"transforms": "t", "transforms.t.type": "Opens", "value.converter": "Refuses"}
    plugins = Plugins.of({c.__name__: c for c in (Opens, Refuses)}, version="1.0.0")
    found = plan(
        Connector.read(
            {
                "metadata": {"name": "orders", "generation": 1},
                "spec": {"class": connector, "config": {**chain, **config}},
            }
        ),
        WorkerConfig.parse({"bootstrap.servers": "localhost:9"}),
        Plugins([*plugins.entries, *Plugins.installed().entries]),
    )
    CALLS.clear()
    return found.tasks[0].for_incarnation(generation=1, incarnation=1, token="t").to_json()


def test_the_plugins_of_a_sink_are_closed_when_another_one_refuses_its_configuration(tmp_path: Path) -> None:
    limits = sink_worker.RangeLimits(
        size=PutSize(Limits(1, 1), 1, 1.0), workers=1, room=1, seconds=1.0, put_seconds=1.0
    )
    spec = spec_of("FileStreamSink", topics="t", file=str(tmp_path / "out"))
    part = sink_worker.RangesPart(spec=spec, slots=str(tmp_path), ranges=[], limits=limits, stage=False)
    with pytest.raises(ConfigError, match="another certificate"):
        sink_worker.sink_of(part)
    assert CALLS == ["configured", "closed"]


def test_the_plugins_of_a_source_are_closed_when_another_one_refuses_its_configuration(tmp_path: Path) -> None:
    spec = spec_of("FileStreamSource", topic="t", file=str(tmp_path / "in"))
    part = source_worker._Payload(spec=spec, slots=str(tmp_path), incarnation=None, offer=None, work=[])
    with pytest.raises(ConfigError, match="another certificate"):
        source_worker._process(part)
    assert CALLS == ["configured", "closed"]
