"""`kill -9` under load: in Kafka each record of a source stands exactly once, in order."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ..checking import assert_counts_up, assert_exactly_once, seeded
from ..reading import Reader, create
from ..running import Processes, manifest, new_name, next_life, specs, until

NUMBERS = "numbers_source:Numbers"
PARTITIONS = 4


class Load:
    """A file to which lines are added whenever its reader comes near the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lines = 0

    def keep_ahead_of(self, read: int) -> None:
        if self.lines - read < 30_000:
            with self._path.open("a") as file:
                file.writelines(f"{n}\n" for n in range(self.lines, self.lines + 40_000))
            self.lines += 40_000


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_killed_task_process_leaves_each_line_exactly_once(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, rounds: int
) -> None:
    random, load = seeded(), Load(tmp_path / "lines")
    load.keep_ahead_of(0)
    create(kafka, topic)
    spec = specs(
        manifest(
            new_name(),
            "FileStreamSource",
            file=tmp_path / "lines",
            topic=topic,
            batch_max_records=500,
            value_converter="StringConverter",
            spark="Eager",
        ),
        kafka,
    )[0]
    with Reader(kafka, topic) as reader:
        for _ in range(rounds):
            task = processes.task(spec)
            wanted = len(reader.records) + random.randrange(1, 20_000)
            while len(reader.records) < wanted:
                load.keep_ahead_of(len(reader.records))
                reader.count(min(wanted, len(reader.records) + 5_000))
            task.kill()
            spec = next_life(spec)
        task = processes.task(spec)
        reader.until(lambda: len(reader.records) >= load.lines)
        task.stop()
        values = [int(v or b"") for v in [r.value for r in reader.to_end()]]
    assert_counts_up(values, "the topic")
    assert len(values) == load.lines


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("victim", ["worker", "jvm"])
def test_killed_parts_of_spark_leave_each_record_exactly_once(
    kafka: str, topic: str, processes: Processes, rounds: int, victim: str
) -> None:
    random = seeded()
    create(kafka, topic, PARTITIONS)
    resource = manifest(
        new_name(),
        NUMBERS,
        topic=topic,
        partitions=PARTITIONS,
        batch_max_records=random.choice([400, 4_000]),
        value_converter="StringConverter",
        spark="Eager",
    )
    spec = specs(resource, kafka)[0]
    task = processes.task(spec)
    with Reader(kafka, topic) as reader:
        for _ in range(rounds if victim == "worker" else max(3, rounds // 3)):
            task.await_batch_on_spark()
            reader.to_end()
            reader.count(len(reader.records) + random.randrange(1, 4_000))
            if victim == "worker":
                random.choice(until(lambda: [*task.workers(), *task.daemons()])).kill()  # noqa: B023
            else:
                task.jvms()[0].kill()
                assert task.await_exit() == 4
                spec = next_life(spec)
                task = processes.task(spec)
            reader.count(len(reader.to_end()) + 1)
        task.stop()
        assert_exactly_once(reader.to_end(), PARTITIONS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_change_of_tasks_max_between_killed_lives_leaves_each_record_exactly_once(
    kafka: str, topic: str, processes: Processes, rounds: int, unique_name: Callable[[str], str]
) -> None:
    random, name = seeded(), new_name()
    create(kafka, topic, PARTITIONS)
    with Reader(kafka, topic) as reader:
        for number in range(max(4, rounds // 2)):
            resource = manifest(
                name,
                NUMBERS,
                topic=topic,
                partitions=PARTITIONS,
                batch_max_records=random.choice([40, 400]),
                value_converter="StringConverter",
                tasks_max=(3, 1, 2, 4)[number % 4],
            )
            run = processes.run([resource], kafka)
            reader.count(len(reader.to_end()) + random.randrange(1, 3_000))
            if random.random() < 0.5:
                run.kill()  # the tasks live on for a moment: they notice, and stop
            else:
                run.kill_all()
        run = processes.run([resource], kafka)
        run.await_log('"RUNNING"')  # records may still be those of tasks before
        reader.count(len(reader.to_end()) + 100)
        run.stop()
        assert_exactly_once(reader.to_end(), PARTITIONS)
