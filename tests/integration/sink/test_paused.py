"""A sink task in this process: paused and resumed under way, and what it tells of trouble."""

import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock import RetriableError
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink import stall_detector
from penstock_runtime.sink.commit_schedule import CommitSchedule
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.task import SinkTask

from ..lab import Lab
from ..reading import create, delete
from ..running import new_name, until


class News:
    """Reports, kept."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.troubles: list[str | None] = []
        self.summaries: list[Summary] = []

    def state(self, state: State, *, trace: str | None = None) -> None:
        self.states.append(state)

    def batch(self, summary: Summary, *, seconds: float, on_spark: bool) -> None:
        self.summaries.append(summary)

    def committed(self) -> None: ...

    def partitions(self, number: int) -> None: ...

    def lag(self, records: int | None) -> None: ...

    def active(self, topics: list[str]) -> None: ...

    def trouble(self, message: str | None) -> None:
        if [message] != self.troubles[-1:]:
            self.troubles.append(message)

    def spark(self, *, up: bool) -> None: ...


class Task:
    """A sink task on a thread of this process."""

    def __init__(self, spec: TaskSpec, folder: Path) -> None:
        self.news = News()
        self.paused, self._stopping = threading.Event(), threading.Event()
        setup = SinkContext.of(spec, slots_dir=folder)
        fence = SinkFence(setup.at_least_once_fence(), StatusWriter(setup.shared, client_id="test-status"))
        self._task = SinkTask(setup, fence, self.news, stopping=self._stopping, paused=self.paused, spark=None)
        self._thread = threading.Thread(target=self._live, daemon=True)

    def _live(self) -> None:
        try:
            self._task.run()
        finally:
            self._task.close()

    def lose_partitions(self) -> None:
        """Let the client fetch nothing more, as if it had missed that a broker is back. It is its thread's alone."""
        consumer, lost = self._task._consumer, threading.Event()
        consume = consumer.consume

        def losing(most: int, timeout: float) -> Any:
            if not lost.is_set():
                consumer._consumer.assign([])
                lost.set()
            return consume(most, timeout)

        consumer.consume = losing  # type: ignore[method-assign]
        assert lost.wait(20)

    def see_brokers_away(self) -> None:
        """Let the client tell, for one turn, that its brokers were away."""
        consumer, told = self._task._consumer, threading.Event()
        consume = consumer.consume

        def telling(most: int, timeout: float) -> Any:
            found = consume(most, timeout)
            consumer._error = None if told.is_set() else "brokers are away"
            told.set()
            return found

        consumer.consume = telling  # type: ignore[method-assign]
        assert told.wait(20)

    def fail_once(self, before: Callable[[], None]) -> None:
        """Let the next batch but the first fail, as Spark's do when a topic goes; nothing is committed until then."""
        self._task._offsets._schedule = CommitSchedule(3600.0, 3600.0, time.monotonic())
        process = self._task._process
        put, puts = process.put, itertools.count()

        def failing(consumed: Sequence[Consumed]) -> Summary:
            if next(puts) == 1:
                before()
                raise RetriableError("nothing came")
            return put(consumed)

        process.put = failing  # type: ignore[method-assign]

    def __enter__(self) -> "Task":
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._stopping.set()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def until_state(self, state: State) -> None:
        until(
            lambda: self.news.states[-1:] == [state],
            seconds=20,
            what=lambda: f"{self.news.states}, {self.news.troubles}",
        )

    def until_trouble(self, text: str | None) -> None:
        until(lambda: self.news.troubles[-1:] == [text], seconds=20, what=lambda: str(self.news.troubles))


def test_what_was_written_is_committed_before_a_pause_is_told_and_nothing_is_lost_or_doubled(
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


def test_records_that_the_client_does_not_bring_are_asked_for_anew(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stall_detector, "_SILENCE", 1.0)
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
    monkeypatch.setattr(stall_detector, "_RETURN", 1.0)
    monkeypatch.setattr(stall_detector, "_SILENCE", 3600.0)
    topic = lab.topic()
    with Task(lab.spec(lab.sink_manifest(topic)), tmp_path) as task:
        lab.produce(topic, "a")
        assert lab.journal.values(1) == ["a"]
        task.lose_partitions()
        lab.produce(topic, "b")
        task.see_brokers_away()
        assert lab.journal.values(2) == ["a", "b"]


def test_a_topic_that_is_deleted_keeps_a_task_neither_from_pausing_nor_from_going_on(lab: Lab, tmp_path: Path) -> None:
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
        until(lambda: f"could not be written to the dead letter queue '{dlq}' yet" in str(task.news.troubles[-1]))
        assert lab.journal.of("put") == []  # what follows a write may never come again
    assert lab.committed(spec.connector, topic) is None
