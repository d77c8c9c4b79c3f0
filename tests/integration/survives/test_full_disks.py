"""The folder that a sink writes to, or what keeps its lines until then, is full: told, and nothing is lost or doubled."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..lab import Lab, failed
from ..running import manifest, new_name, next_life, until

RECORD = "x" * 90


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A folder on a device of 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], check=False, capture_output=True, text=True
    )
    if mounting.returncode:
        pytest.skip(f"no small device can be mounted here: {mounting.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def values(count: int) -> list[str]:
    return [f"{n:06d}{RECORD}" for n in range(count)]


def fill(folder: Path) -> Path:
    """Leave no room there."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    return ballast


@pytest.mark.parametrize("room", ["none", "for a part"])
def test_a_file_sink_continues_automatically_when_its_full_disk_has_room_again(
    lab: Lab, small: Path, room: str
) -> None:
    topic, file = lab.topic(), small / "out"
    lab.produce(topic, *values(10))
    resource = manifest(new_name(), "FileStreamSink", topics=topic, file=file, value_converter="StringConverter")
    name, task = lab.start(resource, {"offset.flush.interval.ms": "200"})
    until(lambda: file.exists() and len(file.read_text().splitlines()) == 10, what=task.last_words)
    ballast = fill(small)
    if room == "for a part":
        with ballast.open("r+b") as held:
            held.truncate(ballast.stat().st_size - 40_960)
    lab.produce(topic, *values(1500)[10:])
    assert f"to file {file}: No space left on device" in until(lambda: task.trouble, what=task.last_words)
    assert task.process.poll() is None
    ballast.unlink()
    lab.wait_committed(name, topic, 1500)
    assert file.read_text().splitlines() == values(1500)
    until(lambda: task.trouble is None, what=task.last_words)
    assert len(task.log_text().splitlines()) < 200
    task.stop()


def test_a_file_sink_that_is_killed_at_a_full_disk_lacks_no_record_afterwards(lab: Lab, small: Path) -> None:
    topic, file = lab.topic(), small / "out"
    lab.produce(topic, *values(10))
    resource = manifest(new_name(), "FileStreamSink", topics=topic, file=file, value_converter="StringConverter")
    spec = lab.spec(resource, {"offset.flush.interval.ms": "200"})
    task = lab.processes.task(spec)
    until(lambda: file.exists() and len(file.read_text().splitlines()) == 10, what=task.last_words)
    lab.wait_committed(spec.connector, topic, 10)
    ballast = fill(small)
    lab.produce(topic, *values(1500)[10:])
    assert f"to file {file}: No space left on device" in until(lambda: task.trouble, what=task.last_words)
    task.kill()
    ballast.unlink()
    task = lab.processes.task(next_life(spec))
    lab.wait_committed(spec.connector, topic, 1500)
    assert file.read_text().splitlines() == values(1500)
    task.stop()


def test_a_source_continues_though_the_disk_of_its_log_is_full(lab: Lab, tmp_path: Path) -> None:
    topic, file = lab.topic(), tmp_path / "in"
    file.write_text("a\n")
    resource = manifest(new_name(), "FileStreamSource", topic=topic, file=file, value_converter="StringConverter")
    task = lab.processes.task(lab.spec(resource), before=["sh", "-c", 'exec "$0" "$@" > /dev/full 2>&1'])
    until(lambda: lab.values(topic) == ["a"], what=task.last_words)
    with file.open("a") as more:
        more.write("b\n")
    until(lambda: lab.values(topic) == ["a", "b"], what=task.last_words)
    task.terminate()
    assert task.await_exit() == 0


def test_a_spark_sink_at_a_full_disk_fails_with_the_folder_named_and_continues_once_there_is_room(
    lab: Lab, small: Path
) -> None:
    topic, folder = lab.topic(), small / "out"
    schema = {"type": "struct", "fields": [{"field": "v", "type": "string"}]}
    config = {"topics": topic, "format": "json", "path": folder, "value.converter": "JsonConverter"}
    spec = lab.spec(manifest(new_name(), "SparkSink", config), {"offset.flush.interval.ms": "200"})

    def write(texts: list[str]) -> None:
        lab.produce(topic, *(json.dumps({"schema": schema, "payload": {"v": t}}) for t in texts))

    def shown() -> list[str]:
        return sorted(json.loads(line)["v"] for f in folder.glob("*.json") for line in f.read_text().splitlines())

    write(values(10))
    task = lab.processes.task(spec)
    lab.wait_committed(spec.connector, topic, 10)
    assert shown() == values(10)
    ballast = fill(small)
    write(values(1500)[10:])
    message = failed(task)
    assert str(folder) in message
    assert "No space left on device" in message
    assert lab.committed(spec.connector, topic) == 10
    assert shown() == values(10)
    ballast.unlink()
    task = lab.processes.task(next_life(spec))
    lab.wait_committed(spec.connector, topic, 1500)
    assert shown() == values(1500)
    task.stop()
