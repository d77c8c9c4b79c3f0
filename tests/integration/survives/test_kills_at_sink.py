"""`kill -9` under load: a sink's file holds every record, in whole lines; a torn one stands by itself."""

import signal
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from ..checking import seeded
from ..reading import create, produce
from ..running import Processes, Running, manifest, new_name, next_life, specs, until

LENGTH = 40
PORTION = 30_000
PARTITIONS = 3


def assert_at_least_once(file: Path, count: int) -> int:
    """Every record of 0 to `count` is there as a whole line. How many lines are pieces of one."""
    whole = {b"%0*d" % (LENGTH, n) for n in range(count)}
    lines = file.read_bytes().split(b"\n")
    assert lines.pop() == b""
    torn = [line for line in lines if line not in whole]
    assert whole <= set(lines)
    for line in torn:
        assert len(line) < LENGTH, line
        assert line.isdigit(), line
    return len(torn)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("victim", ["task", "worker", "jvm"])
def test_kills_leave_every_record_in_the_file(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, rounds: int, victim: str
) -> None:
    random, file, written = seeded(), tmp_path / "out", 0
    create(kafka, topic, PARTITIONS)
    many = victim != "task"  # what goes to Spark is a backlog of 100,000 records
    resource = manifest(
        new_name(),
        "FileStreamSink",
        topics=topic,
        file=file,
        value_converter="StringConverter",
        spark="Eager",
        batch_max_records=20_000,
        consumer_override_max_poll_records=200,
    )
    spec = specs(resource, kafka)[0]
    task = processes.task(spec)
    for _ in range(rounds if victim != "jvm" else max(3, rounds // 3)):
        portion = 150_000 if many else PORTION
        if many:
            task.await_log("Spark is up")
            task.process.send_signal(signal.SIGSTOP)  # else it would never come to be so far behind
        produce(kafka, topic, (b"%0*d" % (LENGTH, n) for n in range(written, written + portion)))
        task.process.send_signal(signal.SIGCONT)
        written += portion
        enough = size(file) + random.randrange(1, portion * LENGTH // 2)
        until(lambda: size(file) > enough, what=task.last_words, moving=lambda: size(file))  # noqa: B023
        if many:
            until(task.workers, what=task.last_words)
        if kill(task, victim):
            spec = next_life(spec)
            task = processes.task(spec)
    until(lambda: committed(kafka, spec.connector, topic) == written, what=task.last_words, moving=lambda: size(file))
    task.stop()
    print(f"{assert_at_least_once(file, written)} torn lines, {file.stat().st_size // (LENGTH + 1) - written} again")


def size(file: Path) -> int:
    """How large it is; 0 when it is not there yet."""
    return file.stat().st_size if file.exists() else 0


def kill(task: Running, victim: str) -> bool:
    """Kill it; whether the task needs a new life."""
    if victim == "task":
        task.kill()
        return True
    parts = until(task.workers if victim == "worker" else task.jvms)
    parts[0].kill()
    if victim == "worker":
        return False
    assert task.await_exit() == 4
    return True


def committed(kafka: str, connector: str, topic: str) -> int:
    """How many records of the topic lie before the offsets of the connector's group."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": f"connect-{connector}"})
    try:
        found = consumer.committed([TopicPartition(topic, p) for p in range(PARTITIONS)], timeout=10)
        return sum(max(0, f.offset) for f in found)
    finally:
        consumer.close()
