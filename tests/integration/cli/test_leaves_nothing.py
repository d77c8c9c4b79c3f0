"""What stays on the machine when everything has ended, however it ended: nothing but the user's data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ..running import Processes, Running, manifest, new_name, until

pytestmark = pytest.mark.slow


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """The temporary folder of the processes under test; with a long name, as pytest's own is."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def left(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def source(tmp_path: Path, topic: str, spark: str = "Eager") -> dict[str, Any]:
    (tmp_path / "lines").write_text("a\n")
    return manifest(new_name(), "FileStreamSource", file=tmp_path / "lines", topic=topic, spark=spark)


def started(processes: Processes, resource: Mapping[str, Any], kafka: str, temporary: Path) -> Running:
    run = processes.run([resource], kafka, env={"TMPDIR": str(temporary)})
    run.await_log('"state": "RUNNING"')
    return run


def test_a_graceful_end_leaves_nothing(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, temporary: Path
) -> None:
    run = started(processes, source(tmp_path, topic), kafka, temporary)
    run.await_log("Spark is up")
    assert [p for p in left(temporary) if "blockmgr" in p]
    run.stop()
    assert left(temporary) == []
    assert run.tree() == []


def test_an_end_while_spark_starts_leaves_nothing(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, temporary: Path
) -> None:
    run = started(processes, source(tmp_path, topic), kafka, temporary)
    until(run.jvms, what="Spark's JVM")
    run.stop()
    assert left(temporary) == []
    assert run.tree() == []


def test_a_run_that_is_killed_while_its_tasks_start_leaves_no_task_behind(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, temporary: Path
) -> None:
    run = processes.run([source(tmp_path, topic)], kafka, env={"TMPDIR": str(temporary)})
    until(run.tasks, what="the task's process, which has not imported anything yet")
    run.kill()
    until(lambda: not run.tree(), what="the end of the task")


def test_what_a_killed_task_left_is_removed_when_it_is_replaced(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, temporary: Path
) -> None:
    run = started(processes, source(tmp_path, topic), kafka, temporary)
    run.await_log("Spark is up")
    before = {p for p in temporary.iterdir() if (p / "slots").exists()}
    (task,) = run.tasks()
    task.kill()
    run.await_log('"restarts": 1')
    until(lambda: not any(p.exists() for p in before), what=lambda: f"{left(temporary)}")
    run.stop()
    assert left(temporary) == []


def test_what_a_killed_jvm_left_is_removed(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, temporary: Path
) -> None:
    run = started(processes, source(tmp_path, topic), kafka, temporary)
    run.await_log("Spark is up")
    run.jvms()[0].kill()
    run.await_log('"restarts": 1')
    run.stop()
    assert left(temporary) == []


def test_what_kill_minus_9_of_everything_left_is_removed_by_the_next_run(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, temporary: Path
) -> None:
    run = started(processes, source(tmp_path, topic), kafka, temporary)
    run.await_log("Spark is up")
    run.kill_all()
    assert [p for p in left(temporary) if "blockmgr" in p]
    again = started(processes, source(tmp_path, topic, spark="OnDemand"), kafka, temporary)
    again.stop()
    assert left(temporary) == []


def test_kill_minus_9_of_penstock_run_ends_its_tasks_and_the_next_run_removes_the_rest(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, temporary: Path
) -> None:
    run = started(processes, source(tmp_path, topic, spark="OnDemand"), kafka, temporary)
    run.kill()
    until(lambda: not run.tree(), what="the task has ended with its parent")
    assert [p for p in left(temporary) if p.endswith(".json")]
    started(processes, source(tmp_path, topic, spark="OnDemand"), kafka, temporary).stop()
    assert left(temporary) == []
