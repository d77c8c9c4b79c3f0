"""Frames of a backlog on the executors of a Spark cluster: each record once and in order, whatever becomes of them."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock_model.contracts.task_spec import TaskSpec

from ..checking import seeded
from ..lab import Lab
from ..running import PATIENCE, until
from ..spark_cluster import StandaloneCluster, ended, on, standalone_cluster
from .test_frames_on_spark import EACH, PARTITIONS, Backlog, message, plain

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="gives each Worker its own /tmp and user, which only root can"),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path / "cluster") as made:
        yield made


class OnCluster(Backlog):
    """Of a task whose Spark is a cluster."""

    def __init__(self, lab: Lab, folder: Path, cluster: StandaloneCluster, **config: object) -> None:
        super().__init__(lab, folder, **config)
        self._cluster = cluster

    def spec(self) -> TaskSpec:
        return on(self._cluster, super().spec())


def test_both_executors_make_the_rows_of_a_backlog_and_each_partition_keeps_its_order(
    lab: Lab, tmp_path: Path, cluster: StandaloneCluster
) -> None:
    cluster.start_workers(2)
    backlog = OnCluster(lab, tmp_path, cluster)
    task = backlog.start(plain())
    backlog.wait(task)
    assert task.last("spark_batches") > 0
    assert all(ended(executor) > 2 for executor in cluster.await_executors(2))
    task.stop()
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(EACH)]


def test_a_task_whose_executors_are_lost_waits_for_others_says_so_and_doubles_nothing(
    lab: Lab, tmp_path: Path, cluster: StandaloneCluster
) -> None:
    """A frame is made by Spark alone, so the driver cannot go on without executors."""
    cluster.start_workers(2)
    backlog = OnCluster(lab, tmp_path, cluster, stores="true")
    task = backlog.start(plain())
    task.await_batch_on_spark()
    cluster.kill_worker(0)
    cluster.kill_worker(1)
    backlog.fill({p: [message(p, n) for n in range(EACH, 2 * EACH)] for p in range(PARTITIONS)})
    until(lambda: task.trouble, what="the trouble that it reports")
    cluster.start_workers(2)
    backlog.wait(task)
    task.stop()
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(2 * EACH)]


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_executors_that_are_killed_at_any_moment_leave_each_row_once_where_offsets_are_stored_with_rows(
    lab: Lab, tmp_path: Path, cluster: StandaloneCluster, rounds: int
) -> None:
    """Their Workers start others."""
    random, each = seeded(), EACH // 2
    cluster.start_workers(2)
    backlog = OnCluster(lab, tmp_path, cluster, stores="true")
    task = backlog.start(plain(each))
    for number in range(1, rounds):
        until(lambda: cluster.executors(), what="an executor", seconds=2 * PATIENCE)
        time.sleep(random.uniform(0, 4))
        for executor in cluster.executors()[: random.choice([1, 2])]:
            executor.kill()
        backlog.wait(task)
        backlog.fill({p: [message(p, n) for n in range(number * each, (number + 1) * each)] for p in range(PARTITIONS)})
    backlog.wait(task)
    assert task.last("spark_batches") > 0
    task.stop()
    for partition in range(PARTITIONS):
        assert backlog.ids(partition) == [-1, *range(rounds * each)]
