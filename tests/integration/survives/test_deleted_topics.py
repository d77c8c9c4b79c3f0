"""A topic that is deleted under way."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer

from ..lab import Lab
from ..reading import Reader, create, delete, produce, read_all
from ..running import Processes, manifest, new_name, specs, until


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_source_continues_when_its_topic_is_deleted_and_the_broker_may_make_it_again(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, guarantee: str
) -> None:
    create(kafka, topic)
    file = tmp_path / "lines"
    file.write_text("before\n")
    resource = manifest(
        new_name(),
        "FileStreamSource",
        file=file,
        topic=topic,
        value_converter="StringConverter",
        delivery_guarantee=guarantee,
    )
    task = processes.task(specs(resource, kafka)[0])
    with Reader(kafka, topic) as reader:
        reader.count(1)
    delete(kafka, topic)
    until(lambda: topic not in topics(kafka))
    with file.open("a") as more:
        more.write("after\n")
    until(lambda: topic in topics(kafka), what=task.last_words, seconds=20)
    with Reader(kafka, topic) as reader:
        reader.count(1, seconds=20)
    task.stop()
    assert [r.value for r in read_all(kafka, topic)] == [b"after"]


def test_a_sink_waits_for_a_deleted_topic_and_reads_the_new_one_from_its_beginning(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    create(kafka, topic)
    produce(kafka, topic, [b"old 0", b"old 1", b"old 2"])
    file = tmp_path / "out"
    task = processes.task(
        specs(
            manifest(
                new_name(),
                "FileStreamSink",
                topics=topic,
                file=file,
                value_converter="StringConverter",
                consumer_override_metadata_max_age_ms=500,
            ),
            kafka,
        )[0]
    )
    until(lambda: file.exists() and file.read_text().count("\n") == 3, what=task.last_words)
    delete(kafka, topic)
    until(lambda: task.trouble, what=task.last_words)
    assert task.process.poll() is None
    create(kafka, topic)
    produce(kafka, topic, [b"new 0", b"new 1"])
    until(lambda: file.read_text().endswith("new 1\n"), what=task.last_words)
    until(lambda: task.trouble is None, what=task.last_words)
    assert file.read_text().splitlines() == ["old 0", "old 1", "old 2", "new 0", "new 1"]
    task.stop()


@pytest.mark.parametrize("count", [2, 3, 2000])
def test_a_sink_reads_a_topic_that_was_recreated_immediately_from_its_beginning(
    lab: Lab, tmp_path: Path, count: int
) -> None:
    topic, file = lab.topic(), tmp_path / "out"
    lab.produce(topic, "old 0", "old 1", "old 2")
    resource = manifest(
        new_name(),
        "FileStreamSink",
        topics=topic,
        file=file,
        value_converter="StringConverter",
        consumer_override_metadata_max_age_ms=10_000,
    )
    name, task = lab.start(resource)
    lab.wait_committed(name, topic, 3)
    delete(lab.servers, topic)
    until(lambda: topic not in topics(lab.servers))
    create(lab.servers, topic)
    expected = [f"new {n}" for n in range(count)]
    lab.produce(topic, *expected)
    until(lambda: set(expected) <= set(file.read_text().splitlines()), what=task.last_words)  # in which order ever
    lab.wait_committed(name, topic, count)
    task.stop()


def test_a_task_whose_topic_goes_before_its_offsets_are_committed_continues(lab: Lab) -> None:
    topic, other = lab.topic(), lab.topic()
    resource = lab.sink_manifest(f"{topic},{other}", commits="retriable")  # the first two times
    _, task = lab.start(resource)
    lab.produce(topic, "a")
    lab.journal.count("commit")
    delete(lab.servers, topic)
    group = f"connect-{resource['metadata']['name']}"
    task.await_log(f"Committing offsets to group '{group}' at {lab.servers}: these partitions were deleted: {topic}-0")
    lab.produce(other, "b")
    assert lab.journal.values(2) == ["a", "b"]
    task.stop()


def topics(kafka: str) -> set[str]:
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "topics", "allow.auto.create.topics": False})
    try:
        return set(consumer.list_topics(timeout=10).topics)
    finally:
        consumer.close()
