"""The context of a task that may have executors."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock import FrameSink, Sink, SinkConnector, Writer
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.resources.connector import Connector
from penstock_runtime.plan.planning import plan
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.spark.executors_wanted import ExecutorsState
from penstock_runtime.task.executors import with_executors


class Rows(SinkConnector):
    made: ClassVar[list[Sink]] = []
    kind_of_sink: ClassVar[type[Sink]] = Sink

    def writes_anywhere(self, config: Any) -> bool:
        return True

    def sink(self, config: Any) -> Sink:
        self.made.append(self.kind_of_sink())
        return self.made[-1]

    def writer(self, config: Any) -> Writer:
        raise NotImplementedError


class InFrames(FrameSink):
    def put_frame(self, frame: Any) -> None: ...


class Frames(Rows):
    kind_of_sink = InFrames


def context(folder: Path, connector: type[Rows]) -> SinkContext:
    Rows.made.clear()
    spec = {"class": connector.__name__, "config": {"topics": "t"}, "spark": {"executors": {"max": 2}}}
    resource = Connector.read({"metadata": {"name": "a"}, "spec": spec})
    plugins = Plugins([*Plugins.of({connector.__name__: connector}).entries, *Plugins.installed().entries])
    (task,) = plan(resource, WorkerConfig.parse({"bootstrap.servers": "localhost:9"}), plugins).tasks
    Rows.made.clear()
    return SinkContext.of(task, slots_dir=folder)


def test_a_task_with_executors_makes_its_sink_once(tmp_path: Path) -> None:
    own = context(tmp_path, Rows)
    found, state = with_executors(own, "10.0.0.7")
    assert state is None
    assert found.spec.spark_cluster is not None
    assert found.spec.spark_cluster.master == "spark://10.0.0.7:7077"
    assert "10.0.0.7" in found.spec_text
    assert found.takes_frames is False
    assert found.connector is own.connector
    assert len(Rows.made) == 1


def test_a_sink_of_frames_uses_no_executors_and_is_made_once(tmp_path: Path) -> None:
    own = context(tmp_path, Frames)
    found, state = with_executors(own, "10.0.0.7")
    assert isinstance(state, ExecutorsState)
    assert state.wanted is None
    assert "takes Spark DataFrames" in str(state.trouble)
    assert found is own
    assert found.spec.spark_cluster is None
    assert found.takes_frames
    assert len(Rows.made) == 1


@pytest.mark.parametrize("host", [None, "10.0.0.7"])
def test_the_spec_for_workers_follows_the_cluster(tmp_path: Path, host: str | None) -> None:
    own = context(tmp_path, Rows)
    assert "10.0.0.7" not in own.spec_text
    found, _ = with_executors(own, host)
    assert ("10.0.0.7" in found.spec_text) is (host is not None)


FRAMES = {"format": "jdbc", "option.url": "jdbc:postgresql://db/shop", "option.dbtable": "orders"}


def built_in(tmp_path: Path, class_name: str, config: dict[str, Any], **executors: int) -> SinkContext:
    spec = {"class": class_name, "config": {"topics": "t", **config}, "spark": {"executors": executors}}
    resource = Connector.read({"metadata": {"name": "a"}, "spec": spec})
    found = plan(resource, WorkerConfig.parse({"bootstrap.servers": "localhost:9"}), Plugins.installed())
    (task,) = found.tasks
    return SinkContext.of(task, slots_dir=tmp_path)


def test_a_sink_of_dataframes_uses_executors_that_the_task_keeps(tmp_path: Path) -> None:
    given, none = with_executors(built_in(tmp_path, "SparkSink", FRAMES, min=1, max=2), "10.0.0.1")
    assert none is None
    assert given.spec.spark_cluster is not None
    assert given.spec.spark_cluster.master == "spark://10.0.0.1:7077"


@pytest.mark.parametrize(
    ("class_name", "config", "reason"),
    [
        ("SparkSink", FRAMES, "set spec.spark.executors.min to 1 or more"),
        ("FileStreamSink", {"file": "/tmp/out"}, "does not declare that it can be written from any machine"),
    ],
)
def test_a_sink_that_cannot_use_executors_says_why_and_works_without_them(
    tmp_path: Path, class_name: str, config: dict[str, Any], reason: str
) -> None:
    given, none = with_executors(built_in(tmp_path, class_name, config, min=0, max=2), "10.0.0.1")
    assert none is not None
    assert (none.wanted, none.connected) == (None, None)
    assert reason in str(none.trouble)
    assert given.spec.spark_cluster is None
