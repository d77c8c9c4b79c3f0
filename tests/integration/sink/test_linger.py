"""`batch.linger.ms` of a sink: records that trickle in wait in the client for a moment, since each write costs.

The clock of these tasks stands still unless a test moves it.
"""

from pathlib import Path
from typing import Any

import pytest

from penstock_cli.embedded import EmbeddedKafka
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.kafka.status_topic import State

from ..journal import Journal
from ..lab import STRING, Lab
from ..running import Processes, manifest, new_name, next_life, until
from .task_on_thread import Task

LINGER = 60.0


class Clock:
    """Seconds, as a test says."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lingering(lab: Lab, topic: str) -> TaskSpec:
    return lab.spec(lab.sink_manifest(topic, **{"batch.linger.ms": f"{LINGER * 1000:.0f}"}))


def puts(journal: Journal) -> list[list[Any]]:
    """The values of each write."""
    return [[record[3] for record in event["records"]] for event in journal.of("put")]


def test_the_first_record_is_written_immediately_and_those_after_it_together_a_fixed_time_later(
    lab: Lab, tmp_path: Path, clock: Clock
) -> None:
    topic = lab.topic()
    with Task(lingering(lab, topic), tmp_path, clock) as task:
        lab.produce(topic, "a")
        lab.journal.values(1)
        lab.produce(topic, "b")
        task.until_gathered(1)
        clock.now += LINGER - 1  # what comes meanwhile makes it no longer
        lab.produce(topic, "c")
        task.until_gathered(2)
        clock.now += 1
        lab.journal.values(3)
        assert puts(lab.journal) == [["a"], ["b", "c"]]


def test_what_fills_a_write_is_not_waited_for_and_what_trickles_in_after_it_is(
    lab: Lab, tmp_path: Path, clock: Clock
) -> None:
    topic, many = lab.topic(), [f"{n}" for n in range(3_000)]
    with Task(lingering(lab, topic), tmp_path, clock) as task:
        lab.produce(topic, "a")
        lab.journal.values(1)
        lab.produce(topic, *many)
        written = len(lab.journal.values(2_001))  # the last thousand of them may be taken for a trickle
        clock.now += LINGER
        assert lab.journal.values(3_001) == ["a", *many], written
        clock.now += LINGER
        lab.produce(topic, "b")
        lab.journal.values(3_002)
        lab.produce(topic, "c")
        task.until_gathered(1)
        assert puts(lab.journal)[-1] == ["b"]


def test_a_pause_leaves_what_was_gathered_to_be_written_immediately_when_it_is_over(
    lab: Lab, tmp_path: Path, clock: Clock
) -> None:
    topic = lab.topic()
    spec = lingering(lab, topic)
    with Task(spec, tmp_path, clock) as task:
        lab.produce(topic, "a")
        lab.journal.values(1)
        lab.produce(topic, "b")
        task.until_gathered(1)
        task.paused.set()
        task.until_state(State.PAUSED)
        assert lab.committed(spec.connector, topic) == 1
        task.paused.clear()
        assert lab.journal.values(2) == ["a", "b"]


def test_a_stop_leaves_what_was_gathered_to_the_next_life(lab: Lab, tmp_path: Path, clock: Clock) -> None:
    topic = lab.topic()
    spec = lingering(lab, topic)
    with Task(spec, tmp_path, clock) as task:
        lab.produce(topic, "a")
        lab.journal.values(1)
        lab.produce(topic, "b")
        task.until_gathered(1)
    assert lab.committed(spec.connector, topic) == 1
    with Task(next_life(spec), tmp_path, clock):
        assert lab.journal.values(2) == ["a", "b"]
    assert lab.committed(spec.connector, topic) == 2


def test_a_write_that_is_tried_again_is_not_waited_for(lab: Lab, tmp_path: Path, clock: Clock) -> None:
    topic = lab.topic()
    task = Task(lingering(lab, topic), tmp_path, clock)
    task.fail_once(lambda: None)
    with task:
        lab.produce(topic, "a")
        lab.journal.values(1)
        lab.produce(topic, "b")
        task.until_gathered(1)
        clock.now += LINGER  # now "b" fails, once
        assert lab.journal.values(2) == ["a", "b"]
        assert "nothing came" in task.news.troubles


@pytest.mark.slow
def test_what_was_gathered_while_the_broker_became_unavailable_is_written_and_committed_once(
    own_kafka: EmbeddedKafka, processes: Processes, journal: Journal, tmp_path: Path, clock: Clock
) -> None:
    lab = Lab(own_kafka.bootstrap_servers, processes, journal)
    topic = lab.topic()
    spec = lingering(lab, topic)
    with Task(spec, tmp_path, clock) as task:
        lab.produce(topic, "a")
        lab.journal.values(1)
        clock.now += LINGER / 2
        lab.wait_committed(spec.connector, topic, 1)
        lab.produce(topic, "b", "c")
        task.until_gathered(2)
        own_kafka.kill()
        clock.now += LINGER / 2
        lab.journal.values(3)
        own_kafka.start()
        until(lambda: lab.committed(spec.connector, topic) == 3, what=lambda: str(task.news.troubles))
        lab.produce(topic, "d")
        clock.now += LINGER
        assert lab.journal.values(4) == ["a", "b", "c", "d"]


def test_a_sink_that_stores_its_offsets_loses_and_doubles_nothing_of_what_was_gathered_when_it_was_killed(
    lab: Lab, tmp_path: Path
) -> None:
    topic, folder = lab.topic(), tmp_path / "store"
    folder.mkdir()
    given = {**STRING, "journal": lab.journal.path, "folder": str(folder), "batch.linger.ms": f"{LINGER * 1000:.0f}"}
    spec = lab.spec(manifest(new_name("store"), "storing_sinks:StoringSink", given, topics=topic))
    task = lab.processes.task(spec)
    lab.produce(topic, "a")
    lab.journal.count("stored")
    lab.produce(topic, "b", "c")
    until(lambda: task.last("lag") == 2, what=task.last_words)
    task.kill()
    task = lab.processes.task(next_life(spec))
    lab.wait_committed(spec.connector, topic, 3)
    task.stop()
    assert (folder / f"{topic}-0.lines").read_text().split() == ["0", "1", "2"]
