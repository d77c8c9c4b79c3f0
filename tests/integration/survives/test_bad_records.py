"""What a sink meets: records that are no JSON, a disk that is full."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..reading import await_records, create, produce
from ..running import Processes, Running, manifest, new_name, specs, until

RECORDS = [b'{"n": 0}', b'{"n": 1', b"not json", b'{"n": 3}']


def start(kafka: str, processes: Processes, file: Path, topic: str, **config: Any) -> Running:
    settings = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false", **config}
    return processes.task(specs(manifest(new_name(), "FileStreamSink", settings, file=file, topics=topic), kafka)[0])


def test_malformed_json_fails_a_sink_by_default_and_the_record_is_named(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    create(kafka, topic)
    produce(kafka, topic, RECORDS)
    task = start(kafka, processes, tmp_path / "out", topic)
    task.await_state("FAILED")
    assert task.await_exit() == 1
    assert task.failure is not None
    assert f"{topic}-0 offset 1" in task.failure
    assert "VALUE_CONVERTER" in task.failure
    assert "errors.tolerance=all" in task.failure


def test_with_tolerance_all_malformed_json_goes_to_the_dead_letter_queue_and_the_others_move_on(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    create(kafka, topic)
    produce(kafka, topic, RECORDS)
    queue = f"dlq-{topic}"[:240]
    task = start(
        kafka,
        processes,
        tmp_path / "out",
        topic,
        **{
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": queue,
            "errors.deadletterqueue.topic.replication.factor": 1,
            "errors.deadletterqueue.context.headers.enable": "true",
        },
    )
    buried = await_records(kafka, queue, 2)
    assert [r.value for r in buried] == RECORDS[1:3]
    headers = [dict(r.headers) for r in buried]
    assert [h["__connect.errors.topic"] for h in headers] == [topic.encode()] * 2
    assert [h["__connect.errors.offset"] for h in headers] == [b"1", b"2"]
    file = tmp_path / "out"
    until(lambda: file.exists() and len(file.read_text().splitlines()) == 2)
    assert [line[-2] for line in file.read_text().splitlines()] == ["0", "3"]
    task.stop()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this machine mounts no file system: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_is_said_and_waited_for_and_nothing_is_lost_or_torn(
    kafka: str, topic: str, processes: Processes, small_disk: Path
) -> None:
    count = 10_000
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (200 << 10))
    create(kafka, topic)
    produce(kafka, topic, (b"%06d" % n for n in range(count)))
    file = small_disk / "out"
    task = start(
        kafka,
        processes,
        file,
        topic,
        **{
            "value.converter": "StringConverter",
            "sink.retry.delay.max.ms": 500,
            "consumer.override.max.poll.records": 500,
        },
    )
    said = until(lambda: task.trouble, what=task.last_words)
    assert "No space left on device" in said
    assert str(file) in said
    assert file.read_bytes().endswith(b"\n")
    assert task.process.poll() is None
    ballast.unlink()
    until(lambda: file.read_bytes().endswith(b"\n%06d\n" % (count - 1)), what=task.last_words)
    until(lambda: task.trouble is None, what=task.last_words)
    task.stop()
    assert file.read_text().splitlines() == [f"{n:06d}" for n in range(count)]


def test_a_sink_on_a_full_disk_stops_in_time(kafka: str, topic: str, processes: Processes, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(b"x" * (250 << 10))
    create(kafka, topic)
    produce(kafka, topic, (b"%06d" % n for n in range(10_000)))
    task = start(kafka, processes, small_disk / "out", topic, **{"value.converter": "StringConverter"})
    until(lambda: task.trouble, what=task.last_words)
    task.terminate()
    assert task.await_exit(6) == 0, task.last_words()
