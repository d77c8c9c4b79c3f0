"""A file is rotated while its task is down, frozen, killed or cut off from Kafka: each line arrives exactly once."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from penstock_cli.embedded import EmbeddedKafka
from penstock_model.contracts.task_spec import TaskSpec

from ..checking import seeded
from ..lab import STRING, Lab
from ..pods import Pods, pods
from ..reading import Reader, create
from ..rotating import Rotated
from ..running import Processes, manifest, new_name, next_life, specs

__all__ = ["pods"]

WAYS = pytest.mark.parametrize("copies", [False, True], ids=["create", "copytruncate"])


def spec_of(kafka: str, topic: str, file: Path, **config: Any) -> TaskSpec:
    resource = manifest(new_name(), "FileStreamSource", {**STRING, "file": file, "topic": topic, **config})
    return specs(resource, kafka)[0]


def texts(reader: Reader, count: int) -> list[str]:
    reader.count(count)
    return [(r.value or b"").decode() for r in reader.to_end()]


@WAYS
@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_longer_file_in_place_of_the_one_that_was_read_is_read_from_its_beginning(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, copies: bool, guarantee: str
) -> None:
    file = Rotated(tmp_path / "app.log", copies=copies)
    file.append(1000)
    create(kafka, topic)
    spec = spec_of(kafka, topic, file.path, **{"delivery.guarantee": guarantee})
    with Reader(kafka, topic) as reader:
        task = processes.task(spec)
        reader.count(1000)
        task.stop()
        file.append(100)
        file.rotate(1100)
        task = processes.task(next_life(spec))
        assert texts(reader, 2200) == file.lines()
        task.stop()
    assert "is missing" not in task.log_text()


@WAYS
@pytest.mark.parametrize("kind", ["killed", "frozen"])
def test_several_rotations_between_two_looks_leave_each_line_exactly_once(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, copies: bool, kind: str
) -> None:
    file = Rotated(tmp_path / "app.log", copies=copies)
    file.append(500)
    create(kafka, topic)
    spec = spec_of(kafka, topic, file.path)
    with Reader(kafka, topic) as reader:
        task = processes.task(spec)
        reader.count(500)
        if kind == "frozen":
            os.kill(task.pid, signal.SIGSTOP)
        for _ in range(4):
            file.append(300)
            file.rotate(700)
        if kind == "frozen":
            os.kill(task.pid, signal.SIGCONT)
        else:
            task.kill()
            task = processes.task(next_life(spec))
        assert texts(reader, 4500) == file.lines()
        task.stop()


def test_a_file_rotated_in_both_ways_while_its_task_is_paused_leaves_each_line_exactly_once(
    pods: Pods, tmp_path: Path
) -> None:
    random, file = seeded(), Rotated(tmp_path / "app.log")
    file.append(500)
    topic = pods.lab.topic()
    config = {**STRING, "file": file.path, "topic": topic, "batch.max.records": 200}
    task = pods.start(manifest(new_name(), "FileStreamSource", config))
    with Reader(pods.lab.servers, topic) as reader:
        reader.count(500)
        for generation in range(2, 8, 2):
            file.append(300)  # a part of it may be read, a part may wait
            task.control(generation, "Paused")
            task.await_report("PAUSED", acted=generation)
            for _ in range(3):
                file.copies = random.choice([True, False])
                file.append(random.choice([0, 1, 300]))
                file.rotate(random.choice([0, 1, 400]))
            task.control(generation + 1, "Running")
            task.await_report("RUNNING", acted=generation + 1)
        file.append(1)
        assert texts(reader, len(file.lines())) == file.lines()
    task.process.stop()


@WAYS
def test_rotations_while_kafka_is_unavailable_leave_each_line_exactly_once(
    own_kafka: EmbeddedKafka, processes: Processes, tmp_path: Path, copies: bool
) -> None:
    file = Rotated(tmp_path / "app.log", copies=copies)
    file.append(500)
    servers = own_kafka.bootstrap_servers
    create(servers, "t")
    spec = spec_of(servers, "t", file.path)
    task = processes.task(spec)
    with Reader(servers, "t") as reader:
        reader.count(500)
    own_kafka.stop()
    file.append(10)  # a batch is in flight while the others come
    for _ in range(3):
        file.rotate(700)
    own_kafka.start()
    with Reader(servers, "t") as reader:
        assert texts(reader, 2610) == file.lines()
    task.stop()


def test_what_cannot_be_found_is_reported_with_its_names(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    file = Rotated(tmp_path / "app.log")
    file.append(1000)
    create(kafka, topic)
    spec = spec_of(kafka, topic, file.path)
    with Reader(kafka, topic) as reader:
        task = processes.task(spec)
        reader.count(1000)
        task.stop()
        file.rotate(1100)
        (tmp_path / "app.log.1").unlink()
        (tmp_path / "app.log.1.gz").write_bytes(b"as if compressed")
        task = processes.task(next_life(spec))
        assert texts(reader, 2100) == file.lines()
        task.stop()
    assert "is not the one that was read to byte 13000" in task.log_text()
    assert "app.log.1.gz (16 bytes)" in task.log_text()


@pytest.mark.soak
@pytest.mark.timeout(900)
@WAYS
def test_a_task_killed_while_its_file_is_rotated_leaves_each_line_exactly_once(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, rounds: int, copies: bool
) -> None:
    random, file = seeded(), Rotated(tmp_path / "app.log", copies=copies)
    file.append(100)
    create(kafka, topic)
    spec = spec_of(kafka, topic, file.path, **{"batch.max.records": 200})
    with Reader(kafka, topic) as reader:
        task = processes.task(spec)
        reader.count(100)
        for _ in range(rounds):
            wanted = min(len(reader.records) + random.randrange(1, 600), len(file.lines()))
            for _ in range(random.randrange(4)):
                file.rotate(random.choice([0, 1, 400]))
                file.append(random.choice([0, 1, 300]))
            reader.count(wanted)
            task.kill()
            spec = next_life(spec)
            for _ in range(random.randrange(3)):
                file.rotate(random.choice([0, 1, 400]))
                file.append(random.choice([0, 1, 300]))
            task = processes.task(spec)
        file.append(1)
        assert texts(reader, len(file.lines())) == file.lines()
        task.stop()


def test_the_position_is_written_as_by_kafka_connect_with_the_fingerprint_next_to_it(
    lab: Lab, tmp_path: Path, topic: str
) -> None:
    file = tmp_path / "in"
    file.write_text("a\nb\n")
    spec = spec_of(lab.servers, topic, file)
    task = lab.processes.task(spec)
    with Reader(lab.servers, topic) as reader:
        reader.count(2)
    task.stop()
    mine = f'["{spec.connector}",{{"filename":"{file}"'.encode()
    held = {r.key: r.value for r in lab.offset_records(spec.connector)}
    assert held[mine + b"}]"] == b'{"position":4}'
    beside = held[mine + b',"penstock":"fingerprint"}]']
    assert beside is not None
    assert beside.startswith(b'{"position":4,"file":0,"inode":')
