"""A task in a pod is paused and resumed by control records, whatever it is doing."""

import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock_model.contracts.status_snapshot import StatusSnapshot, topic_marks
from penstock_model.contracts.task_reports import Control, control_key
from penstock_model.contracts.task_spec import TaskState

from ..pods import UID, Pods, PodTask, control, pods
from ..running import manifest, new_name, until

__all__ = ["pods"]


def end_of(servers: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "test-reader"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)[1])
    finally:
        consumer.close()


def acts(task: PodTask, generation: int, state: str) -> None:
    task.control(generation, state)
    task.await_report("PAUSED" if state == "Paused" else "RUNNING", acted=generation, seconds=20)


def stands_still(servers: str, topic: str, seconds: float = 1.0) -> int:
    """The end of a topic, which is looked at for a while and must not move."""
    end, deadline = end_of(servers, topic), time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert end_of(servers, topic) == end
    return end


def numbers(topic: str) -> dict[str, object]:
    converters = {"key.converter": "StringConverter", "value.converter": "StringConverter"}
    return manifest(new_name(), "numbers_source:Numbers", {"topic": topic, "batch.max.records": "2000", **converters})


def test_a_source_under_load_stops_when_it_is_paused_and_continues_when_it_is_resumed(pods: Pods) -> None:
    topic = pods.lab.topic()
    task = pods.start(numbers(topic))
    task.await_report("RUNNING", acted=1)
    until(lambda: end_of(pods.lab.servers, topic) > 5_000)
    acts(task, 2, "Paused")
    end = stands_still(pods.lab.servers, topic)
    acts(task, 3, "Running")
    until(lambda: end_of(pods.lab.servers, topic) > end)
    task.process.stop()
    assert [(r.state, r.acted) for r in task.reports()] == [
        ("RUNNING", 1),
        ("PAUSED", 2),
        ("RUNNING", 3),
        ("UNASSIGNED", 3),
    ]


@pytest.mark.scenario("state-pause-source")
@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
@pytest.mark.parametrize("polling", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_paused_source_moves_no_record_and_has_committed_what_it_has_sent(
    pods: Pods, guarantee: str, polling: bool
) -> None:
    topic = pods.lab.topic()
    script = [[f"v{n}"] for n in range(1_000)]
    more = {"every": "0.1", "delivery.guarantee": guarantee, "polling": str(polling)}
    task = pods.start(pods.lab.source_manifest(script, topic, **more))
    name = task.spec.connector
    pods.lab.journal.count("commit", 3)
    task.control(2, "Paused")
    task.await_report("PAUSED", acted=2)
    end = stands_still(pods.lab.servers, topic, 2.0)
    values = pods.lab.values(topic)
    assert values == [f"v{n}" for n in range(len(values))]
    assert len(values) >= 3
    assert pods.lab.offsets(name)[-1] == {"i": len(values) - 1}
    assert "stop" not in pods.lab.journal.kinds()
    task.control(3, "Running")
    task.await_report("RUNNING", acted=3)
    until(lambda: end_of(pods.lab.servers, topic) > end)
    task.process.stop()
    values = pods.lab.values(topic)
    assert values == [f"v{n}" for n in range(len(values))]
    assert pods.lab.journal.kinds().count("start") == pods.lab.journal.kinds().count("stop") == 1
    assert [s["state"] for s in pods.lab.status(f"status-task-{name}-0")] == [
        "RUNNING",
        "PAUSED",
        "RUNNING",
        "UNASSIGNED",
    ]


def test_an_idle_sink_is_paused_and_resumed(pods: Pods) -> None:
    topic = pods.lab.topic()
    task = pods.start(pods.lab.sink_manifest(topic))
    task.await_report("RUNNING")
    acts(task, 2, "Paused")
    pods.lab.produce(topic, "a")
    acts(task, 3, "Running")
    assert pods.lab.journal.values(1) == ["a"]


def test_a_batch_that_is_being_written_is_finished_and_committed_before_the_pause_is_reported(
    pods: Pods, tmp_path: Path
) -> None:
    topic = pods.lab.topic()
    task = pods.start(pods.lab.sink_manifest(topic, out=str(tmp_path / "out"), slow=1.0))
    task.await_report("RUNNING")
    pods.lab.produce(topic, "a", "b", "c")
    pods.lab.journal.count("open", 1)
    task.control(2, "Paused")
    task.await_report("PAUSED", acted=2)
    written = pods.lab.committed(task.spec.connector, topic) or 0
    assert len((tmp_path / "out").read_text().splitlines() if written else []) == written


def test_a_task_that_waits_for_trouble_to_pass_is_paused_meanwhile(pods: Pods) -> None:
    topic = pods.lab.topic()
    script = [{"raise": "retriable", "message": "the database is away"}]
    task = pods.start(pods.lab.source_manifest(script, topic))
    report = task.await_report("RUNNING", where=lambda r: r.trouble)
    assert "the database is away" in str(report.trouble)
    acts(task, 2, "Paused")  # offsets are read anew in between


@pytest.mark.parametrize(("told", "state", "acted"), [(5, "PAUSED", 5), (3, "RUNNING", 4)])
def test_at_its_start_a_task_obeys_the_higher_generation_of_its_life_and_the_control_record(
    pods: Pods, told: int, state: str, acted: int
) -> None:
    spec = pods.lab.spec(pods.lab.sink_manifest(pods.lab.topic()))
    control(pods.lab.servers, spec.connector, told, "Paused", uid=UID)
    task = pods.task(spec, generation=4)
    task.await_report(state)
    first = task.reports()[0]
    assert (first.state, first.acted) == (state, acted)


def test_a_new_generation_that_changes_nothing_for_the_task_is_confirmed_too(pods: Pods) -> None:
    task = pods.start(pods.lab.sink_manifest(pods.lab.topic()))
    task.await_report("RUNNING", acted=1)
    acts(task, 2, "Running")


def test_a_life_that_begins_paused_moves_nothing_until_it_is_resumed(pods: Pods) -> None:
    topic = pods.lab.topic()
    task = pods.start(numbers(topic), state="Paused")
    task.await_report("PAUSED", acted=1)
    assert end_of(pods.lab.servers, topic) == 0
    acts(task, 2, "Running")
    until(lambda: end_of(pods.lab.servers, topic) > 0)
    task.process.stop()  # killed in a transaction, it would hold up the next source for a minute


def test_a_task_records_the_topics_that_it_still_uses_again_after_a_reset(pods: Pods) -> None:
    topic, lab = pods.lab.topic(), pods.lab
    task = pods.start(numbers(topic))
    name = task.spec.connector

    def recorded(times: int) -> None:
        until(lambda: len(lab.status(f"status-topic-{topic}:connector-{name}")) == times)

    recorded(1)
    control(lab.servers, name, 0, "Running", topics_reset="r1")
    recorded(2)
    control(lab.servers, name, 0, "Running", topics_reset="r2", uid="another")
    acts(task, 2, "Paused")  # a record without a reset, as an operator writes that has not read the last one
    control(lab.servers, name, 3, "Running", topics_reset="r1")
    task.await_report("RUNNING", acted=3, seconds=20)
    end = end_of(lab.servers, topic)
    until(lambda: end_of(lab.servers, topic) > end)
    recorded(2)
    control(lab.servers, name, 3, "Running", topics_reset="r2")
    recorded(3)
    task.process.stop()


def test_a_pod_that_starts_after_a_reset_follows_the_control_record_of_that_time(pods: Pods) -> None:
    topic, lab = pods.lab.topic(), pods.lab
    resource = numbers(topic)
    known = Control(connector_uid=UID, generation=0, state=TaskState.RUNNING, topics_reset="r1")
    entry = control_key(lab.spec(resource).connector).decode(), known.to_value().decode()
    seen = StatusSnapshot(topic_id="of another time", ends=(), records=(entry,), topics=topic_marks([topic]))
    name = lab.spec(resource).connector
    control(lab.servers, name, 0, "Running", topics_reset="r1")
    task = pods.start(resource, status=seen)
    task.await_report("RUNNING", acted=1)
    until(lambda: end_of(lab.servers, topic) > 5_000)
    assert lab.status(f"status-topic-{topic}:connector-{name}") == []
    control(lab.servers, name, 0, "Running", topics_reset="r2")
    until(lambda: len(lab.status(f"status-topic-{topic}:connector-{name}")) == 1)
    task.process.stop()


def test_a_task_logs_its_batches_while_its_level_is_debug_and_keeps_running(pods: Pods) -> None:
    topic = pods.lab.topic()
    task = pods.start(numbers(topic))
    task.await_report("RUNNING", acted=1)
    task.control(1, "Running", log_level="DEBUG 1")  # another task
    task.control(1, "Running", log_level="DEBUG 0")
    until(lambda: "Batch of " in task.process.log_text())
    task.control(1, "Running")
    until(lambda: "Log level is that of the release" in task.process.log_text())
    assert task.process.log_text().count("Log level is DEBUG") == 1
    logged, end = task.process.log_text().count("Batch of "), end_of(pods.lab.servers, topic)
    until(lambda: end_of(pods.lab.servers, topic) > end + 50_000)  # many batches later
    assert task.process.log_text().count("Batch of ") <= logged + 1  # the loop may have been about to log one
    task.process.stop()
    assert {r.state for r in task.reports()} == {"RUNNING", "UNASSIGNED"}  # a report of RUNNING follows its first loops
