"""Spark's workers frozen or killed at the moments that matter: nothing of a batch that was given up shows later."""

import os
import signal
from pathlib import Path

import psutil

from ..checking import assert_exactly_once, numbers_by_partition
from ..holding import PARTITIONS, Hold, held_task_spec
from ..reading import Reader
from ..running import Processes, until


def test_a_worker_that_is_frozen_past_its_batch_and_continues_later_commits_nothing(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    hold = Hold(tmp_path)
    task = processes.task(held_task_spec(kafka, topic, hold, **{"producer.override.transaction.timeout.ms": 5_000}))
    with Reader(kafka, topic) as reader:
        task.await_batch_on_spark()
        hold.on([0])
        frozen = psutil.Process(hold.await_reader(0))
        assert frozen.pid != task.pid
        daemon = task.daemons()[0]
        daemon.suspend()  # it would kill the worker when Spark gives the batch up
        frozen.suspend()
        hold.off()
        task.await_log("Batch not delivered")
        reader.count(len(reader.to_end()) + 4_000)  # the driver goes on by itself
        frozen.resume()
        reader.count(len(reader.records) + 4_000)
        daemon.resume()
        reader.count(len(reader.records) + 4_000)
        task.stop()
        assert_exactly_once(reader.to_end(), PARTITIONS)


def test_a_worker_that_is_killed_after_the_commit_of_another_and_before_the_summary_doubles_nothing(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    hold = Hold(tmp_path)
    task = processes.task(held_task_spec(kafka, topic, hold))
    with Reader(kafka, topic) as reader:
        task.await_batch_on_spark()
        hold.on([0])
        holder = hold.await_reader(0)
        reader.poll()
        # What another worker was given is in Kafka, the driver has not heard of it, and never will.
        reader.until(lambda: _ahead(reader))
        os.kill(holder, signal.SIGKILL)
        hold.off()
        task.await_log("A Spark worker was lost")
        reader.count(len(reader.to_end()) + 2_000)
        task.stop()
        assert_exactly_once(reader.to_end(), PARTITIONS)


def test_a_source_whose_workers_are_lost_again_and_again_continues_while_batches_arrive_between(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    task = processes.task(held_task_spec(kafka, topic, Hold(tmp_path), **{"dies.on.spark": True}))
    with Reader(kafka, topic) as reader:
        until(lambda: task.log_text().count("A Spark worker was lost") > 6, what=task.last_words)
        reader.count(len(reader.to_end()) + 2_000)
        task.stop()
        assert_exactly_once(reader.to_end(), PARTITIONS)


def _ahead(reader: Reader) -> bool:
    last = {p: n[-1] for p, n in numbers_by_partition(reader.records).items()}
    return len(last) == PARTITIONS and any(last[p] == last[0] + 100 for p in range(1, PARTITIONS))
