"""Files that are missing, rotated, truncated or unreadable, before a task starts and under it."""

import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import Backlog, ConfigError, ConnectError, Limits, RetriableError, SourcePartition
from penstock_plugins.connectors.file import handles as file_handles
from penstock_plugins.connectors.file.source import FileSource, FileSourceConfig, FileStreamSource

from .file_task import PLENTY, Task, append, rename


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


@pytest.fixture(autouse=True)
def _every_file_is_closed() -> Iterator[None]:
    yield
    left = [handle for handles in file_handles._OPEN.values() for handle in handles]
    for handle in left:
        handle.close()
    assert not left


def rotate(path: Path, text: str = "") -> Path:
    old = path.with_name(path.name + ".1")
    path.rename(old)
    path.write_text(text)
    return old


def test_a_missing_file_is_waited_for_and_named(path: Path) -> None:
    task = Task(path)
    for _ in range(2):
        with pytest.raises(RetriableError, match=f"cannot read file {path}: it does not exist") as raised:
            task.lines()
        assert raised.value.retry_after == 1.0
    path.write_text("a\n")
    assert task.lines() == ["a"]
    task.source.stop()


def test_a_missing_directory_is_waited_for_too(tmp_path: Path) -> None:
    path = tmp_path / "later" / "in"
    task = Task(path)
    with pytest.raises(RetriableError, match="it does not exist"):
        task.lines()
    path.parent.mkdir()
    path.write_text("a\n")
    assert task.lines() == ["a"]
    task.source.stop()


def test_an_empty_file_has_no_lines(path: Path) -> None:
    path.touch()
    task = Task(path)
    assert task.lines() == []
    append(path, "a\n")
    assert task.lines() == ["a"]
    task.source.stop()


def test_a_directory_is_refused_at_validation_and_at_start(tmp_path: Path) -> None:
    config = FileSourceConfig.parse({"file": str(tmp_path), "topic": "t"})
    assert [p.property for p in FileStreamSource().validate(config)] == ["file"]
    with pytest.raises(ConnectError, match="is a directory; property `file` must name a file"):
        Task(tmp_path)


def test_a_fifo_is_refused_without_waiting_for_its_writer(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(ConnectError, match="not a regular file"):
        Task(path)


def test_a_file_without_permission_is_refused_with_file_and_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("a\n")
    path.chmod(0)
    if os.geteuid() == 0:  # root may read everything

        def refuse(name: str, flags: int, *mode: int) -> int:
            raise PermissionError(13, "Permission denied", name)

        monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(
        ConnectError, match=f"cannot read file {path}: user {file_handles.user_name()} has no permission"
    ):
        Task(path)


def test_a_rotated_file_is_read_to_its_end_before_the_new_one(path: Path) -> None:
    path.write_text("a\n")
    task = Task(path)
    assert task.lines() == ["a"]
    append(path, "b\n")
    old = rotate(path, "x\n")
    append(old, "c\n")
    assert task.lines() == ["b", "c"]
    append(old, "d\n")  # its writer has not noticed yet
    assert task.lines() == ["d"]
    task.now += 1.1
    assert task.lines() == ["x"]
    append(path, "y\n")
    assert task.lines() == ["y"]
    assert task.position() == 4
    assert task.local == [False] * len(task.local)
    task.source.stop()


def test_going_over_to_the_next_file_is_one_batch_with_its_first_lines(path: Path) -> None:
    path.write_text("a\nb\n")
    task = Task(path)
    task.lines()
    rotate(path, "x\ny\n")
    assert task.batch() == []
    task.now += 1.1
    assert task.batch() == ["x", "y"]  # at 4, where the old one ended too
    assert task.batch() == []
    task.source.stop()
    again = Task(path, task.at)
    assert again.lines() == []
    again.source.stop()


def test_going_over_to_a_file_without_lines_is_a_batch_of_its_own(path: Path) -> None:
    path.write_text("a\nb\n")
    task = Task(path)
    task.lines()
    rotate(path)
    task.lines()
    task.now += 10.1
    assert task.plan()[1][task.partition] == {"position": 0}
    task.source.stop()


def test_a_life_that_ends_right_after_rotation_loses_nothing_of_a_new_file_that_grows_later(path: Path) -> None:
    path.write_text("a\n")
    task = Task(path)
    task.lines()
    rotate(path)
    task.lines()
    task.now += 10.1
    task.lines()
    task.source.stop()
    append(path, "longer than the old file\n")
    again = Task(path, task.at)
    assert again.lines() == ["longer than the old file"]
    again.source.stop()


def test_an_empty_successor_does_not_end_a_file_soon(path: Path) -> None:
    path.write_text("a\n")
    task = Task(path)
    task.lines()
    old = rotate(path)
    task.lines()
    task.now += 9
    append(old, "b\n")
    assert task.lines() == ["b"]
    task.now += 9
    assert task.lines() == []
    assert task.position() == 4
    task.now += 2
    task.lines()
    assert task.position() == 0
    task.source.stop()


def test_the_unfinished_last_line_of_a_rotated_file_is_a_line_once_nobody_finishes_it(path: Path) -> None:
    path.write_text("a\nb")
    task = Task(path)
    assert task.lines() == ["a"]
    task.now += 100
    assert task.lines() == []
    old = rotate(path, "x\n")
    assert task.lines() == []
    append(old, "c")
    task.now += 0.9
    assert task.lines() == []
    task.now += 1.1
    assert task.lines() == ["bc", "x"]
    task.source.stop()


def test_several_rotations_during_a_backlog_are_read_in_order(path: Path, tmp_path: Path) -> None:
    path.write_text("a\nb\nc\n")
    task = Task(path)
    one = Limits(1, 1)
    lines = task.batch(one)
    for i in range(3):
        path.rename(tmp_path / f"old.{i}")
        path.write_text(f"{i}\n")
        lines += task.batch(one)
        task.now += 1.1
    for _ in range(20):
        lines += task.batch(one)
        task.now += 1.1
    assert lines == ["a", "b", "c", "0", "1", "2"]
    task.source.stop()


def test_a_file_moved_out_of_its_directory_is_read_through_the_open_handle(path: Path, tmp_path: Path) -> None:
    path.write_text("a\n")
    task = Task(path)
    task.lines()
    append(path, "b\n")
    (tmp_path / "away").mkdir()
    path.rename(tmp_path / "away" / "app.log")
    path.write_text("x\n")
    task.local.clear()
    assert task.lines() == ["b"]
    assert task.local == [True]
    (tmp_path / "away" / "app.log").unlink()
    task.now += 1.1
    assert task.lines() == ["x"]
    task.source.stop()


def test_a_deleted_file_is_waited_for_again(path: Path) -> None:
    path.write_text("a\n")
    task = Task(path)
    task.lines()
    path.unlink()
    assert task.lines() == []
    path.write_text("b\n")
    task.lines()
    task.now += 1.1
    assert task.lines() == ["b"]
    task.source.stop()


def test_a_file_truncated_under_the_task_starts_again_with_a_warning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text("a\nb\n")
    task = Task(path)
    assert task.lines() == ["a", "b"]
    path.write_text("c\n")  # what copytruncate does
    assert task.lines() == ["c"]
    assert task.position() == 2
    assert caplog.messages == [
        f"File {path} was truncated to 2 bytes, its position was 4; reading starts again from its beginning."
    ]
    task.source.stop()


def test_a_file_shorter_than_its_position_starts_again_after_a_restart(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text("a\n")
    task = Task(path, 100)
    assert task.lines() == ["a"]
    assert "has 2 bytes and its committed position is 100" in caplog.text
    task.source.stop()


def test_a_file_that_is_not_shorter_continues_at_its_position(path: Path) -> None:
    path.write_text("a\nb\n")
    task = Task(path, 2)
    assert task.lines() == ["b"]
    task.source.stop()


def test_a_failed_batch_is_planned_again_from_the_same_place(path: Path) -> None:
    path.write_text("a\nb\nc\n")
    task = Task(path)
    assert task.batch(Limits(1, 1)) == ["a"]
    kept = task.at
    for _ in range(2):
        lines, end = task.plan(Limits(1, 1))
        assert lines == ["b"]
    task.at = end
    assert task.plan()[0] == ["c"]
    task.at = kept
    assert task.lines() == ["b", "c"]
    task.source.stop()


@pytest.mark.parametrize("after", ["x\n", "x\ny\nz\n"])
def test_batches_that_fail_after_rotation_go_back_to_the_old_file(path: Path, after: str) -> None:
    """Also where a batch is planned while the last one is delivered, and the new file's position equals the old one's."""
    path.write_text("a\nb\n")
    task = Task(path)
    assert task.batch(Limits(1, 1)) == ["a"]
    kept = task.at  # 2, in the old file
    assert task.plan()[0] == ["b"]
    task.at = task.plan()[1]
    rotate(path, after)
    task.plan()
    task.now += 1.1
    lines, task.at = task.plan(Limits(1, 1))
    assert (lines, task.position()) == (["x"], 2)
    task.plan()  # runs ahead into the new file
    task.at = kept
    assert task.plan()[0] == ["b"]
    task.at = kept
    assert task.lines() == ["b", *after.split()]
    task.source.stop()


def test_a_new_file_that_may_not_be_read_yet_is_tried_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("a\n")
    task = Task(path)
    task.lines()
    rotate(path, "x\n")
    real = os.open
    with monkeypatch.context() as patch:

        def refuse(name: str, flags: int, *mode: int) -> int:
            raise PermissionError(13, "Permission denied", name)

        patch.setattr(os, "open", refuse)
        with pytest.raises(ConnectError, match="has no permission") as caught:
            task.source.latest_offsets(task.at, PLENTY)
        assert type(caught.value).__name__ == "RetriableError"
    assert os.open is real
    task.lines()
    task.now += 1.1
    assert task.lines() == ["x"]
    task.source.stop()


def test_a_read_continues_when_the_driver_half_closes_the_file(path: Path) -> None:
    path.write_text("a\n" * 300_000)
    task = Task(path)
    end = task.source.latest_offsets({}, PLENTY)
    (part,) = task.source.partitions({}, end)
    portions = task.reader.read(part)
    first = next(portions)
    path.unlink()
    closer = threading.Thread(target=task.source.stop)
    closer.start()
    closer.join()
    assert first.length + sum(p.length for p in portions) == 300_000


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ({"file": "f"}, 'Missing required configuration "topic" which has no default value'),
        ({"file": "f", "topic": ""}, "Invalid value  for configuration topic: String must be non-empty"),
        (
            {"file": "f", "topic": "t", "batch.size": "x"},
            "Invalid value x for configuration batch.size: Not a number of",
        ),
        ({"file": "f", "topic": "t", "batch.size": "2147483648"}, "batch.size"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(texts: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        FileSourceConfig.parse(texts)


FILE = SourcePartition({"filename": "f"})


@pytest.mark.parametrize(
    ("offsets", "says"),
    [
        ({FILE: {}}, "Offset objects should either be null or contain the key 'position'"),
        ({FILE: {"position": "x"}}, "The value for the 'position' key in the offset is expected to be a Long value"),
        ({FILE: {"position": 1.5}}, "The value for the 'position' key in the offset is expected to be a Long value"),
        ({FILE: {"position": True}}, "The value for the 'position' key in the offset is expected to be a Long value"),
        ({FILE: {"position": -1}}, "The value for the 'position' key in the offset should be a non-negative value"),
        ({None: {"position": 1}}, "Partition objects cannot be null"),
        ({SourcePartition({"x": 1}): {"position": 1}}, "Partition objects should contain the key 'filename'"),
    ],
)
def test_wrong_offsets_are_refused_with_connects_messages(
    offsets: dict[SourcePartition, dict[str, int]], says: str
) -> None:
    config = FileSourceConfig.parse({"file": "f", "topic": "t"})
    with pytest.raises(ConnectError) as caught:
        FileStreamSource().alter_offsets(config, offsets)
    assert str(caught.value) == says


def test_an_offset_of_another_file_is_refused() -> None:
    config = FileSourceConfig.parse({"file": "f", "topic": "t"})
    with pytest.raises(ConnectError, match="cannot set an offset of file g: this connector reads f"):
        FileStreamSource().alter_offsets(config, {SourcePartition({"filename": "g"}): {"position": 1}})


def test_good_offsets_and_the_forgetting_of_any_are_accepted() -> None:
    config = FileSourceConfig.parse({"file": "f", "topic": "t"})
    offsets = {FILE: {"position": 1}, SourcePartition({"anything": 1}): None}
    assert FileStreamSource().alter_offsets(config, offsets)


def test_a_committed_offset_that_is_no_position_is_an_error(path: Path) -> None:
    source = FileSource(str(path))
    with pytest.raises(ConnectError, match="is not a position in a file"):
        source.start({SourcePartition({"filename": str(path)}): {"position": "7"}})


def test_rotation_is_reported_in_the_log(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    path.write_text("a\n")
    task = Task(path)
    rotate(path, "x\n")
    task.lines()
    assert caplog.messages == [f"File {path} was rotated; the old one is read to its end first."]
    task.source.stop()


def test_the_backlog_is_what_was_not_read_of_the_file_and_of_the_one_that_followed_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    append(path, "a\nb\n")
    task = Task(path)
    assert task.source.backlog(task.at) == Backlog(bytes=4)
    assert task.lines() == ["a", "b"]
    assert task.source.backlog(task.at) == Backlog(bytes=0)
    append(path, "ccc\n")
    rename(path, "d\n")
    task.plan()
    assert task.source.backlog(task.at) == Backlog(bytes=6)
    assert task.all_lines() == ["ccc", "d"]
    assert task.source.backlog(task.at) == Backlog(bytes=0)
    task.source.stop()
