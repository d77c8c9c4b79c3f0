"""A sink task in this process: paused and resumed under way, and what it tells of trouble."""

import os
from pathlib import Path

import pytest

from penstock_runtime.kafka.status_topic import State
from penstock_runtime.sink import stalled_partitions

from ..lab import Lab
from ..reading import create, delete
from ..running import new_name, until
from .task_on_thread import Task


def test_what_was_written_is_committed_before_a_pause_is_reported_and_nothing_is_lost_or_doubled(
    lab: Lab, tmp_path: Path
) -> None:
    topic = lab.topic()
    spec = lab.spec(lab.sink_manifest(topic))
    with Task(spec, tmp_path) as task:
        task.until_state(State.RUNNING)
        lab.produce(topic, "a", "b")
        lab.journal.values(2)
        task.paused.set()
        task.until_state(State.PAUSED)
        assert lab.committed(spec.connector, topic) == 2
        lab.produce(topic, "c")
        task.paused.clear()
        task.until_state(State.RUNNING)
        assert lab.journal.values(3) == ["a", "b", "c"]
    assert lab.committed(spec.connector, topic) == 3


def test_records_that_the_client_does_not_bring_are_asked_for_again(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stalled_partitions, "_SILENCE", 1.0)
    topic = lab.topic()
    spec = lab.spec(lab.sink_manifest(topic))
    with Task(spec, tmp_path) as task:
        lab.produce(topic, "a")
        assert lab.journal.values(1) == ["a"]
        task.lose_partitions()
        lab.produce(topic, "b")
        assert lab.journal.values(2) == ["a", "b"]


def test_records_that_a_client_does_not_bring_when_its_brokers_are_back_are_soon_asked_for(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stalled_partitions, "_RETURN", 1.0)
    monkeypatch.setattr(stalled_partitions, "_SILENCE", 3600.0)
    topic = lab.topic()
    with Task(lab.spec(lab.sink_manifest(topic)), tmp_path) as task:
        lab.produce(topic, "a")
        assert lab.journal.values(1) == ["a"]
        task.lose_partitions()
        lab.produce(topic, "b")
        task.see_brokers_away()
        assert lab.journal.values(2) == ["a", "b"]


def test_a_topic_that_is_deleted_keeps_a_task_neither_from_pausing_nor_from_continuing(
    lab: Lab, tmp_path: Path
) -> None:
    topic, other = lab.topic(), lab.topic()
    spec = lab.spec(lab.sink_manifest(f"{topic},{other}", commits="retriable"))  # the first two times
    with Task(spec, tmp_path) as task:
        lab.produce(topic, "a")
        lab.journal.count("commit", 2)
        delete(lab.servers, topic)  # what was written of it is not committed yet
        task.paused.set()
        task.until_state(State.PAUSED)
        task.paused.clear()
        task.until_state(State.RUNNING)
        lab.produce(other, "b")
        assert lab.journal.values(2) == ["a", "b"]


def test_a_topic_that_is_deleted_while_a_batch_fails_does_not_hold_up_the_other_topics(
    lab: Lab, tmp_path: Path
) -> None:
    topic, other = lab.topic(), lab.topic()
    spec = lab.spec(lab.sink_manifest(f"{topic},{other}"))
    task = Task(spec, tmp_path)
    task.fail_once(lambda: delete(lab.servers, topic))  # what was written of it is not committed yet
    with task:
        lab.produce(topic, "a")
        lab.journal.values(1)
        lab.produce(other, "b")
        assert lab.journal.values(2) == ["a", "b"]
    assert lab.committed(spec.connector, other) == 1


def test_what_a_sink_that_began_at_the_end_keeps_back_is_read_again_after_a_batch_that_failed(
    lab: Lab, tmp_path: Path
) -> None:
    topic = lab.topic()
    lab.produce(topic, "before")
    spec = lab.spec(lab.sink_manifest(topic, commits="nothing", **{"consumer.override.auto.offset.reset": "latest"}))
    task = Task(spec, tmp_path)
    task.fail_once(lambda: None)
    with task:
        task.until_state(State.RUNNING)
        lab.produce(topic, "a")
        lab.journal.values(1)
        lab.produce(topic, "b")
        assert lab.journal.values(3) == ["a", "a", "b"]


def test_trouble_with_a_topic_is_over_when_the_topic_is_there_though_it_is_empty(lab: Lab, tmp_path: Path) -> None:
    topic, other = lab.topic(), lab.topic()
    resource = lab.sink_manifest(f"{topic},{other}", **{"consumer.override.metadata.max.age.ms": "300"})
    with Task(lab.spec(resource), tmp_path) as task:
        lab.produce(topic, "a")
        lab.journal.values(1)
        delete(lab.servers, topic)
        task.until_trouble(f"Waiting for topics that do not exist, or that may not be read: {topic}")
        create(lab.servers, topic)
        task.until_trouble(None)


def test_the_wait_for_topics_is_over_before_their_first_batch_is_written(lab: Lab, tmp_path: Path) -> None:
    topic, other = lab.topic(), new_name("later")
    resource = lab.sink_manifest(
        f"{topic},{other}", out=str(tmp_path / "out"), **{"consumer.override.metadata.max.age.ms": "300"}
    )
    os.mkfifo(tmp_path / "out")  # opening it takes until somebody reads
    with Task(lab.spec(resource), tmp_path) as task:
        task.until_trouble(f"Waiting for topics that do not exist, or that may not be read: {other}")
        create(lab.servers, other)
        lab.produce(other, "a")
        task.until_trouble(None)
        assert task.news.summaries == []
        with (tmp_path / "out").open() as out:
            assert out.readline() == f"{other} 0 0\n"


@pytest.mark.slow
def test_dead_letters_that_kafka_does_not_take_are_counted_and_the_batch_waits_for_them(
    lab: Lab, tmp_path: Path
) -> None:
    topic, dlq = lab.topic(), lab.topic("dlq")
    lab.produce(topic, "a", "boom")
    away = {
        "producer.override.bootstrap.servers": "127.0.0.1:1",
        "producer.override.delivery.timeout.ms": "300",
        "producer.override.linger.ms": "0",
    }
    more = {"value.converter": "scripted_steps:Picky", "value.converter.on": "boom", "errors.tolerance": "all"}
    spec = lab.spec(lab.sink_manifest(topic, **more, **{"errors.deadletterqueue.topic.name": dlq}))
    spec = spec.model_copy(update={"config": {**spec.config, **away}})  # gone since the task was planned
    with Task(spec, tmp_path) as task:
        until(lambda: len(task.news.summaries) > 1, what=lambda: str(task.news.troubles))
        lost = task.news.summaries[0]
        assert (lost.dead_letters, lost.dead_letters_lost, lost.read) == (1, 1, 0)
        # It is reported after the counts, and over for a moment before each try.
        until(lambda: f"cannot write records to the dead letter queue '{dlq}' yet" in str(task.news.troubles[-1]))
        assert lab.journal.of("put") == []  # what follows a write may never come again
    assert lab.committed(spec.connector, topic) is None
