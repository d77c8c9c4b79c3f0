"""A task in a pod, and its executors in other pods (`spec.spark.executors`): exactly once, whatever becomes of them."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock_model.contracts.pod_layout import SPARK_BLOCKS_PORT, SPARK_DRIVER_PORT, SPARK_MASTER_PORT
from penstock_model.contracts.task_reports import Report

from ..executor_pods import ExecutorPods, executor_pods, with_executors
from ..holding import PARTITIONS, Hold
from ..pods import Pods, PodTask, pods
from ..reading import Read, create, read_all
from ..running import manifest, new_name, until

__all__ = ["pods"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="gives each executor its own /tmp and user, which only root can"),
]


@pytest.fixture
def executors(tmp_path: Path) -> Iterator[ExecutorPods]:
    with executor_pods(tmp_path / "executors") as made:
        yield made


_SESSIONS = """
import sys, time
from penstock_model.resources.executors import Executors
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.spark.executor_pods import ExecutorPods, cluster_of
from penstock_runtime.spark.session import Spark

def await_(found):
    while not found():
        time.sleep(0.1)

host, secret = sys.argv[1:]
executors = Executors.model_validate({"max": 1, "resources": {"limits": {"memory": "1Gi"}}})
with Scratch() as scratch:
    scratch.become_temporary()
    pods = ExecutorPods.at(cluster_of(executors, host, secret), executors, host, 1)
    spark = Spark(cores=1, conf={}, name="twice", eager=False, scratch=scratch, idle_seconds=1, cluster=pods)
    for number in range(2):
        await_(lambda: (spark.ask(), spark.ready)[1])
        print("connected", flush=True)
        await_(lambda: (spark.end_if_idle(), spark.workers is None)[1])
    spark.stop()
"""


def numbers(
    kafka: str,
    topic: str,
    spark: dict[str, Any] | None = None,
    *,
    count: int | None = None,
    hold: Path | None = None,
    **given: Any,
) -> dict[str, Any]:
    """A source of four partitions, whose batches are soon a backlog, with executors of 1 GiB and one core."""
    create(kafka, topic, PARTITIONS)
    settings = {
        "topic": topic,
        "partitions": PARTITIONS,
        "value.converter": "StringConverter",
        "batch.max.records": 40,
        **({} if count is None else {"count": count}),
        **({} if hold is None else {"hold": str(hold)}),
    }
    found = manifest(new_name(), "numbers_source:Numbers", settings)
    found["spec"]["spark"] = spark or {}
    return with_executors(found, **{"max": 2, "resources": {"limits": {"memory": "1Gi"}}, **given})


@pytest.fixture
def seen_by_all() -> Iterator[Path]:
    """A folder outside the /tmp of each executor, in which the test and the plugin leave files for each other."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="penstock-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def in_order(records: Sequence[Read]) -> bool:
    """Whether every source partition's numbers are there once, in their order, without a gap."""
    found: dict[int, list[bytes]] = {p: [] for p in range(PARTITIONS)}
    for record in records:
        found[record.partition].append(record.value or b"")
    return all(values == [f"{p}:{n}".encode() for n in range(len(values))] for p, values in found.items())


def await_executors(task: PodTask, wanted: int, connected: int) -> Report:
    """Wait for a report with these numbers."""
    return task.await_report(
        "RUNNING", where=lambda r: (r.executors_wanted, r.executors) == (wanted, connected), seconds=120
    )


def await_batches(task: PodTask, more: int = 3) -> None:
    """Wait for so many more batches on executors."""
    before = task.process.last("spark_batches") or 0
    until(lambda: (task.process.last("spark_batches") or 0) >= before + more, what=task.process.last_words, seconds=120)


def test_a_backlog_is_delivered_by_two_executors_that_come_while_the_driver_delivers_though_one_is_killed(
    kafka: str, topic: str, pods: Pods, executors: ExecutorPods
) -> None:
    task = pods.start(numbers(kafka, topic), env=executors.env)
    alone = await_executors(task, 2, 0)
    assert alone.executors_trouble is None, "they may be starting"
    why = task.await_report("RUNNING", where=lambda r: r.executors_trouble is not None, seconds=150)
    assert str(why.executors_trouble).startswith("No executor has been connected for 60 s, so only the driver delivers")
    assert why.trouble is None, "the task is not hindered"
    read = task.process.last("read")
    until(lambda: task.process.last("read") > read + 1_000, what="records that the driver delivers")
    assert not task.process.last("spark_batches")
    first, second = executors.start(), executors.start()
    assert await_executors(task, 2, 2).executors_trouble is None
    until(lambda: executors.workers(first) and executors.workers(second), what="Python workers of both")
    await_batches(task)
    executors.kill(second)
    await_executors(task, 2, 1)
    await_batches(task)
    executors.java(first).kill()  # its Worker starts another one
    await_batches(task)
    executors.start()
    await_executors(task, 2, 2)
    await_batches(task)
    assert executors.terminate(first) == 0
    task.process.stop()
    assert in_order(read_all(kafka, topic))


def test_an_executor_that_dies_between_its_commit_and_its_answer_leaves_each_record_once(
    kafka: str, topic: str, pods: Pods, executors: ExecutorPods, seen_by_all: Path
) -> None:
    """Its Java, which would answer, is frozen; its Python worker commits in Kafka without it. Then both are killed."""
    hold = Hold(seen_by_all)
    task = pods.start(numbers(kafka, topic, hold=hold.path), env=executors.env)
    numbers_of = [executors.start(), executors.start()]
    await_executors(task, 2, 2)
    await_batches(task)
    hold.on([0])
    reader = hold.await_reader(0)
    (victim,) = (n for n in numbers_of if reader in [worker.pid for worker in executors.workers(n)])
    executors.java(victim).suspend()
    before = committed(kafka, topic)
    hold.off()
    after = until(lambda: found if (found := committed(kafka, topic)) > before else None, what="its commit")
    assert not task.process.log_text().count("Batch not delivered"), "the driver waits for the answer"
    executors.kill(victim)
    task.process.await_log("Batch not delivered, planning it again")
    await_batches(task)
    task.process.stop()
    records = read_all(kafka, topic)
    assert in_order(records)
    assert sum(record.partition == 0 for record in records) > after


def committed(kafka: str, topic: str) -> int:
    """The number of committed records of the first source partition."""
    return sum(record.partition == 0 for record in read_all(kafka, topic))


def test_executors_are_wanted_until_there_was_no_backlog_for_a_while_and_again_for_the_next_one(
    kafka: str, topic: str, pods: Pods, executors: ExecutorPods
) -> None:
    task = pods.start(numbers(kafka, topic, {"idleTimeout": "1s"}, count=20_000), env=executors.env)
    number = executors.start()
    await_executors(task, 2, 1)
    await_executors(task, 0, 0)
    until(lambda: not task.process.jvms(), what="the end of the session and its Master")
    assert task.reports()[-1].executors_trouble is None
    assert executors.started[number].poll() is None, "the operator ends it"
    task.process.stop()
    assert in_order(read_all(kafka, topic))


def test_an_executor_with_another_secret_is_refused_and_the_master_opens_no_other_port(
    kafka: str, topic: str, pods: Pods, executors: ExecutorPods
) -> None:
    task = pods.start(numbers(kafka, topic), env=executors.env)
    await_executors(task, 2, 0)
    number = executors.start(secret="of-another-task")
    until(lambda: "error" in executors.log_text(number), what="the refusal", seconds=60)
    executors.start()
    assert await_executors(task, 2, 1).executors == 1, "the other one is not accepted, although it came first"
    (java,) = task.process.jvms()
    listening = {c.laddr for c in java.net_connections() if c.status == psutil.CONN_LISTEN}
    ports = {SPARK_MASTER_PORT, SPARK_DRIVER_PORT, SPARK_BLOCKS_PORT}
    assert {port for address, port in listening if address.removeprefix("::ffff:") == executors.host} == ports
    others = {address.removeprefix("::ffff:") for address, port in listening if port not in ports}
    assert others <= {"127.0.0.1", "::1"}, "pages of the Master are for the pod alone"
    task.process.stop()


def test_an_executor_registers_again_with_the_master_of_the_next_session(executors: ExecutorPods) -> None:
    executors.start()
    command = [sys.executable, "-c", _SESSIONS, executors.host, str(executors.secret_file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == ["connected", "connected"]


def test_a_task_that_is_paused_from_its_start_wants_executors_only_once_it_has_a_session(
    kafka: str, topic: str, pods: Pods, executors: ExecutorPods
) -> None:
    task = pods.start(numbers(kafka, topic, min=1), env=executors.env, state="Paused")
    task.await_report("PAUSED", where=lambda r: r.executors_wanted == 0)
    task.control(2, "Running")
    task.await_report("RUNNING", where=lambda r: (r.executors_wanted or 0) >= 1, seconds=60)
    task.process.stop()
    assert 1 not in {r.executors_wanted for r in task.reports() if r.state == "PAUSED"}
