"""Spark ends when no backlog has needed it for a while, and comes back for the next one; nothing is lost or doubled."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from ..lab import STRING, Lab
from ..running import Running, manifest, new_name, next_life, until
from ..sink.test_spark import fill

pytestmark = pytest.mark.slow

BACKLOG: Final = 200_000
"""Lines: some 40,000 until the batches of a source are those of a backlog, the rest in one or two of them."""
UP: Final = "Spark is up"
ENDS: Final = "Spark ends"


class Lines:
    """A file that grows by backlogs of numbered lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        path.touch()

    def grow(self) -> None:
        """By one backlog, all of it at once."""
        with self.path.open("a") as file:
            file.write("".join(f"{n}\n" for n in range(self.count, self.count + BACKLOG)))
        self.count += BACKLOG

    def trickle(self) -> None:
        """By one line."""
        with self.path.open("a") as file:
            file.write(f"{self.count}\n")
        self.count += 1

    def until_up(self, task: Running, times: int) -> None:
        """Let backlogs come, one after the other, until Spark has come up so many times."""
        while task.log_text().count(UP) < times:
            self.grow()
            until(lambda: task.last("read") == self.count, what="the backlog is in Kafka", seconds=180)

    @property
    def all(self) -> list[str]:
        return [str(n) for n in range(self.count)]


def with_idle(resource: dict[str, Any], timeout: str) -> Mapping[str, Any]:
    resource["spec"]["spark"] = {"idleTimeout": timeout}
    return resource


def source(lines: Lines, topic: str, timeout: str) -> Mapping[str, Any]:
    return with_idle(manifest(new_name(), "FileStreamSource", STRING, file=lines.path, topic=topic), timeout)


def are_gone(processes: list[psutil.Process]) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


def test_spark_leaves_a_source_that_is_quiet_and_comes_back_for_each_backlog(lab: Lab, tmp_path: Path) -> None:
    topic, lines = lab.topic(), Lines(tmp_path / "lines")
    _, task = lab.start(source(lines, topic, "3s"))
    for times in (1, 2):
        lines.until_up(task, times)
        spark = [*task.jvms(), *task.daemons(), *task.workers()]
        assert spark
        until(lambda n=times: task.log_text().count(ENDS) >= n, what="Spark ends")  # type: ignore[misc]
        until(lambda of=spark: are_gone(of), what="all of its processes are gone")  # type: ignore[misc]
        lines.grow()  # at the moment at which it has ended
    lines.until_up(task, 3)
    task.stop()
    assert lab.values(topic) == lines.all


def test_spark_leaves_a_sink_that_is_quiet_and_comes_back_for_each_backlog(lab: Lab, tmp_path: Path) -> None:
    topic, out = lab.topic(), tmp_path / "out.txt"
    resource = manifest(new_name(), "FileStreamSink", {**STRING, "topics": topic, "file": out})
    name, task = lab.start(with_idle(resource, "3s"))
    shown: list[int] = []
    for times in (1, 2):
        while task.log_text().count(UP) < times:
            shown += fill(lab, topic, 0, BACKLOG, transactional=False)
            lab.wait_committed(name, topic, len(shown))
        until(lambda n=times: task.log_text().count(ENDS) >= n, what="Spark ends")  # type: ignore[misc]
        until(lambda: not task.jvms(), what="its JVM is gone")
    task.stop()
    assert [int(line) for line in out.read_text().splitlines()] == shown


@pytest.mark.parametrize("moment", [UP, ENDS])
def test_a_task_that_is_killed_as_spark_comes_or_leaves_loses_and_doubles_nothing(
    lab: Lab, tmp_path: Path, moment: str
) -> None:
    topic, lines = lab.topic(), Lines(tmp_path / "lines")
    spec = lab.spec(source(lines, topic, "2s"))
    task = lab.processes.task(spec)
    lines.until_up(task, 1)
    task.await_log(moment)
    lines.grow()
    task.kill_all()
    again = lab.processes.task(next_life(spec))
    until(lambda: len(lab.values(topic)) >= lines.count, what="all lines are in Kafka", seconds=180)
    again.stop()
    assert lab.values(topic) == lines.all


def test_a_jvm_that_is_frozen_as_it_should_end_is_killed(lab: Lab, tmp_path: Path) -> None:
    topic, lines = lab.topic(), Lines(tmp_path / "lines")
    _, task = lab.start(source(lines, topic, "5s"))
    lines.until_up(task, 1)
    (jvm,) = task.jvms()
    jvm.suspend()
    task.await_log(ENDS)
    until(lambda: are_gone([jvm]), what="the JVM is gone")
    lines.until_up(task, 2)
    task.stop()
    assert lab.values(topic) == lines.all


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_trickle_that_becomes_a_backlog_and_back_comes_out_once_and_in_order(
    lab: Lab, tmp_path: Path, rounds: int
) -> None:
    """A round takes about a minute: a backlog until Spark is up, at both tasks; lines one by one until it has left them."""
    topic, lines, out = lab.topic(), Lines(tmp_path / "lines"), tmp_path / "out.txt"
    _, read = lab.start(source(lines, topic, "15s"))
    resource = manifest(new_name(), "FileStreamSink", {**STRING, "topics": topic, "file": out})
    _, write = lab.start(with_idle(resource, "15s"))
    tasks = (read, write)
    for times in range(1, rounds + 1):
        lines.until_up(read, times)
        while not all(task.log_text().count(ENDS) >= times for task in tasks):
            lines.trickle()
            until(lambda: write.last("read") == lines.count, what="the line is in the file")
            if write.log_text().count(UP) < times:
                lines.grow()
    for task in tasks:
        task.stop()
        assert not task.jvms()
    with out.open() as written:
        assert all(line == f"{n}\n" for n, line in zip(range(lines.count), written, strict=True))


def test_an_eager_spark_stays(lab: Lab, tmp_path: Path) -> None:
    """Who wants no backlog to wait for it says so."""
    topic, lines = lab.topic(), Lines(tmp_path / "lines")
    resource = manifest(new_name(), "FileStreamSource", STRING, file=lines.path, topic=topic, spark="Eager")
    assert lab.spec(resource).settings == {"spark": {"start": "Eager"}}
