"""What a task in a pod tells of itself: reports to the status topic, and a last word when it ends."""

import json
import time
from pathlib import Path

import pytest

from penstock_cli.embedded import EmbeddedKafka
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.status_snapshot import StatusSnapshot, topic_marks
from penstock_model.contracts.task_reports import report_key
from penstock_runtime.job.prepare import prepare
from penstock_runtime.task.context import task_context

from ..journal import Journal
from ..lab import Lab
from ..pods import STATUS, UID, Pods, PodTask, pods, status_values, write
from ..running import Processes, manifest, new_name, next_life, until

__all__ = ["pods"]


def states(task: PodTask) -> list[str]:
    """Return the states that the task has reported, each once: RUNNING is reported again with the progress of its loop."""
    return list(dict.fromkeys(report.state for report in task.reports()))


def test_a_life_is_reported_from_its_start_to_its_end(pods: Pods) -> None:
    topic = pods.lab.topic()
    before = time.time() * 1000
    task = pods.start(pods.lab.source_manifest([["a", "b"]], topic), generation=7)
    running = task.await_report("RUNNING")
    assert (running.acted, running.connector_uid, running.incarnation) == (7, UID, 1)
    assert running.epoch == task.identity.epoch
    assert before <= running.since <= time.time() * 1000
    assert running.versions.keys() == {"connector", "key.converter", "value.converter", "header.converter"}
    pods.lab.journal.count("commit", 1)
    task.process.stop()
    last = task.await_report("UNASSIGNED")
    assert last.since > running.since
    assert states(task) == ["RUNNING", "UNASSIGNED"]
    word = task.last_word()
    assert (word.exit_code, word.message, word.trace, word.trouble) == (ExitCode.OK, None, None, None)


def test_connects_own_records_name_the_pod_as_the_worker(pods: Pods) -> None:
    task = pods.start(pods.lab.source_manifest([["a"]], topic := pods.lab.topic()))
    pods.lab.journal.count("commit", 1)
    task.process.stop()
    records = pods.lab.records(STATUS)
    name = task.spec.connector
    states = status_values(records, f"status-task-{name}-0")
    assert [s["state"] for s in states] == ["RUNNING", "UNASSIGNED"]
    assert {s["worker_id"] for s in states} == {f"{name}-0-1"}
    assert status_values(records, f"status-topic-{topic}:connector-{name}")[0]["topic"]["task"] == 0


def test_a_topic_that_the_operator_knows_to_be_active_is_not_recorded_by_the_next_life(pods: Pods) -> None:
    topic, new = pods.lab.topic(), pods.lab.topic("new")
    script = [[{"value": "a", "topic": topic}, {"value": "b", "topic": new}]]
    seen = StatusSnapshot(topic_id="of another time", ends=(), topics=topic_marks([topic]))
    task = pods.start(pods.lab.source_manifest(script, topic), status=seen)
    pods.lab.journal.count("commit", 1)
    task.process.stop()
    records, name = pods.lab.records(STATUS), task.spec.connector
    assert status_values(records, f"status-topic-{topic}:connector-{name}") == []
    assert len(status_values(records, f"status-topic-{new}:connector-{name}")) == 1


def test_a_failure_is_reported_and_is_the_last_word(pods: Pods) -> None:
    task = pods.start(pods.lab.source_manifest([{"raise": "fatal", "message": "no such table"}], pods.lab.topic()))
    assert task.process.await_exit() == ExitCode.FAILED
    report, word = task.await_report("FAILED"), task.last_word()
    assert report.message == word.message == "no such table"
    assert "Traceback" in str(report.trace)
    assert "no such table" in str(word.trace)
    assert word.exit_code == ExitCode.FAILED


def test_a_very_long_error_is_cut_to_what_kubernetes_keeps(pods: Pods) -> None:
    long = "x" * 300_000
    task = pods.start(pods.lab.source_manifest([{"raise": "fatal", "message": f"boom {long}"}], pods.lab.topic()))
    task.process.await_exit()
    assert str(task.last_word().message).startswith("boom xxx")
    assert str(task.await_report("FAILED").message).startswith("boom xxx")


def test_trouble_is_reported_while_it_lasts(pods: Pods) -> None:
    topic = pods.lab.topic()
    missing = f"{topic}-later"
    settings = {"consumer.override.metadata.max.age.ms": "300"}
    task = pods.start(pods.lab.sink_manifest(f"{topic},{missing}", **settings))
    report = task.await_report("RUNNING", where=lambda r: r.trouble)
    assert report.trouble == f"Waiting for topics that do not exist, or that may not be read: {missing}"
    pods.lab.produce(missing, "a")
    assert task.await_report("RUNNING", where=lambda r: not r.trouble).acted == 1


@pytest.mark.slow
def test_a_life_that_was_superseded_leaves_without_a_report(pods: Pods, tmp_path: Path) -> None:
    task = pods.start(pods.lab.source_manifest([["a"]], pods.lab.topic()))
    task.await_report("RUNNING")
    prepare(task_context(task.spec, slots_dir=tmp_path))  # a newer plan
    assert task.process.await_exit() == ExitCode.SUPERSEDED
    assert task.last_word().exit_code == ExitCode.SUPERSEDED
    assert states(task) == ["RUNNING"]


def test_a_sink_leaves_when_a_later_life_of_it_has_reported(pods: Pods) -> None:
    first = pods.start(pods.lab.sink_manifest(pods.lab.topic()))
    first.await_report("RUNNING")
    second = pods.task(next_life(first.spec))
    second.await_report("RUNNING")
    assert first.process.await_exit() == ExitCode.SUPERSEDED
    assert second.reports()[-1].state == "RUNNING"


def test_a_report_that_an_earlier_life_writes_late_is_written_over(pods: Pods) -> None:
    task = pods.start(pods.lab.sink_manifest(pods.lab.topic()))
    own = task.await_report("RUNNING", where=lambda r: r.progress == "steady")  # its last one
    before = len(task.reports())
    late = own.model_copy(update={"incarnation": 0, "pod_uid": "older", "state": "FAILED"})
    write(pods.lab.servers, STATUS, report_key(task.spec.connector, 0), late.to_value())
    until(lambda: len(task.reports()) == before + 1)
    assert task.reports()[-1] == own


@pytest.mark.parametrize(
    ("env", "told"),
    [
        (
            {"PENSTOCK_POD_IDENTITY": '{"apiVersion":"penstock.dev/pod-identity/v9"}'},
            "cannot be read as a pod identity of this version",
        ),
        ({"PENSTOCK_POD_UID": ""}, "PENSTOCK_POD_UID"),
    ],
)
def test_a_pod_that_this_runtime_does_not_understand_says_so(pods: Pods, env: dict[str, str], told: str) -> None:
    task = pods.start(pods.lab.sink_manifest(pods.lab.topic()), env=env)
    assert task.process.await_exit() == ExitCode.CONFIG_INVALID
    assert told in str(task.last_word().message)


def test_a_missing_secret_is_the_last_word(pods: Pods) -> None:
    spec = pods.lab.spec(pods.lab.sink_manifest(pods.lab.topic()))
    spec = spec.model_copy(update={"worker": {**spec.worker, "sasl.jaas.config": "${secret:kafka:password}"}})
    task = pods.task(spec)
    assert task.process.await_exit() == ExitCode.CONFIG_INVALID
    assert "${secret:kafka:password} cannot be resolved" in str(task.last_word().message)


def test_client_properties_that_are_wrong_are_the_last_word(pods: Pods) -> None:
    spec = pods.lab.spec(pods.lab.sink_manifest(pods.lab.topic()))
    spec = spec.model_copy(update={"worker": {**spec.worker, "producer.acks": "some"}})
    task = pods.task(spec)
    assert task.process.await_exit() == ExitCode.CONFIG_INVALID
    assert "acks" in str(task.last_word().message)


@pytest.mark.parametrize(
    ("servers", "told"),
    [("127.0.0.1:1", "nothing listens there"), ("no-such-host.invalid:9092", "a host name does not resolve")],
)
def test_a_task_that_cannot_reach_kafka_at_its_start_ends_and_says_why(pods: Pods, servers: str, told: str) -> None:
    spec = pods.lab.spec(pods.lab.sink_manifest(pods.lab.topic()))
    spec = spec.model_copy(update={"worker": {**spec.worker, "bootstrap.servers": servers}})
    task = pods.task(spec, "--reach-seconds", "3")
    assert task.process.await_exit() == ExitCode.UNAVAILABLE
    word = task.last_word()
    assert word.exit_code == ExitCode.UNAVAILABLE
    assert servers in str(word.message)
    assert told in str(word.message)


@pytest.mark.slow
def test_a_task_that_loses_kafka_later_waits_for_it_and_continues(
    own_kafka: EmbeddedKafka, processes: Processes, journal: Journal, tmp_path: Path
) -> None:
    pods = Pods(Lab(own_kafka.bootstrap_servers, processes, journal), tmp_path)
    topic = pods.lab.topic()
    task = pods.start(pods.lab.sink_manifest(topic))
    task.await_report("RUNNING")
    own_kafka.stop()
    own_kafka.start()
    pods.lab.produce(topic, "a")
    assert journal.values(1) == ["a"]
    task.control(2, "Paused")
    task.await_report("PAUSED", acted=2)
    own_kafka.kill()
    task.process.stop()  # in its grace period, with nobody to tell it
    assert task.last_word().exit_code == ExitCode.OK
    task.close()


def test_what_a_plugin_prints_is_a_log_line(pods: Pods, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a\n")
    config = {"file": str(tmp_path / "in"), "topic": pods.lab.topic()}
    task = pods.start(manifest(new_name(), "noisy_source:Noisy", config))
    line = json.loads(task.process.await_log("a plain word"))
    assert (line["message"], line["logger"], line["task"]) == ("a plain word", "output.stdout", 0)
    task.process.stop()


def test_stopping_while_a_batch_hangs_is_reported_as_an_abandonment(pods: Pods, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.write_text("0")
    config = {"topic": pods.lab.topic(), "hold": str(hold), "value.converter": "StringConverter"}
    worker = {"task.shutdown.graceful.timeout.ms": "1500"}
    task = pods.start(manifest(new_name(), "numbers_source:Numbers", config), worker=worker)
    until(hold.with_suffix(".0").exists)  # within the batch
    task.process.terminate()
    assert task.process.await_exit() == ExitCode.OK
    assert "The task was abandoned" in str(task.last_word().message)
    assert task.await_report("UNASSIGNED").acted == 1
