"""A sink that pauses partitions by its context: they are held, the others go on, and nothing is lost or comes twice."""

from pathlib import Path

import pytest

from penstock_runtime.kafka.status_topic import State

from ..lab import STRING, Lab
from ..reading import produce
from ..running import manifest, new_name
from .task_on_thread import Task


@pytest.mark.slow
def test_partitions_that_the_sink_pauses_are_held_while_others_continue_and_come_once_when_it_resumes_them(
    lab: Lab, tmp_path: Path
) -> None:
    away, good = lab.topic(partitions=2), lab.topic()
    (tmp_path / away).touch()
    for partition in range(2):
        produce(lab.servers, away, [b"a", b"b", b"c"], partition=partition)
    config = {**STRING, "journal": lab.journal.path, "folder": str(tmp_path), "topics": f"{away},{good}"}
    name, task = lab.start(manifest(new_name("held"), "holding_sinks:HoldingSink", config))
    paused = lab.journal.count("paused", 2)
    assert sorted((e["partition"][1], e["offset"]) for e in paused) == [(0, 0), (1, 0)]
    produce(lab.servers, away, [b"d"], partition=0)
    lab.produce(good, "x", "y")
    lab.wait_committed(name, good, 2)
    assert {r[0] for r in lab.journal.put(2)} == {good}
    assert [lab.committed(name, away, partition) for partition in range(2)] == [0, 0]
    (tmp_path / away).unlink()
    lab.wait_committed(name, away, 4, 0)
    lab.wait_committed(name, away, 3, 1)
    task.stop()
    put = [(r[1], r[2], r[3]) for r in lab.journal.put(9) if r[0] == away]
    assert sorted(put) == [(0, n, value) for n, value in enumerate("abcd")] + [(1, n, v) for n, v in enumerate("abc")]


def test_a_task_that_starts_again_reads_what_was_paused(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    (tmp_path / topic).touch()
    lab.produce(topic, "a", "b")
    config = {**STRING, "journal": lab.journal.path, "folder": str(tmp_path), "topics": topic}
    given = manifest(new_name("held"), "holding_sinks:HoldingSink", config)
    _, task = lab.start(given)
    lab.journal.count("paused")
    task.stop()
    (tmp_path / topic).unlink()
    name, task = lab.start(given)
    lab.wait_committed(name, topic, 2)
    task.stop()
    assert lab.journal.values(2) == ["a", "b"]


def test_positions_that_a_sink_sets_between_batches_hold_from_the_first_batch_on_and_over_a_pause(
    lab: Lab, tmp_path: Path
) -> None:
    topic, position = lab.topic(), tmp_path / "position"
    position.write_text("3")
    lab.produce(topic, "a", "b", "c", "d", "e")
    config = {**STRING, "journal": lab.journal.path, "position": str(position), "topics": topic}
    with Task(lab.spec(manifest(new_name("set"), "attending_sinks:AttendingSink", config)), tmp_path) as task:
        assert lab.journal.values(2) == ["d", "e"]
        task.paused.set()
        task.until_state(State.PAUSED)
        (tmp_path / "new").write_text("1")
        (tmp_path / "new").rename(position)
        lab.journal.count("set", 2)
        task.paused.clear()
        assert lab.journal.values(6) == [*"de", *"bcde"]
