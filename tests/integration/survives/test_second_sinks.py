"""A sink that is started a second time: the newer run takes over, the older leaves without committing."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from penstock_model.contracts.task_spec import TaskSpec, TaskState

from ..lab import Lab
from ..reading import produce
from ..running import Running, manifest, new_name, next_life, specs, until

SOON = {"offset.flush.interval.ms": "200"}
SUPERSEDED = 3


def file_sink(name: str, topic: str, file: Path) -> dict[str, Any]:
    return manifest(name, "FileStreamSink", topics=topic, file=file, value_converter="StringConverter")


def left_as_superseded(task: Running) -> None:
    assert task.await_exit() == SUPERSEDED, task.last_words()
    assert task.failure is None
    assert "was taken over by incarnation" in task.await_event(lambda e: e["event"] == "superseded")["message"]


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def test_a_sink_that_a_newer_run_takes_over_commits_nothing_that_the_newer_one_then_lacks(
    lab: Lab, tmp_path: Path
) -> None:
    """The newer one writes to another file, and starts slowly."""
    topic, name = lab.topic(), new_name("twice")
    first = lab.processes.task(lab.spec(file_sink(name, topic, tmp_path / "first")))
    first.await_state("RUNNING")
    second = lab.spec(file_sink(name, topic, tmp_path / "second"))  # `penstock run` prepares, and then starts it
    lab.produce(topic, *(f"v{n}" for n in range(100)))
    left_as_superseded(first)
    assert lab.committed(name, topic) is None
    lab.processes.task(second)
    lab.wait_committed(name, topic, 100)
    assert lines(tmp_path / "second") == [f"v{n}" for n in range(100)]


def test_of_two_runs_under_load_one_stays_and_nothing_is_missing(lab: Lab, tmp_path: Path) -> None:
    topic, name, file = lab.topic(), new_name("twice"), tmp_path / "out"
    resource = file_sink(name, topic, file)
    first = lab.processes.run([resource], lab.servers)
    lab.produce(topic, "begin")
    until(lambda: lines(file), what=first.last_words)
    second = lab.processes.run([resource], lab.servers)
    number = 0

    def ended() -> bool:
        nonlocal number
        lab.produce(topic, f"v{number}")
        number += 1
        return first.process.poll() is not None

    until(ended, what=first.last_words)
    assert first.await_exit() == SUPERSEDED
    assert "was taken over by a newer run of the same connector" in first.log_text()
    before = number
    for _ in range(20):
        ended()
    lab.wait_committed(name, topic, number + 1)
    second.stop()
    written = lines(file)
    assert set(written) == {"begin", *(f"v{n}" for n in range(number))}
    assert all(written.count(f"v{n}") == 1 for n in range(before, number))


def waiting(lab: Lab, what: str) -> TaskSpec:
    """A sink that does nothing now, and has one record to write or to commit where it waits."""
    topic = lab.topic()
    does: dict[str, Any] = {}
    if what == "asks-to-wait":
        does = {"on": {"v": {"do": "retriable", "after": 1}}}
    elif what == "commit-asks-to-wait":
        does = {"commits": "never"}
    spec = lab.spec(lab.sink_manifest(topic, **does), SOON)
    if what == "paused":
        return spec.model_copy(update={"state": TaskState.PAUSED})
    if what != "idle":
        lab.produce(topic, "v")
    return spec


@pytest.mark.parametrize("what", ["idle", "paused", "asks-to-wait", "commit-asks-to-wait"])
def test_a_sink_that_has_nothing_to_commit_leaves_when_a_newer_life_begins(lab: Lab, what: str) -> None:
    spec = waiting(lab, what)
    first = lab.processes.task(spec)
    first.await_state("PAUSED" if what == "paused" else "RUNNING")
    if "wait" in what:
        lab.journal.count("commit" if "commit" in what else "put", 2)
    lab.processes.task(next_life(spec))
    left_as_superseded(first)


def test_a_sink_that_was_frozen_does_not_set_its_group_back(lab: Lab, tmp_path: Path) -> None:
    topic, name = lab.topic(), new_name("frozen")
    resource = file_sink(name, topic, tmp_path / "first")
    first = lab.processes.task(lab.spec(resource))
    first.await_state("RUNNING")
    lab.produce(topic, "v0")
    until(lambda: lines(tmp_path / "first"), what=first.last_words)  # written, and not committed for up to a second
    os.kill(first.pid, signal.SIGSTOP)
    second = lab.processes.task(lab.spec(resource))
    lab.produce(topic, "v1", "v2")
    lab.wait_committed(name, topic, 3)
    os.kill(first.pid, signal.SIGCONT)
    left_as_superseded(first)
    second.stop()
    assert lab.committed(name, topic) == 3


def test_a_batch_of_spark_that_ends_when_another_run_has_taken_over_is_not_committed(lab: Lab, tmp_path: Path) -> None:
    topic, name, records = lab.topic(), new_name("frozen"), 160_000
    produce(lab.servers, topic, (b"%d" % n for n in range(records)))

    def spec(out: str, slow: str = "0") -> TaskSpec:
        limits = {"batch.max.records": "10000", "consumer.override.max.poll.records": "500"}
        return lab.spec(lab.sink_manifest(topic, name=name, out=str(tmp_path / out), slow=slow, **limits))

    first = lab.processes.task(spec("first", slow="1"))
    first.await_batch_on_spark()
    before = lab.committed(name, topic) or 0
    until(lambda: (lab.committed(name, topic) or 0) > before, what=first.last_words)
    lab.journal.count("wrote", len(lab.journal.of("wrote")) + 1)  # in the midst of the next batch
    os.kill(first.pid, signal.SIGSTOP)
    reached = lab.committed(name, topic) or 0
    assert reached < records
    second = lab.processes.task(spec("second"))
    lab.wait_committed(name, topic, records)
    os.kill(first.pid, signal.SIGCONT)
    left_as_superseded(first)
    second.stop()
    assert lab.committed(name, topic) == records
    offsets = {int(line.split()[2]) for line in lines(tmp_path / "second")}
    assert offsets == set(range(min(offsets), records))
    assert min(offsets) <= reached + 10_000


@pytest.mark.parametrize("kind", ["sink", "at-least-once source"])
def test_the_tasks_of_a_plan_with_more_tasks_leave_when_one_with_fewer_is_prepared(lab: Lab, kind: str) -> None:
    topic, name = lab.topic(partitions=2), new_name("fewer")

    def plan(tasks: int) -> list[TaskSpec]:
        if kind == "sink":
            resource = lab.sink_manifest(topic, name=name, tasks=str(tasks))
        else:
            script = [["v"]]
            resource = lab.source_manifest(
                script, topic, name=name, tasks=str(tasks), **{"delivery.guarantee": "at-least-once"}
            )
        resource["spec"]["tasksMax"] = tasks
        return specs(resource, lab.servers)

    old = [lab.processes.task(spec) for spec in plan(2)]
    for task in old:
        task.await_state("RUNNING")
    plan(1)
    for task in old:
        left_as_superseded(task)


def test_a_sink_leaves_when_a_source_of_its_name_is_prepared(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("turned")
    _, sink = lab.sink(topic, name=name)
    sink.await_state("RUNNING")
    _, source = lab.source([["v"]], topic, name=name)
    left_as_superseded(sink)
    until(lambda: lab.values(topic) == ["v"])
    _, again = lab.sink(topic, name=name)
    left_as_superseded(source)
    # Perhaps twice: the first sink may have written it before it left, and has not committed it.
    assert {*lab.journal.values(1)} == {"v"}
    again.stop()


def test_a_task_of_an_older_plan_that_starts_late_leaves_before_it_writes(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("late")
    lab.produce(topic, "v")
    resource = lab.sink_manifest(topic, name=name)
    older = lab.spec(resource)
    lab.spec(resource)
    left_as_superseded(lab.processes.task(older))
    assert lab.journal.of("start", "open", "put") == []
