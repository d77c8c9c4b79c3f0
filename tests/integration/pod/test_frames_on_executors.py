"""A sink of DataFrames in a pod, whose executors are in other pods: Spark makes and writes its frames there."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..executor_pods import ExecutorPods, executor_pods, with_executors
from ..pods import Pods, PodTask, pods
from ..running import until
from ..sink.test_frames_on_spark import EACH, PARTITIONS, Backlog, message, plain
from .test_executors import await_executors

__all__ = ["pods"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="gives each executor its own /tmp and user, which only root can"),
]


@pytest.fixture
def executors(tmp_path: Path) -> Iterator[ExecutorPods]:
    with executor_pods(tmp_path / "executors") as made:
        yield made


def started(backlog: Backlog, pods: Pods, executors: ExecutorPods, least: int) -> PodTask:
    """Start the task, with a record in each partition."""
    for partition in range(PARTITIONS):
        backlog.lab.produce(backlog.topic, message(partition, -1), partition=partition)
    sizes = {"min": least, "max": 2, "resources": {"limits": {"memory": "1Gi"}}}
    task = pods.start(with_executors(backlog.manifest, **sizes), env=executors.env)
    backlog.name = task.spec.connector
    return task


def test_frames_wait_for_an_executor_and_rows_on_the_disk_of_one_that_is_killed_are_made_again_and_stored_once(
    pods: Pods, executors: ExecutorPods, tmp_path: Path
) -> None:
    backlog = Backlog(pods.lab, tmp_path, stores="true", holds="true")
    task = started(backlog, pods, executors, least=2)
    await_executors(task, 2, 0)
    waiting = task.await_report("RUNNING", where=lambda r: r.trouble is not None, seconds=120)
    assert "no executor of this task is connected" in str(waiting.trouble)
    first, _ = executors.start(), executors.start()
    await_executors(task, 2, 2)
    for partition in range(PARTITIONS):
        pods.lab.wait_committed(backlog.name, backlog.topic, 1, partition)
    backlog.fill(plain())
    until((tmp_path / "holds").exists, what=task.process.last_words, seconds=120)
    executors.kill(first)  # both keep rows of the frame that the sink has now, one of each part of the batch
    (tmp_path / "go").touch()
    backlog.wait(task.process)
    task.process.stop()
    assert "A part was lost on a Spark cluster" in task.process.log_text()
    assert task.process.last("spark_batches") > 0
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(EACH)]


def test_frames_are_made_in_the_pod_of_a_task_that_keeps_no_executor(
    pods: Pods, executors: ExecutorPods, tmp_path: Path
) -> None:
    backlog = Backlog(pods.lab, tmp_path)
    task = started(backlog, pods, executors, least=0)
    for partition in range(PARTITIONS):
        pods.lab.wait_committed(backlog.name, backlog.topic, 1, partition)
    report = task.await_report("RUNNING")
    assert report.executors_wanted is None
    assert "set spec.spark.executors.min to 1 or more" in str(report.executors_trouble)
    task.process.stop()
