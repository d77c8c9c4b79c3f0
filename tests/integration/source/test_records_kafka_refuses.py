"""What the brokers refuse of a source's records: whole batches for the sake of one, or of their size."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from ..lab import LOG, Lab, failed
from ..running import Running, manifest, new_name, until

MODES = pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
TOLERANT = {**LOG, "errors.tolerance": "all"}
WIDTH = 100


def lines(file: Path, start: int, count: int) -> None:
    with file.open("a") as f:
        f.writelines(f"{n:0{WIDTH}d}\n" for n in range(start, start + count))


def follow(lab: Lab, file: Path, topic: str, guarantee: str, *, worker: Any = None, **more: Any) -> tuple[str, Running]:
    config = {"file": str(file), "topic": topic, "value.converter": "StringConverter", "delivery.guarantee": guarantee}
    return lab.start(manifest(new_name(), "FileStreamSource", {**config, **more}), worker)


def await_written(task: Running, count: int) -> None:
    until(lambda: total(task, "written") >= count, seconds=180, what=lambda: f"{count} written\n{task.last_words()}")


def total(task: Running, field: str) -> int:
    return int(task.last(field) or 0)


def set_limit(servers: str, topic: str, limit: int) -> None:
    entry = ConfigEntry("max.message.bytes", str(limit), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": servers})
    admin.incremental_alter_configs([resource])[resource].result(30)


def grow(servers: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)


def in_order(values: Sequence[str], count: int, guarantee: str) -> None:
    numbers = [int(v) for v in values]
    if guarantee == "at-least-once":  # a batch that comes again comes as a whole
        last = {n: place for place, n in enumerate(numbers)}
        numbers = sorted(last, key=last.__getitem__)
    assert numbers == list(range(count))


@MODES
@pytest.mark.parametrize("tolerance", ["none", "all"])
@pytest.mark.parametrize(
    ("limit", "count"), [(50_000, 20_000), pytest.param(1_000_012, 200_000, marks=pytest.mark.slow)]
)
def test_a_batch_never_exceeds_what_its_topic_takes(
    lab: Lab, tmp_path: Path, guarantee: str, tolerance: str, limit: int, count: int
) -> None:
    topic, file = lab.topic(max_message_bytes=str(limit)), tmp_path / "in.txt"
    lines(file, 0, count)
    _, task = follow(lab, file, topic, guarantee, **{"errors.tolerance": tolerance, **LOG})
    await_written(task, count)
    task.stop()
    values = lab.values(topic)
    assert [int(v) for v in values] == list(range(count))
    assert total(task, "failures") == 0
    assert "refused" not in task.log_text()


@MODES
def test_a_limit_that_shrinks_under_a_running_task_loses_nothing(lab: Lab, tmp_path: Path, guarantee: str) -> None:
    topic, file, count = lab.topic(), tmp_path / "in.txt", 20_000
    lines(file, 0, 10)
    _, task = follow(lab, file, topic, guarantee, **TOLERANT)
    await_written(task, 10)
    set_limit(lab.servers, topic, 50_000)
    lines(file, 10, count - 10)
    await_written(task, count)
    task.stop()
    in_order(lab.values(topic), count, guarantee)
    assert total(task, "failures") == 0


@MODES
def test_only_a_record_too_large_for_its_topic_is_passed_over(lab: Lab, guarantee: str) -> None:
    topic, dlq = lab.topic(max_message_bytes="1000"), lab.topic("dlq")
    script = [["a", {"value": "x", "repeat": 5_000}, "b"], ["c"]]
    more = {"errors.deadletterqueue.topic.name": dlq, "errors.deadletterqueue.context.headers.enable": "true"}
    _, task = lab.source(script, topic, **{**TOLERANT, "delivery.guarantee": guarantee}, **more)
    lab.journal.count("commit", 2)
    task.stop()
    assert [r.value for r in lab.records(topic, "read_uncommitted")] == [b"a", b"b", b"c"]
    (letter,) = lab.records(dlq)
    assert letter.value == b"x" * 5_000
    assert dict(letter.headers)["__connect.errors.stage"] == b"KAFKA_PRODUCE"
    assert total(task, "failures") == 1
    assert "comes again" not in task.log_text()


@MODES
def test_a_record_too_large_for_its_topic_fails_the_task_with_size_and_side(lab: Lab, guarantee: str) -> None:
    topic = lab.topic(max_message_bytes="1000")
    script = [["a", {"value": "x", "repeat": 5_000}, "b"]]
    _, task = lab.source(script, topic, **{"delivery.guarantee": guarantee})
    message = failed(task)
    assert f"topic '{topic}'" in message
    assert "a record of 5070 bytes is larger than the topic accepts (max.message.bytes=1000)" in message
    assert "max.request.size" not in message


def test_a_record_larger_than_a_segment_of_its_topic_fails_the_task_with_what_helps(lab: Lab) -> None:
    topic = lab.topic(max_message_bytes="4000000", segment_bytes=str(1 << 20))
    script = [[{"value": "x", "repeat": 2_000_000}]]
    _, task = lab.source(script, topic, **{"producer.override.max.request.size": "4000000"})
    message = failed(task)
    assert f"Writing a record of 2000074 bytes to topic '{topic}'" in message
    assert "Raise the topic's segment.bytes" in message


@MODES
def test_a_record_too_large_for_the_producer_names_the_property_of_the_producer(lab: Lab, guarantee: str) -> None:
    _, task = lab.source(
        [[{"value": "x", "repeat": 2_000_000}]],
        lab.topic(max_message_bytes="9000000"),
        **{"delivery.guarantee": guarantee},
    )
    assert "a record of 2000074 bytes is larger than the producer sends (max.request.size)" in failed(task)


@pytest.mark.slow
@MODES
def test_a_raised_limit_is_seen_while_the_task_runs(lab: Lab, tmp_path: Path, guarantee: str) -> None:
    topic, file = lab.topic(max_message_bytes="1000"), tmp_path / "in.txt"
    file.write_text("x" * 5_000 + "\n")
    _, task = follow(lab, file, topic, guarantee, **TOLERANT)
    until(lambda: total(task, "failures") == 1, what=task.last_words)
    set_limit(lab.servers, topic, 100_000)

    def another() -> bool:
        seen = total(task, "read")
        with file.open("a") as f:
            f.write("y" * 5_000 + "\n")
        until(lambda: total(task, "read") > seen, what=task.last_words)
        return total(task, "written") > 0

    until(another, what=task.last_words)  # a limit is asked for again after some seconds
    task.stop()
    assert set(lab.values(topic)) == {"y" * 5_000}


@MODES
def test_records_that_a_topic_does_not_take_are_found_among_others(lab: Lab, guarantee: str) -> None:
    """A compacted topic refuses a whole batch for one record without a key."""
    topic, dlq = lab.topic(cleanup_policy="compact"), lab.topic("dlq")
    good = [{"value": f"v{n}", "key": f"k{n}"} for n in range(300)]
    script = [[*good[:100], "bad0", *good[100:200], "bad1", "bad2", *good[200:]], [{"value": "last", "key": "l"}]]
    more = {**TOLERANT, "delivery.guarantee": guarantee, "errors.deadletterqueue.topic.name": dlq}
    _, task = lab.source(script, topic, **more)
    lab.journal.count("commit", 2)
    task.stop()
    values = lab.values(topic)
    last = {v: n for n, v in enumerate(values)}
    assert sorted(last, key=last.__getitem__) == [*(g["value"] for g in good), "last"]
    if guarantee == "exactly-once":
        assert len(values) == 301
    assert lab.values(dlq) == ["bad0", "bad1", "bad2"]
    assert (total(task, "failures"), total(task, "written")) == (3, 301)


@MODES
def test_a_record_that_its_topic_does_not_take_fails_the_task_by_name(lab: Lab, guarantee: str) -> None:
    topic = lab.topic(cleanup_policy="compact")
    script = [[{"value": "v", "key": "k"}, "bad", {"value": "w", "key": "k"}]]
    _, task = lab.source(script, topic, **{"delivery.guarantee": guarantee})
    message = failed(task)
    assert "record 1 of a batch" in message
    assert f"Writing a record of 71 bytes to topic '{topic}' partition 0" in message


@MODES
def test_a_partition_that_a_topic_gets_meanwhile_is_written_to(lab: Lab, guarantee: str) -> None:
    topic = lab.topic()
    script = [[{"value": "a", "partition": 0}], [{"value": "b", "partition": 3}, {"value": "c", "partition": 0}]]
    _, task = lab.source(script, topic, **{**TOLERANT, "delivery.guarantee": guarantee})
    lab.journal.count("commit", 1)
    grow(lab.servers, topic, 4)
    lab.journal.count("commit", 2)
    task.stop()
    assert sorted((r.partition, r.value) for r in lab.records(topic)) == [(0, b"a"), (0, b"c"), (3, b"b")]
    assert total(task, "failures") == 0


@MODES
def test_a_partition_that_does_not_come_is_the_failure_of_its_record(lab: Lab, guarantee: str) -> None:
    topic, dlq = lab.topic(), lab.topic("dlq")
    script = [["a", {"value": "lost", "partition": 3}, {"value": "b", "partition": 0}]]
    more = {"producer.override.max.block.ms": "300", "errors.deadletterqueue.topic.name": dlq}
    _, task = lab.source(script, topic, **{**TOLERANT, "delivery.guarantee": guarantee}, **more)
    lab.journal.count("commit", 1)
    line = task.await_log("Executing stage 'KAFKA_PRODUCE'")
    task.stop()
    assert f"Partition 3 of topic '{topic}' does not exist: the topic's partition count is still 1 " in line
    assert (lab.values(topic), lab.values(dlq)) == (["a", "b"], ["lost"])
    assert total(task, "failures") == 1


def test_dead_letters_of_a_sink_fit_the_batches_of_their_queue(lab: Lab) -> None:
    topic, dlq = lab.topic(), lab.topic("dlq", max_message_bytes="10000")
    lab.produce(topic, *(f"boom{n:096d}" for n in range(2_000)))
    refusing = {"transforms": "f", "transforms.f.type": "scripted_steps:Refusing", "transforms.f.on": "*"}
    name, task = lab.sink(topic, **refusing, **{"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dlq})
    lab.wait_committed(name, topic, 2_000)
    task.stop()
    assert lab.values(dlq) == [f"boom{n:096d}" for n in range(2_000)]


@MODES
def test_offsets_fit_the_batches_of_their_topic(lab: Lab, guarantee: str) -> None:
    topic, offsets = lab.topic(), lab.topic("offsets", cleanup_policy="compact", max_message_bytes="2000")
    wide = json.dumps({"p": "x" * 1_000})
    name, task = lab.source(
        [["a"], ["b"]], topic, partition=wide, **{"delivery.guarantee": guarantee, "offsets.storage.topic": offsets}
    )
    lab.journal.count("commit", 2)
    task.stop()
    assert lab.values(topic) == ["a", "b"]
    assert len(lab.offset_records(name, offsets)) == 2
