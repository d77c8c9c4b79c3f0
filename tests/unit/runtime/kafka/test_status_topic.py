"""Records of the status topic byte for byte as Kafka Connect writes them, and ours beside them."""

import json
from pathlib import Path

from penstock_runtime.kafka.status_topic import (
    Incarnation,
    State,
    connector_status,
    incarnated_tasks,
    latest_incarnation,
    named_ids,
    task_status,
    topic_status,
)


def test_a_connectors_state() -> None:
    found = connector_status("fs-1", State.RUNNING, worker_id="127.0.0.1:18083", generation=3, version="4.3.1")
    assert found == (
        b"status-connector-fs-1",
        b'{"state":"RUNNING","trace":null,"worker_id":"127.0.0.1:18083","generation":3,"version":"4.3.1"}',
    )


def test_a_tasks_state_with_a_trace_and_without_a_version() -> None:
    found = task_status("ü x", 12, State.FAILED, worker_id="w", generation=0, version=None, trace='a "b"\n\tat ä')
    assert found == (
        "status-task-ü x-12".encode(),
        '{"state":"FAILED","trace":"a \\"b\\"\\n\\tat ä","worker_id":"w","generation":0,"version":null}'.encode(),
    )


def test_an_active_topic() -> None:
    assert topic_status("fsrc", "fs-1", 0, 1795253019945) == (
        b"status-topic-fsrc:connector-fs-1",
        b'{"topic":{"name":"fsrc","connector":"fs-1","task":0,"discoverTimestamp":1795253019945}}',
    )


def test_an_incarnation_is_under_a_key_that_connect_passes_over() -> None:
    key, value = Incarnation(3, 1, "tok", 3).entry("fs-1", 0)
    assert key == b'["penstock-incarnation","fs-1",0]'
    assert value == b'{"incarnation":3,"fence":1,"token":"tok","slots":3,"generation":0,"plan":""}'


def test_the_greatest_incarnation_counts_not_the_last() -> None:
    lives = [Incarnation(1, 0, "a", 2), Incarnation(3, 0, "b", 2), Incarnation(2, 9, "c", 5)]
    entries = [i.entry("c", 0) for i in lives]
    assert latest_incarnation(entries, "c", 0) == lives[1]
    assert latest_incarnation(entries, "c", 1) is None
    assert latest_incarnation([], "c", 0) is None


def test_fence_then_token_distinguish_equal_incarnations() -> None:
    assert Incarnation(1, 0, "z", 9) < Incarnation(1, 1, "a", 1) < Incarnation(1, 1, "b", 1) < Incarnation(2, 0, "", 0)


def test_every_task_that_ever_was_is_found() -> None:
    entries = [
        Incarnation(1, 0, "a", 2).entry("c", 0),
        Incarnation(4, 0, "b", 3).entry("c", 2),
        Incarnation(2, 0, "a", 2).entry("c", 0),
        Incarnation(9, 0, "x", 2).entry("other", 1),
        task_status("c", 1, State.RUNNING, worker_id="w", generation=1, version=None),
        (b'["penstock-incarnation","c",5]', None),
    ]
    assert incarnated_tasks(entries, "c") == {0: Incarnation(2, 0, "a", 2), 2: Incarnation(4, 0, "b", 3)}


def test_a_newer_plan_is_greater_than_every_life_of_an_older_one() -> None:
    restarted_often = Incarnation(99, 9, "z", 3, generation=4, plan="b")
    assert restarted_often < Incarnation(0, 0, "", 0, generation=5, plan="a")
    assert restarted_often < Incarnation(0, 0, "", 0, generation=4, plan="c")
    value = restarted_often.entry("c", 0)[1]
    assert value is not None
    assert Incarnation.of(value) == restarted_often


def golden_incarnations() -> list[tuple[str, int, bytes, bytes]]:
    """Connector, task, key and value of each record as an earlier release wrote it."""
    golden = Path(__file__).parents[2] / "model" / "golden" / "kafka-records-v0.1.0.jsonl"
    records = [json.loads(line) for line in golden.read_text().splitlines()]
    found = [r for r in records if r["key"].startswith('["penstock-incarnation"')]
    return [(*json.loads(r["key"])[1:], r["key"].encode(), r["value"].encode()) for r in found]


def test_incarnation_records_are_written_as_an_earlier_release_wrote_them() -> None:
    found = golden_incarnations()
    assert len(found) == 3
    for connector, task, key, value in found:
        ids = named_ids([(key, value)], connector, task)
        assert Incarnation.of(value).entry(connector, task, ids=ids) == (key, value)


def test_fields_of_a_later_releases_incarnation_record_are_passed_over() -> None:
    for connector, task, key, value in golden_incarnations():
        later = json.dumps({**json.loads(value), "somethingNew": {"a": 1}}).encode()
        assert incarnated_tasks([(key, later)], connector) == {task: Incarnation.of(value)}
        assert named_ids([(key, later)], connector, task) == named_ids([(key, value)], connector, task)
