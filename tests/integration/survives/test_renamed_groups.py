"""The worker's `group.id`, with which transactional ids begin, is another in the next life: the old ids are fenced."""

from pathlib import Path

from ..checking import assert_exactly_once
from ..holding import PARTITIONS, Hold
from ..reading import Reader, create
from ..running import Processes, manifest, new_name, specs


def test_a_task_that_hangs_in_its_commit_while_the_group_is_renamed_commits_nothing_after_it(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    hold = Hold(tmp_path)
    create(kafka, topic, PARTITIONS)
    config = {"topic": topic, "partitions": PARTITIONS, "batch.max.records": 400, "value.converter": "StringConverter"}
    name = new_name()
    old = processes.task(
        specs(manifest(name, "numbers_source:Numbers", {**config, "hold": hold.path}), kafka, {"group.id": "before"})[0]
    )
    with Reader(kafka, topic) as reader:
        reader.count(1_000)
        hold.on([PARTITIONS - 1])
        hold.await_reader(PARTITIONS - 1)
        new = processes.task(specs(manifest(name, "numbers_source:Numbers", config), kafka, {"group.id": "after"})[0])
        reader.count(len(reader.to_end()) + 2_000)
        hold.off()
        assert old.await_exit() == 3
        reader.count(len(reader.to_end()) + 2_000)
        new.stop()
        assert_exactly_once(reader.to_end(), PARTITIONS)


def test_a_task_that_the_next_plan_under_another_group_does_not_have_commits_nothing_after_it(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    hold = Hold(tmp_path)
    create(kafka, topic, PARTITIONS)
    config = {"topic": topic, "partitions": PARTITIONS, "batch.max.records": 400, "value.converter": "StringConverter"}
    name = new_name()
    two = manifest(name, "numbers_source:Numbers", {**config, "hold": hold.path}, tasks_max=2)
    old = [processes.task(s) for s in specs(two, kafka, {"group.id": "before"})]
    with Reader(kafka, topic) as reader:
        reader.count(1_000)
        hold.on([PARTITIONS - 1])  # of the second task
        hold.await_reader(PARTITIONS - 1)
        new = processes.task(specs(manifest(name, "numbers_source:Numbers", config), kafka, {"group.id": "after"})[0])
        reader.count(len(reader.to_end()) + 2_000)
        hold.off()
        assert [task.await_exit() for task in old] == [3, 3]
        reader.count(len(reader.to_end()) + 2_000)
        new.stop()
        assert_exactly_once(reader.to_end(), PARTITIONS)
