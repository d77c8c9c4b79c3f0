"""Frames of one schema each, in the order of the records that they are made of, on real Spark."""

import json
from typing import Any

import pytest

from ..lab import STRING, Lab
from ..running import PATIENCE, manifest, new_name

pytestmark = pytest.mark.slow

FIELDS: dict[str, list[dict[str, Any]]] = {
    "v1": [{"field": "id", "type": "int64"}],
    "v2": [{"field": "id", "type": "int64"}, {"field": "more", "type": "string", "optional": True}],
}
COLUMNS = {version: [field["field"] for field in fields] for version, fields in FIELDS.items()}


def message(number: int, version: str) -> str:
    return json.dumps({"schema": {"type": "struct", "fields": FIELDS[version]}, "payload": {"id": number}})


def frames_sink(lab: Lab, topic: str, **config: str) -> dict[str, Any]:
    given = {**STRING, "value.converter": "JsonConverter", "topics": topic, "journal": lab.journal.path, **config}
    return manifest(new_name("frames"), "storing_sinks:RecordingFrames", given, spark="Eager")


def test_records_of_two_schemas_come_to_a_sink_of_frames_in_the_order_of_their_partition(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, message(0, "v1"), message(1, "v2"), message(2, "v1"))
    name, task = lab.start(frames_sink(lab, topic))
    lab.wait_committed(name, topic, 3)
    task.stop()
    assert [(e["columns"], e["ids"]) for e in lab.journal.of("frame")] == [
        (COLUMNS["v1"], [0]),
        (COLUMNS["v2"], [1]),
        (COLUMNS["v1"], [2]),
    ]


def test_a_frame_lies_in_one_partition_so_that_a_writer_which_works_in_parallel_keeps_the_order(lab: Lab) -> None:
    topic = lab.topic("t", 2)
    for partition in range(2):
        lab.produce(topic, *(message(10 * partition + n, "v1") for n in range(10)), partition=partition)
    name, task = lab.start(frames_sink(lab, topic))
    for partition in range(2):
        lab.wait_committed(name, topic, 10, partition)
    task.stop()
    assert {e["partitions"] for e in lab.journal.of("frame")} == {1}
    for partition in range(2):
        found = [n for e in lab.journal.of("frame") for n in e["ids"] if n // 10 == partition]
        assert found == list(range(10 * partition, 10 * partition + 10))


def test_partitions_share_frames_as_far_as_the_order_of_each_allows(lab: Lab) -> None:
    topic, versions = lab.topic("t", 4), ("v1", "v2", "v1", "v1")
    for partition in range(4):
        for n, version in enumerate(versions):
            lab.produce(topic, message(10 * partition + n, version), partition=partition)
    name, task = lab.start(frames_sink(lab, topic, **{"batch.max.ms": "20000", "batch.max.records": "16"}))
    for partition in range(4):
        lab.wait_committed(name, topic, 4, partition)
    task.stop()
    found = [e["ids"] for e in lab.journal.of("frame")]
    assert [sorted(ids) for ids in found] == [[0, 10, 20, 30], [1, 11, 21, 31], [2, 3, 12, 13, 22, 23, 32, 33]]
    assert [n for n in found[2] if n < 10] == [2, 3]


def test_schemas_that_alternate_are_written_in_order_and_committed_on_the_way(lab: Lab) -> None:
    topic, count = lab.topic(), 60
    lab.produce(topic, *(message(n, "v1" if n % 2 else "v2") for n in range(count)))
    name, task = lab.start(frames_sink(lab, topic, **{"batch.max.ms": "100"}))
    lab.journal.until(lambda: lab.journal.of("frame"), count, 8 * PATIENCE)
    lab.wait_committed(name, topic, count)
    task.stop()
    assert [e["ids"] for e in lab.journal.of("frame")] == [[n] for n in range(count)]  # each once
    commits = [e["offsets"][f"{topic}-0"] for e in lab.journal.of("commit")]
    assert commits == sorted(commits)
    assert 0 < commits[0] < count


def test_records_that_fail_among_schemas_that_alternate_are_counted_and_buried_once(lab: Lab) -> None:
    """A batch that ends before all of its frames are written is read again from there."""
    topic, dlq, count = lab.topic(), lab.topic("dlq"), 30
    values = [v for n in range(count) for v in (message(n, "v1" if n % 2 else "v2"), *[f"bad{n}"] * (n % 6 == 5))]
    lab.produce(topic, *values)
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dlq}
    name, task = lab.start(frames_sink(lab, topic, **{"batch.max.ms": "100"}, **tolerant))
    lab.journal.until(lambda: lab.journal.of("frame"), count, 8 * PATIENCE)
    lab.wait_committed(name, topic, len(values))
    task.stop()
    assert len(lab.journal.of("commit")) > 1
    assert [e["ids"] for e in lab.journal.of("frame")] == [[n] for n in range(count)]
    assert lab.values(dlq) == [f"bad{n}" for n in range(5, count, 6)]
    assert [task.last(what) for what in ("read", "written", "failures", "dropped")] == [len(values), count, 5, 0]


def test_a_slow_sink_of_frames_with_a_backlog_commits_as_it_goes_and_writes_nothing_twice(lab: Lab) -> None:
    topic, count = lab.topic(), 1_000
    lab.produce(topic, *(message(n, "v1") for n in range(count)))
    name, task = lab.start(frames_sink(lab, topic, **{"batch.max.ms": "1000", "each": "0.01"}))
    lab.journal.until(lambda: [n for e in lab.journal.of("frame") for n in e["ids"]], count, 8 * PATIENCE)
    lab.wait_committed(name, topic, count)
    task.stop()
    found = [e["ids"] for e in lab.journal.of("frame")]
    assert [n for ids in found for n in ids] == list(range(count))
    assert max(map(len, found)) <= count // 4
    assert len(lab.journal.of("commit")) > 1
