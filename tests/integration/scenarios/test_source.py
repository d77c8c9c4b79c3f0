"""Scenarios of areas source, offsets, active-topics and state that concern sources, on a real broker."""

import json
from itertools import groupby
from pathlib import Path

import pytest

from penstock_kafka.murmur2 import partition_of

from ..lab import LOG, STRING, Lab, failed
from ..running import Processes, manifest, new_name, until


@pytest.mark.scenario("offsets-file-source-format")
@pytest.mark.scenario("offsets-murmur2-partition")
@pytest.mark.scenario("state-status-record")
def test_a_file_source_leaves_connects_bytes(lab: Lab, processes: Processes, tmp_path: Path) -> None:
    file, topic, name = tmp_path / "in.txt", lab.topic(), new_name("fs")
    file.write_text("".join(f"line {n}\n" for n in range(1, 6)))
    run = processes.run(
        [manifest(name, "FileStreamSource", {**STRING, "file": str(file), "topic": topic})], lab.servers
    )
    until(lambda: lab.offset_records(name))
    run.stop()

    assert lab.values(topic) == [f"line {n}" for n in range(1, 6)]
    stored = f'["{name}",{{"filename":"{file}"}}]'.encode()
    last = [r for r in lab.offset_records(name) if r.key == stored][-1]  # beside it stands a fingerprint of the file
    assert last.value == b'{"position":35}'
    assert last.headers == ()
    assert last.partition == partition_of(stored, 25)
    for key in (f"status-connector-{name}", f"status-task-{name}-0"):
        record = lab.status(key)[0]
        assert list(record) == ["state", "trace", "worker_id", "generation", "version"]
        assert (record["state"], record["trace"], record["version"]) == ("RUNNING", None, "0.1.0")
        assert isinstance(record["worker_id"], str)
        assert record["generation"] > 0


@pytest.mark.scenario("offsets-recreate-continues")
def test_a_connector_that_is_made_again_continues_where_the_old_one_was(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("again")
    for life in (1, 2):
        _, task = lab.source([["v0"], ["v1"]][:life], topic, name=name)
        lab.journal.count("commit", life)
        task.stop()
    assert [e["offset"] for e in lab.journal.of("start")] == [None, {"i": 0}]
    assert lab.values(topic) == ["v0", "v1"]


@pytest.mark.scenario("offsets-field-order-of-partition")
def test_a_partition_is_found_in_any_order_of_fields_and_written_back_with_the_bytes_it_had(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("ord")
    _, first = lab.source([["v0"]], topic, name=name, partition='{"p":0}')  # makes the offsets topic
    lab.journal.count("commit")
    first.stop()
    key = f'["{name}",{{"zeta":1,"alpha":"x","b":true,"c":1.5,"n":null}}]'
    # As a Connect worker left it:
    lab.produce("connect-offsets", '{"i":0}', key=key, partition=partition_of(key.encode(), 25))
    _, task = lab.source(
        [["v0"], ["v1"]], topic, name=name, partition='{"alpha":"x","b":true,"c":1.5,"n":null,"zeta":1}'
    )
    lab.journal.count("commit", 2)
    task.stop()
    assert lab.journal.of("start")[-1]["offset"] == {"i": 0}
    found = [(r.key, r.value) for r in lab.offset_records(name) if r.key != f'["{name}",{{"p":0}}]'.encode()]
    assert found == [(key.encode(), b'{"i":0}'), (key.encode(), b'{"i":1}')]


@pytest.mark.parametrize("guarantee", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
@pytest.mark.parametrize("polling", [False, True])
def test_a_null_offset_forgets_the_position_of_a_source_partition(lab: Lab, polling: bool, guarantee: str) -> None:
    """A tombstone, as in Kafka Connect; the plugin does not find the partition among its offsets then."""
    topic, more = lab.topic(), {"delivery.guarantee": guarantee}
    name, task = lab.source([["a"], ["b"]], topic, polling=polling, forgets=1, **more)
    commits = lab.journal.count("commit", 3)
    task.stop()
    assert [e["offset"] for e in commits] == [{"i": 0}, None, {"i": 0}]
    assert lab.offsets(name)[:3] == [{"i": 0}, None, {"i": 0}]
    assert lab.values(topic)[:3] == ["a", "b", "a"]
    assert task.failure is None


@pytest.mark.scenario("active-topics-source-after-ack")
def test_a_topic_is_active_once_records_are_in_it(lab: Lab) -> None:
    topic, other = lab.topic(), lab.topic("other")
    large = lab.topic("large")
    script = [
        ["v"],
        [{"value": "boom", "topic": other}],
        [{"value": "x", "repeat": 2_000_000, "topic": large}, {"value": "w", "topic": topic}],
    ]
    name, task = lab.source(
        script,
        topic,
        value_converter="scripted_steps:Picky",
        **{"value.converter.on": "boom", "errors.tolerance": "all"},
    )
    lab.journal.count("commit", 3)
    task.stop()
    (record,) = lab.status(f"status-topic-{topic}:connector-{name}")
    found = record["topic"].pop("discoverTimestamp")
    assert record == {"topic": {"name": topic, "connector": name, "task": 0}}
    assert found > 1_600_000_000_000
    for unused in (other, large):  # nothing came through to them
        assert lab.status(f"status-topic-{unused}:connector-{name}") == []


def test_an_active_topic_is_recorded_once_however_often_its_task_starts(lab: Lab) -> None:
    topic, later = lab.topic(), lab.topic("later")
    script, name = [["a"], ["b"], [{"value": "c", "topic": later}, "d"]], new_name("once")
    for life in (1, 2, 3):
        _, task = lab.source(script[:life], topic, name=name)
        lab.journal.count("commit", life)
        task.stop()
    for used in (topic, later):
        assert len(lab.status(f"status-topic-{used}:connector-{name}")) == 1


def test_nothing_is_recorded_where_topics_are_not_tracked(lab: Lab) -> None:
    topic = lab.topic()
    name, task = lab.source([["v"]], topic, worker={"topic.tracking.enable": "false"})
    lab.journal.count("commit")
    task.stop()
    assert lab.status(f"status-topic-{topic}:connector-{name}") == []


@pytest.mark.scenario("state-pause-source")
def test_a_source_that_starts_paused_moves_nothing_until_it_is_started_unpaused(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("paused")
    resource = lab.source_manifest([["v0"]], topic, name=name)
    _, task = lab.start(resource, paused=True)
    task.await_state("PAUSED")
    task.stop()
    assert "read" not in lab.journal.kinds()
    states = [s["state"] for s in lab.status(f"status-task-{name}-0")]
    # Whoever writes states may write one twice, when the broker's answer is late.
    assert [state for state, _ in groupby(states)] == ["PAUSED", "UNASSIGNED"]
    assert lab.values(topic) == []
    _, task = lab.start(resource)
    lab.journal.count("commit")
    task.stop()
    assert lab.values(topic) == ["v0"]


@pytest.mark.scenario("source-filtered-no-advance")
def test_progress_of_filtered_records_is_committed(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("filtered")
    chain = {"transforms": "drop", "transforms.drop.type": "Filter"}
    for life in (1, 2):
        _, task = lab.source([["a", "b"], ["c"]], topic, name=name, **chain)
        lab.journal.until(lambda: lab.journal.of("commit", "start"), 2 + life)
        task.stop()
    assert lab.values(topic) == []
    assert lab.offsets(name) == [{"i": 0}, {"i": 1}]
    assert [e["offset"] for e in lab.journal.of("start")] == [None, {"i": 1}]  # Kafka Connect: nothing, twice


@pytest.mark.scenario("source-poll-retriable")
@pytest.mark.parametrize("polling", [False, True])
def test_a_source_may_ask_to_be_asked_again_and_any_other_error_is_the_end(lab: Lab, polling: bool) -> None:
    topic = lab.topic()
    script = [
        ["v0"],
        {"raise": "retriable", "message": "not yet"},
        ["v2"],
        {"raise": "fatal", "message": "poll refused"},
    ]
    name, task = lab.source(script, topic, polling=polling)
    assert "poll refused" in failed(task)
    assert lab.values(topic) == ["v0", "v2"]
    assert lab.offsets(name)[-1] == {"i": 2}
    states = [s["state"] for s in lab.status(f"status-task-{name}-0")]
    assert states == ["RUNNING", "FAILED"]
    assert "poll refused" in lab.status(f"status-task-{name}-0")[-1]["trace"]


@pytest.mark.scenario("source-too-large-all")
@pytest.mark.parametrize("guarantee", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
def test_a_record_that_is_too_large_is_passed_over_where_errors_are_tolerated(lab: Lab, guarantee: str) -> None:
    topic = lab.topic()
    script = [["small"], [{"value": "x", "repeat": 2_000_000}, "after"], ["later"]]
    more = {**LOG, "errors.log.include.messages": "false", "errors.tolerance": "all", "delivery.guarantee": guarantee}
    name, task = lab.source(script, topic, **more)
    lab.journal.count("commit", 3)
    line = task.await_log(
        "Executing stage 'KAFKA_PRODUCE' with class 'org.apache.kafka.connect.runtime.WorkerSourceTask'"
    )
    assert f"Error encountered in task {name}-0." in line
    assert "xxx" not in line
    task.stop()
    assert lab.values(topic) == ["small", "after", "later"]
    assert lab.offsets(name)[-1] == {"i": 2}


@pytest.mark.scenario("source-negative-timestamp")
def test_a_negative_timestamp_is_never_tolerated(lab: Lab) -> None:
    topic = lab.topic()
    name, task = lab.source([["a"], ["b", {"value": "old", "timestamp": -5}]], topic, **{"errors.tolerance": "all"})
    assert "Invalid record timestamp -5" in failed(task)
    assert lab.values(topic) == ["a"]
    assert lab.offsets(name) == [{"i": 0}]


@pytest.mark.parametrize("guarantee", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
def test_a_negative_partition_is_never_tolerated_nor_taken_for_none(lab: Lab, guarantee: str) -> None:
    topic, more = lab.topic(), {"errors.tolerance": "all", "delivery.guarantee": guarantee}
    name, task = lab.source([["a"], [{"value": "b", "partition": -1}]], topic, **more)
    assert "Invalid partition: -1. " in failed(task)
    assert lab.values(topic) == ["a"]
    assert lab.offsets(name) == [{"i": 0}]


@pytest.mark.scenario("source-too-many-tasks")
def test_a_plugin_that_asks_for_more_tasks_than_allowed_is_refused_before_anything_starts(
    lab: Lab, processes: Processes
) -> None:
    resource = lab.source_manifest([["v"]], lab.topic(), tasks=3)
    run = processes.run([resource], lab.servers)
    assert run.await_exit() == 2
    name = resource["metadata"]["name"]
    assert f"The connector {name} has generated 3 tasks, which is greater than 1" in run.log_text()
    assert lab.journal.kinds() == []


@pytest.mark.scenario("offsets-own-topic-reset")
def test_an_offsets_topic_of_its_own_goes_before_the_workers_and_both_are_written(lab: Lab) -> None:
    topic, name, own = lab.topic(), new_name("own"), new_name("own-offsets")
    _, task = lab.source([["v0"]], topic, name=name)
    lab.journal.count("commit", 1)
    task.stop()
    _, task = lab.source([["v0"], ["v1"]], topic, name=name, **{"offsets.storage.topic": own})
    lab.journal.count("commit", 2)
    task.stop()
    assert lab.journal.of("start")[-1]["offset"] == {"i": 0}  # Kafka Connect starts from nothing here
    assert lab.offsets(name) == [{"i": 0}, {"i": 1}]
    assert [json.loads(r.value or b"") for r in lab.offset_records(name, own)] == [{"i": 1}]
    assert lab.values(topic) == ["v0", "v1"]


@pytest.mark.scenario("state-initial-state")
def test_a_connector_that_starts_stopped_has_no_task(lab: Lab, processes: Processes) -> None:
    resource = lab.source_manifest([["v0"]], lab.topic())
    resource["spec"]["state"] = "Stopped"
    name = resource["metadata"]["name"]
    run = processes.run([resource], lab.servers)
    assert run.await_exit() == 0
    assert f"Connector {name} is Stopped: no task is started" in run.log_text()
    assert lab.journal.kinds() == []


def test_a_record_that_the_broker_refuses_is_passed_over_where_errors_are_tolerated(lab: Lab) -> None:
    topic = lab.topic(max_message_bytes="1000")
    more = {**LOG, "errors.tolerance": "all", "delivery.guarantee": "at-least-once"}
    script = [["small"], [{"value": "x", "repeat": 5_000}], ["later"]]
    name, task = lab.source(script, topic, **more)
    lab.journal.count("commit", 3)
    line = task.await_log(
        "Executing stage 'KAFKA_PRODUCE' with class 'org.apache.kafka.connect.runtime.WorkerSourceTask'"
    )
    assert f"Error encountered in task {name}-0." in line
    task.stop()
    assert lab.values(topic) == ["small", "later"]
    assert lab.offsets(name)[-1] == {"i": 2}


@pytest.mark.scenario("errors-log-line")
@pytest.mark.parametrize("logged", ["true", "false"])
def test_the_record_that_fails_a_source_is_logged_where_errors_are(lab: Lab, logged: str) -> None:
    chain = {"transforms": "f", "transforms.f.type": "scripted_steps:Refusing", "transforms.f.on": "boom"}
    name, task = lab.source([["a", "boom"]], lab.topic(), **chain, **{**LOG, "errors.log.enable": logged})
    failed(task)
    lines = [json.loads(x)["message"] for x in task.log_text().splitlines() if "Error encountered in task" in x]
    assert len(lines) == (logged == "true")
    for line in lines:
        assert line.startswith(
            f"Error encountered in task {name}-0. Executing stage 'TRANSFORMATION' with class 'scripted_steps.Refusing', "
            f"where source record is = SourceRecord{{"
        )
        assert "value='boom'" in line
        assert line.endswith("DataError: transform refused boom")
