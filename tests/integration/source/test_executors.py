"""A source's backlog on the executors of a Spark cluster: exactly once, whatever becomes of an executor."""

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.task_spec import TaskSpec

from ..holding import PARTITIONS, Hold
from ..reading import Read, await_records, create, read_all
from ..running import Processes, Running, manifest, new_name, specs, until
from ..spark_cluster import StandaloneCluster, ended, go_on, on, standalone_cluster, stop
from .second_attempt import check_second_attempt

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="gives each Worker its own /tmp and user, which only root can"),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path / "cluster") as made:
        yield made


@pytest.fixture
def seen_by_all() -> Iterator[Path]:
    """A folder beside the /tmp of everybody, for what tests and their plugins tell each other."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="penstock-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def numbers(kafka: str, topic: str, **config: object) -> TaskSpec:
    """A source of four partitions, whose batches are soon a backlog."""
    create(kafka, topic, PARTITIONS)
    settings = {
        "topic": topic,
        "partitions": PARTITIONS,
        "value.converter": "StringConverter",
        "batch.max.records": 40,
        **config,
    }
    return specs(manifest(new_name(), "numbers_source:Numbers", settings), kafka)[0]


def in_order(records: Sequence[Read]) -> bool:
    """Whether every source partition's numbers are there once, in their order, without a gap."""
    found: dict[int, list[bytes]] = {p: [] for p in range(PARTITIONS)}
    for record in records:
        found[record.partition].append(record.value or b"")
    return all(values == [f"{p}:{n}".encode() for n in range(len(values))] for p, values in found.items())


def await_more(task: Running) -> None:
    """Wait for records that the driver delivers."""
    read = task.last("read")
    until(lambda: task.last("read") > read + 1_000, what="records that the driver delivers")


def test_a_backlog_is_delivered_by_both_executors_with_secrets_of_the_drivers_machine(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster, tmp_path: Path
) -> None:
    """Two million records; a property of the Kafka client holds a variable that no executor could resolve."""
    cluster.start_workers(2)
    create(kafka, topic, 8)
    (tmp_path / "secrets" / "kafka").mkdir(parents=True)
    (tmp_path / "secrets" / "kafka" / "id").write_text("client-of-penstock")
    properties = {
        "topic": topic,
        "rate": 0,
        "partitions": 8,
        "count": 2_000_000,
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
        "producer.override.client.id": "${secret:kafka:id}",
    }
    resource = manifest(new_name(), "Datagen", properties, spark="Eager")
    run = processes.run([resource], kafka, *cluster.options(), "--secrets", str(tmp_path / "secrets"))
    records = await_records(kafka, topic, 2_000_000)
    assert all(ended(executor) > 2 for executor in cluster.await_executors(2))
    commands = [" ".join(p.cmdline()) for p in (*run.tree(), *cluster.executors())]
    assert not [c for c in commands if cluster.secret_file.read_text() in c], "a command line is seen by everybody"
    run.stop()
    times = Counter(json.loads(record.value or b"")["order_id"] for record in records)
    first = min(times)
    assert times == dict.fromkeys(range(first, first + 250_000), 8), "each source partition has these numbers, once"
    assert "client-of-penstock" not in run.log_text()


@pytest.mark.parametrize(("executor_cores", "executors"), [(1, 2), (2, 1)], ids=["two executors", "one of two cores"])
def test_executors_of_one_machine_share_a_backlog_each_record_once(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster, executor_cores: int, executors: int
) -> None:
    """They have one user, one /tmp and, of one executor, one Java."""
    cluster.start_workers(1, cores=2)
    task = processes.task(
        on(cluster, numbers(kafka, topic), **{"spark.executor.cores": str(executor_cores)}),
    )
    task.await_batch_on_spark()
    assert len(cluster.await_executors(executors)) == executors
    batches = task.last("spark_batches")
    until(lambda: task.last("spark_batches") > batches + 10, what="ten more batches")
    (killed, *_) = cluster.executors()
    killed.kill()
    task.await_log("Batch not delivered, planning it again")
    batches = task.last("spark_batches")
    until(lambda: task.last("spark_batches") > batches + 2, what="batches after that")
    task.stop()
    assert in_order(read_all(kafka, topic))


@pytest.mark.parametrize(
    ("lost", "guard"), [("executor", "guarded"), ("worker", "guarded"), ("worker", "without the guard")]
)
def test_what_was_committed_by_an_executor_that_is_lost_before_it_answers_is_not_delivered_by_another_one(
    kafka: str, topic: str, cluster: StandaloneCluster, seen_by_all: Path, lost: str, guard: str
) -> None:
    cluster.start_workers(2)
    check_second_attempt(on(cluster, numbers(kafka, topic)), kafka, seen_by_all, lost=lost, guard=guard)


@pytest.mark.parametrize("whole", [True, False], ids=["frozen", "cut off from the driver"])
def test_an_executor_that_comes_back_after_its_batch_was_given_up_doubles_nothing(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster, seen_by_all: Path, *, whole: bool
) -> None:
    """Cut off: its Java, which talks to the driver, stands still; its Python, which talks to Kafka, goes on."""
    cluster.start_workers(2)
    hold = Hold(seen_by_all)
    spec = numbers(kafka, topic, hold=hold.path, **{"producer.override.transaction.timeout.ms": 8_000})
    task = processes.task(on(cluster, spec))
    task.await_batch_on_spark()
    hold.on([0])
    worker = psutil.Process(hold.await_reader(0))
    java = next(p for p in worker.parents() if p.name() == "java")
    before = ended(java)
    stop(java, whole=whole)
    hold.off()
    task.await_log("Batch not delivered, planning it again")
    batches = task.last("spark_batches")
    until(lambda: task.last("spark_batches") > batches, what="a batch of the other executor")
    go_on(java)
    until(lambda: ended(java) > before, what="the end of what it had begun")
    batches = task.last("spark_batches")
    until(lambda: task.last("spark_batches") > batches + 2, what="more batches")
    task.stop()
    assert in_order(read_all(kafka, topic))


def test_the_driver_begins_without_executors_and_continues_when_none_is_left(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster
) -> None:
    task = processes.task(on(cluster, numbers(kafka, topic)))
    task.await_log("has no executor for this task yet: the driver starts without executors")
    assert not task.last("spark_batches")
    cluster.start_workers(1)
    task.await_batch_on_spark()
    cluster.kill_worker(0)
    task.await_log("is left: the driver continues without executors")
    await_more(task)
    batches = task.last("spark_batches")
    cluster.start_workers(1)
    until(lambda: task.last("spark_batches") > batches, what="a batch of the new executor")
    task.stop()
    assert in_order(read_all(kafka, topic))


def test_the_driver_continues_without_the_cluster_while_the_master_is_unavailable_and_asks_again(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster
) -> None:
    cluster.end()
    task = processes.task(on(cluster, numbers(kafka, topic)))
    task.await_log("its Master does not answer")
    until(lambda: task.trouble, what="the trouble that it reports")
    await_more(task)
    cluster.start_master()
    cluster.start_workers(1)
    until(lambda: task.last("spark_batches"), seconds=150, what="a batch on the cluster")
    until(lambda: task.trouble is None, what="the end of the trouble")
    cluster.end()
    cluster.start_master()  # which does not know the task
    cluster.start_workers(1)
    task.await_log("it has had no executor for this task for 60 s", seconds=150)
    batches = task.last("spark_batches")
    until(lambda: task.last("spark_batches") > batches, seconds=150, what="a batch on the cluster of the new Master")
    task.stop()
    assert in_order(read_all(kafka, topic))


def test_an_executor_without_the_plugin_is_refused_before_it_delivers_a_record(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster
) -> None:
    """The driver goes on alone, and tells why."""
    cluster.start_workers(1, with_plugins=False)
    task = processes.task(on(cluster, numbers(kafka, topic)))
    line = task.await_log("is not used now: A Spark executor cannot run this task: on ")
    assert "numbers_source:Numbers is installed but cannot be imported" in line
    assert "give executors the same image" in line
    await_more(task)
    task.stop()
    assert not task.last("spark_batches")
    assert in_order(read_all(kafka, topic))


def test_an_executor_without_the_plugin_that_joins_later_is_refused_too(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster
) -> None:
    cluster.start_workers(1)
    task = processes.task(on(cluster, numbers(kafka, topic)))
    task.await_batch_on_spark()
    cluster.start_workers(1, with_plugins=False)
    task.await_log("is not used now: A Spark executor cannot run this task: on ")
    await_more(task)
    task.stop()
    assert in_order(read_all(kafka, topic))


def test_a_driver_whose_java_is_frozen_is_replaced(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster
) -> None:
    cluster.start_workers(1)
    task = processes.task(on(cluster, numbers(kafka, topic)))
    task.await_batch_on_spark()
    (java,) = task.jvms()
    java.suspend()
    assert task.await_exit() == ExitCode.LOST
    assert in_order(read_all(kafka, topic))


def test_a_worker_of_an_executor_that_is_frozen_costs_its_batch_at_least_once(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster
) -> None:
    cluster.start_workers(2)
    short = {"producer.override.transaction.timeout.ms": 8_000, "delivery.guarantee": "at-least-once"}
    task = processes.task(on(cluster, numbers(kafka, topic, **short)))
    task.await_batch_on_spark()
    for each in cluster.executors()[0].children(recursive=True):
        each.suspend()
    task.await_log("did not end within 13 s")
    batches = task.last("spark_batches")
    until(lambda: task.last("spark_batches") > batches, what="a batch of the other executor")
    task.stop()
