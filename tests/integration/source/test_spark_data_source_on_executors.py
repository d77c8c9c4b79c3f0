"""A data source written for PySpark on the executors of a Spark cluster: each row once, whatever becomes of an executor."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..holding import Hold
from ..lab import Lab
from ..reading import Reader
from ..running import until
from ..spark_cluster import StandaloneCluster, ended, on, standalone_cluster
from .test_spark_data_source import Wide, assert_each_once_and_spans_in_order, connector, release, rows, start

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="gives each Worker its own /tmp and user, which only root can"),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path / "cluster") as made:
        yield made


@pytest.fixture
def wide(lab: Lab) -> Iterator[Wide]:
    """Its rows lie in a folder beside the /tmp of everybody."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="penstock-"))
    folder.chmod(0o777)
    yield connector(lab, folder)
    shutil.rmtree(folder)


def test_an_executor_that_is_killed_amid_a_round_after_the_other_has_committed_doubles_no_row(
    cluster: StandaloneCluster, wide: Wide
) -> None:
    cluster.start_workers(2)
    hold, count = Hold(wide.folder), 20_000
    task = start(wide, on(cluster, wide.lab.spec(wide.resource)), count)
    task.await_batch_on_spark()
    cluster.await_executors(2)
    hold.on([3])
    waiting = int(hold.await_reader(3))
    until(lambda: wide.parts(), what=lambda: f"parts that the other has committed: {wide.offsets()}")
    killed = next(e for e in cluster.executors() if waiting in {c.pid for c in e.children(recursive=True)})
    killed.kill()
    release(hold)
    task.await_log("Batch not delivered, planning it again")
    batches = task.last("spark_batches")
    with Reader(wide.lab.servers, wide.topic) as reader:
        reader.count(count)
        until(lambda: wide.offsets() == {"own": {"row": count}}, what=lambda: f"{wide.offsets()}\n{task.last_words()}")
        wide.there_are(2 * count)
        reader.count(2 * count)
        assert task.last("spark_batches") > batches, "the executors that are left are used again"
        assert all(ended(executor) > 2 for executor in cluster.await_executors(2))
        task.stop()
        records = reader.to_end()
    assert_each_once_and_spans_in_order(records, 2 * count)
    assert len({row["pid"] for row in rows(records)} - {task.pid}) >= 2


def test_where_an_executor_lacks_the_module_of_the_data_source_the_driver_continues_without_the_cluster(
    cluster: StandaloneCluster, wide: Wide
) -> None:
    """The plugin is built in, so executors have it; the module is the user's."""
    cluster.start_workers(1, with_plugins=False)
    task = start(wide, on(cluster, wide.lab.spec(wide.resource)), 10_000)
    line = task.await_log("is not used now: A Spark executor cannot run this task: on ")
    assert "cannot load wide_data_source:Wide: No module named 'wide_data_source'" in line
    with Reader(wide.lab.servers, wide.topic) as reader:
        reader.count(10_000)
        task.stop()
        records = reader.to_end()
    assert_each_once_and_spans_in_order(records, 10_000)
    assert {row["pid"] for row in rows(records)} == {task.pid}
