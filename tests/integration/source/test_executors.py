"""A source's backlog on the executors of a Spark cluster: exactly once, whatever becomes of an executor."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.task_spec import SparkCluster, TaskSpec

from ..holding import PARTITIONS, Hold
from ..reading import Read, await_records, create, read_all
from ..running import PLUGINS, Processes, manifest, new_name, specs, until
from ..spark_cluster import StandaloneCluster, ended, go_on, standalone_cluster, stop

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


def on(cluster: StandaloneCluster, spec: TaskSpec) -> TaskSpec:
    there = SparkCluster(master=cluster.url, secret_file=str(cluster.secret_file), cores=4)
    spark = spec.spark.model_copy(update={"conf": {"spark.executor.memory": "512m"}, "cluster": there})
    return spec.model_copy(update={"spark": spark})


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


LOST = """
import os, sys
from pathlib import Path
import psutil
from penstock.source import InputPartition
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.source.context import SourceContext
from penstock_runtime.source.spark_worker import deliver_on_worker, payload
from penstock_runtime.source.worker_slots import Offer
from penstock_runtime.spark import session
from penstock_runtime.spark.cluster import Cluster
from penstock_runtime.spark.session import Spark, WorkerLost

spec, folder = TaskSpec.from_json(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
lost, is_guarded = sys.argv[3], sys.argv[4] == "guarded"

def deliver_and_be_lost(data):
    from pyspark import TaskContext
    attempt = TaskContext.get().attemptNumber()
    (folder / f"attempt-{attempt}").touch()
    answer = deliver_on_worker(data)
    (folder / f"delivered-{attempt}").touch()
    if attempt == 0:  # behind the commit, before the answer
        above = [p for p in psutil.Process().parents() if p.name() == "java"]  # the executor, then its Worker
        for process in reversed(above[:1] if lost == "executor" else above[:2]):
            process.kill()
    return answer

if not is_guarded:
    session.in_first_attempt = lambda entry, data: entry(data)

with Scratch() as scratch:
    scratch.become_temporary()
    setup = SourceContext.of(spec, slots_dir=scratch.slots)
    fence = setup.transactional_fence()
    fence.begin(StatusWriter(setup.shared, client_id="lost"))
    there = Cluster.of(spec.spark.cluster)
    spark = Spark(cores=2, conf=spec.spark.conf, name="lost", eager=True, scratch=scratch, cluster=there)
    spark.session()
    work = [(InputPartition({"p": 0, "start": 0, "end": 10}, {}), [(b'["c",{"p":0}]', b'{"n":10}')])]
    try:
        spark.run(deliver_and_be_lost, [payload(setup, fence.current, work, Offer({}, 1))], timeout=120)
        print("delivered")
    except WorkerLost as e:
        print("lost")
        print("refused:", "whose first attempt may have delivered records" in str(e.__cause__))
    spark.stop()
"""


@pytest.mark.parametrize(
    ("lost", "guard"), [("executor", "guarded"), ("worker", "guarded"), ("worker", "without the guard")]
)
def test_what_was_committed_by_an_executor_that_is_lost_before_it_answers_is_not_delivered_by_another_one(
    kafka: str, topic: str, tmp_path: Path, cluster: StandaloneCluster, seen_by_all: Path, lost: str, guard: str
) -> None:
    cluster.start_workers(2)
    spec = tmp_path / "spec.json"
    spec.write_text(on(cluster, numbers(kafka, topic)).to_json())
    done = subprocess.run(
        [sys.executable, "-c", LOST, str(spec), str(seen_by_all), lost, guard],
        env={**os.environ, "PYTHONPATH": str(PLUGINS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    """Spark counts the end of an executor as a failure of its part; the end of its Worker it does not count."""
    assert done.returncode == 0, done.stderr[-3000:]
    begun = sorted(p.name for p in seen_by_all.glob("*-[01]"))
    committed = [(r.value or b"").decode() for r in read_all(kafka, topic)]
    once = [f"0:{n}" for n in range(10)]
    if guard == "guarded":
        assert done.stdout.splitlines()[-2:] == ["lost", f"refused: {lost == 'worker'}"]
        assert begun == ["attempt-0", "delivered-0"]
        assert committed == once
    else:  # so the claim hangs on the guard alone
        assert done.stdout.splitlines()[-1:] == ["delivered"]
        assert begun == ["attempt-0", "attempt-1", "delivered-0", "delivered-1"]
        assert committed == once * 2


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


def test_the_driver_begins_alone_where_there_is_no_executor_yet_and_goes_on_alone_where_none_is_left(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster
) -> None:
    task = processes.task(on(cluster, numbers(kafka, topic)))
    task.await_log("has no executor for this task yet: the driver begins alone")
    assert not task.last("spark_batches")
    cluster.start_workers(1)
    task.await_batch_on_spark()
    cluster.kill_worker(0)
    task.await_log("is left: the driver goes on alone")
    read = task.last("read")
    until(lambda: task.last("read") > read + 1_000, what="records that the driver delivers")
    batches = task.last("spark_batches")
    cluster.start_workers(1)
    until(lambda: task.last("spark_batches") > batches, what="a batch of the new executor")
    task.stop()
    assert in_order(read_all(kafka, topic))


def test_the_driver_goes_on_alone_while_the_master_is_away_and_asks_again(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster
) -> None:
    cluster.end()
    task = processes.task(on(cluster, numbers(kafka, topic)))
    task.await_log("its Master does not answer")
    until(lambda: task.trouble, what="the trouble that it reports")
    read = task.last("read")
    until(lambda: task.last("read") > read + 1_000, what="records that the driver delivers")
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
    line = task.await_log("is not used now: An executor of Spark's cannot run this task: on ")
    assert "numbers_source:Numbers is installed but cannot be imported" in line
    assert "Give executors the same image" in line
    read = task.last("read")
    until(lambda: task.last("read") > read + 1_000, what="records that the driver delivers")
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
    task.await_log("is not used now: An executor of Spark's cannot run this task: on ")
    read = task.last("read")
    until(lambda: task.last("read") > read + 1_000, what="records that the driver delivers")
    task.stop()
    assert in_order(read_all(kafka, topic))


def test_a_driver_whose_java_stands_still_is_replaced(
    kafka: str, topic: str, processes: Processes, cluster: StandaloneCluster
) -> None:
    cluster.start_workers(1)
    task = processes.task(on(cluster, numbers(kafka, topic)))
    task.await_batch_on_spark()
    (java,) = task.jvms()
    java.suspend()
    assert task.await_exit() == ExitCode.LOST
    assert in_order(read_all(kafka, topic))


def test_a_worker_of_an_executor_that_stands_still_costs_its_batch_at_least_once(
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
