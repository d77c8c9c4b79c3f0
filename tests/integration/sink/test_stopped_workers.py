"""A process of Spark is stopped (SIGSTOP), with its own timers: the task goes on without it, or ends to be replaced."""

from pathlib import Path

import psutil
import pytest

from penstock_model.contracts.exit_codes import ExitCode

from ..lab import STRING, Lab
from ..running import Running, manifest, new_name, until
from .test_slow import hidden

pytestmark = pytest.mark.slow

BACKLOG = 150_000
BOUND = 240.0
"""Seconds on a busy machine; half a minute is meant, and a batch of a sink counts as lost after six minutes."""


def start(lab: Lab, tmp_path: Path) -> tuple[str, str, Running]:
    """A task whose backlog is there at once, when Spark is up: what comes earlier is written in the driver."""
    topic, show = hidden(lab, 2, BACKLOG)
    given = {**STRING, "journal": lab.journal.path, "topics": topic, "out": tmp_path / "out", "each": 0.0001}
    name, task = lab.start(manifest(new_name("stopped"), "slow_sinks:SlowSink", given, spark="Eager"))
    task.await_log("Spark is up")
    show()
    return topic, name, task


def stop_a_worker(lab: Lab) -> psutil.Process:
    """One that has written, in the middle of a batch."""
    writers = until(lambda: [e["process"] for e in lab.journal.of("wrote") if e["worker"]], what="a write in a worker")
    worker = psutil.Process(writers[-1])
    worker.suspend()
    return worker


def written(tmp_path: Path) -> list[str]:
    return (tmp_path / "out").read_text().splitlines()


def every() -> list[str]:
    return sorted(f"{p} {n}" for p in range(2) for n in range(BACKLOG // 2))


def await_the_end(lab: Lab, name: str, topic: str) -> None:
    for partition in range(2):
        until(lambda p=partition: lab.committed(name, topic, p) == BACKLOG // 2 + 1, seconds=BOUND)  # type: ignore[misc]


@pytest.mark.parametrize("with_daemon", [False, True], ids=["worker", "worker-and-daemon"])
def test_a_worker_that_stays_stopped_is_replaced_and_nothing_is_lost(
    lab: Lab, tmp_path: Path, with_daemon: bool
) -> None:
    topic, name, task = start(lab, tmp_path)
    worker = stop_a_worker(lab)
    if with_daemon:
        task.daemons()[0].suspend()
    task.await_log(f"Process {worker.pid} of Spark has been stopped", seconds=BOUND)
    until(lambda: not worker.is_running(), what="the worker's end")
    await_the_end(lab, name, topic)
    assert task.failure is None
    task.stop()
    assert sorted(set(written(tmp_path))) == every()
    assert "find out what sends SIGSTOP" not in task.log_text()  # that is for the one who has lost five


def test_a_worker_that_continues_in_time_writes_nothing_twice(lab: Lab, tmp_path: Path) -> None:
    topic, name, task = start(lab, tmp_path)
    worker = stop_a_worker(lab)
    until(lambda: worker.status() == psutil.STATUS_STOPPED)
    worker.resume()
    await_the_end(lab, name, topic)
    task.stop()
    assert sorted(written(tmp_path)) == every()
    assert "Retrying" not in task.log_text()


def test_a_jvm_that_stays_stopped_ends_its_task_which_is_a_loss(lab: Lab, tmp_path: Path) -> None:
    _, _, task = start(lab, tmp_path)
    until(lambda: [e for e in lab.journal.of("wrote") if e["worker"]], what="a write in a worker")
    jvm = task.jvms()[0]
    jvm.suspend()
    task.await_log(f"Process {jvm.pid} of Spark has been stopped", seconds=BOUND)
    assert task.await_exit(BOUND) == ExitCode.LOST
