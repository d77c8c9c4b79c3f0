"""A task in a pod, and its executors in other pods (`spec.spark.executors`): exactly once, whatever becomes of them."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock_model.contracts.task_reports import Report

from ..executor_pods import ExecutorPods, executor_pods, with_executors
from ..holding import PARTITIONS
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


def numbers(kafka: str, topic: str, spark: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    """A source of four partitions, whose batches are soon a backlog, with executors of 1 GiB and one core."""
    create(kafka, topic, PARTITIONS)
    settings = {
        "topic": topic,
        "partitions": PARTITIONS,
        "value.converter": "StringConverter",
        "batch.max.records": 40,
    }
    found = manifest(new_name(), "numbers_source:Numbers", settings)
    found["spec"]["spark"] = spark or {}
    return with_executors(found, **{"max": 2, "resources": {"limits": {"memory": "1Gi"}}, **given})


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
    until(
        lambda: (task.reports()[-1].executors_trouble or "").startswith("No executor is connected"), what="the reason"
    )
    assert alone.trouble is None
    assert task.reports()[-1].trouble is None, "the task is not hindered"
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
