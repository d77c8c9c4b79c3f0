"""What a file source meets: nothing there, a directory, no permission, bytes that are no text, a line of 20 MB."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ..reading import Reader, await_records, create, read_all
from ..running import Processes, Running, manifest, new_name, specs, until

HUGE = 20 << 20


def start(kafka: str, processes: Processes, file: Path, topic: str, **config: Any) -> Running:
    resource = manifest(
        new_name(), "FileStreamSource", config, file=file, topic=topic, value_converter="StringConverter"
    )
    return processes.task(specs(resource, kafka)[0])


def values(kafka: str, topic: str, count: int) -> list[bytes | None]:
    return [r.value for r in await_records(kafka, topic, count)]


def test_an_empty_file_gives_nothing_until_it_has_lines(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.touch()
    task = start(kafka, processes, file, topic)
    task.await_state("RUNNING")
    file.write_text("a\nb\n")
    assert values(kafka, topic, 2) == [b"a", b"b"]
    task.stop()


def test_a_missing_file_is_waited_for(kafka: str, topic: str, processes: Processes, tmp_path: Path) -> None:
    task = start(kafka, processes, tmp_path / "later", topic)
    task.await_state("RUNNING")
    (tmp_path / "part").write_text("a\nb\n")
    (tmp_path / "part").rename(tmp_path / "later")
    assert values(kafka, topic, 2) == [b"a", b"b"]
    task.stop()


def test_a_directory_where_the_file_should_be_fails_the_task_and_says_so(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    task = start(kafka, processes, tmp_path / "folder", topic)  # not there yet, or the plan would refuse it
    task.await_state("RUNNING")
    (tmp_path / "folder").mkdir()
    task.await_state("FAILED")
    assert task.await_exit() == 1
    assert task.failure is not None
    assert f"{tmp_path / 'folder'} is a directory" in task.failure


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a task as somebody else")
def test_a_file_without_permission_is_named_and_read_once_there_is_permission(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.write_text("a\n")
    file.chmod(0)
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("needs setpriv of util-linux")
    resource = manifest(new_name(), "FileStreamSource", file=file, topic=topic, value_converter="StringConverter")
    # root, without the rights that let root read everything
    task = processes.task(specs(resource, kafka)[0], before=[setpriv, "--bounding-set=-dac_override,-dac_read_search"])
    told = until(lambda: task.failure or task.trouble, what=task.last_words)
    assert str(file) in told
    assert "ermission" in told
    if task.failure is None:
        file.chmod(0o644)
        assert values(kafka, topic, 1) == [b"a"]
        task.stop()


def test_bytes_that_are_no_utf_8_do_not_stop_the_lines_around_them(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"a\n\xff\xfe\x80bad\n\xc3\xa9\n")
    task = start(kafka, processes, file, topic)
    found = values(kafka, topic, 3)
    assert (found[0], found[2]) == (b"a", "é".encode())
    assert found[1] == "���bad".encode()
    task.stop()


def test_a_line_of_20_mb_fails_the_task_by_default_and_says_what_to_raise(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"a\n" + b"x" * HUGE + b"\nb\n")
    task = start(kafka, processes, file, topic)
    assert task.await_exit() == 1
    assert task.failure is not None
    assert "producer.override.max.request.size" in task.failure
    assert "max.message.bytes" in task.failure
    assert len(task.failure) < 2_000


def test_one_that_only_the_topic_refuses_fails_the_task_likewise(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"a\n" + b"x" * (2 << 20) + b"\nb\n")
    create(kafka, topic)
    task = start(kafka, processes, file, topic, **{"producer.override.max.request.size": 30 << 20})
    assert task.await_exit() == 1
    assert task.failure is not None
    assert "the topic's max.message.bytes" in task.failure
    assert [r.value for r in read_all(kafka, topic)] == [b"a"]  # a batch of its own


def test_a_line_of_20_mb_that_is_allowed_arrives(kafka: str, topic: str, processes: Processes, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"a\n" + b"x" * HUGE + b"\nb\n")
    create(kafka, topic, max_message_bytes=str(30 << 20))
    task = start(kafka, processes, file, topic, **{"producer.override.max.request.size": 30 << 20})
    assert [len(v or b"") for v in values(kafka, topic, 3)] == [1, HUGE, 1]
    task.stop()


@pytest.mark.parametrize(("size", "buried"), [(HUGE, 0), ((1 << 20) - 200, 1)])
def test_a_line_that_is_too_large_is_passed_over_with_tolerance_all(
    kafka: str, topic: str, processes: Processes, tmp_path: Path, size: int, buried: int
) -> None:
    """The dead letter queue gets it where it fits there: here the chain made it larger than what was read."""
    file = tmp_path / "lines"
    file.write_bytes(b"a\n" + b"x" * size + b"\nb\n")
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"dlq-{topic}"[:240]}
    if buried:
        tolerant |= {
            "transforms": "wrap",
            "transforms.wrap.type": "HoistField$Value",
            "transforms.wrap.field": "a-long-name-" * 20,
            "value.converter": "JsonConverter",
            "value.converter.schemas.enable": "false",
        }
    create(kafka, f"dlq-{topic}"[:240])
    task = start(kafka, processes, file, topic, **tolerant)
    with Reader(kafka, topic) as reader:
        reader.count(2)
        task.stop()
        assert len(reader.to_end()) == 2
    assert task.last("failures") == 1
    assert [len(r.value or b"") for r in read_all(kafka, f"dlq-{topic}"[:240])] == [size] * buried
