"""Which tasks in pods use their executors (`spec.spark.executors`)."""

from pathlib import Path
from typing import Any

import pytest

from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.resources.connector import Connector
from penstock_runtime.plan.planning import plan
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.task.executors import with_executors

FRAMES = {"format": "jdbc", "option.url": "jdbc:postgresql://db/shop", "option.dbtable": "orders"}


def context(tmp_path: Path, class_name: str, config: dict[str, Any], **executors: int) -> SinkContext:
    spec = {"class": class_name, "config": {"topics": "t", **config}, "spark": {"executors": executors}}
    resource = Connector.read({"metadata": {"name": "a"}, "spec": spec})
    found = plan(resource, WorkerConfig.parse({"bootstrap.servers": "localhost:9"}), Plugins.installed())
    (task,) = found.tasks
    return SinkContext.of(task, slots_dir=tmp_path)


def test_a_sink_of_dataframes_uses_executors_that_the_task_keeps(tmp_path: Path) -> None:
    given, none = with_executors(context(tmp_path, "SparkSink", FRAMES, min=1, max=2), "10.0.0.1")
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
    given, none = with_executors(context(tmp_path, class_name, config, min=0, max=2), "10.0.0.1")
    assert none is not None
    assert (none.wanted, none.connected) == (None, None)
    assert reason in str(none.trouble)
    assert given.spec.spark_cluster is None
