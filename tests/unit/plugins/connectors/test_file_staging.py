"""A backlog's lines are kept by several processes and appended by one: in order, once, all or nothing."""

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from penstock import ConnectError, Record, RecordBatch, RetriableError, TopicPartition
from penstock.schema import STRING
from penstock_plugins.connectors.file.sink import FileSink, FileStreamSink, FileWriter

OFFSETS = {TopicPartition("t", 0): 5}


def report(record: Record, error: Exception) -> None:
    raise AssertionError(record, error)


def batch(*values: Any) -> RecordBatch:
    return RecordBatch(length=len(values), topic="t", value=list(values), value_schema=STRING)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return tmp_path / "out.txt"


def kept(path: Path) -> list[Path]:
    return [file for file in (path.parent / "tmp").rglob("*") if file.is_file()]


def part(writer: FileWriter, *values: Any) -> Any:
    writer.stage([batch(value) for value in values], report)
    return writer.staged()


def test_the_engine_knows_that_this_sink_stages() -> None:
    assert FileStreamSink.staged


def test_what_is_staged_is_in_the_file_with_the_commit_and_in_the_order_of_its_messages(path: Path) -> None:
    first, second, sink = FileWriter(str(path)), FileWriter(str(path)), FileSink(str(path))
    sink.start()
    late = part(second, "c", "d")
    early = part(first, "a", "b")
    assert path.read_text() == ""
    assert sink.commit([early, late], OFFSETS) == OFFSETS
    assert path.read_text() == "a\nb\nc\nd\n"


def test_a_shorter_part_after_a_longer_one_holds_nothing_of_it(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    sink.commit([part(writer, "long " * 1_000)], OFFSETS)
    sink.commit([part(writer, "short")], OFFSETS)
    assert path.read_text().splitlines()[1:] == ["short"]


def test_a_part_without_records_has_no_message(path: Path) -> None:
    writer = FileWriter(str(path))
    assert writer.staged() is None
    assert part(writer, "a") is not None
    assert writer.staged() is None


def test_one_process_may_stage_several_parts_before_any_is_committed(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    sink.commit([part(writer, "before")], OFFSETS)
    messages = [part(writer, name) for name in "abcd"]
    sink.commit(messages, OFFSETS)
    assert path.read_text() == "before\na\nb\nc\nd\n"


def test_two_parts_in_one_file_are_refused_before_anything_is_lost(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    message = part(writer, "a")
    with pytest.raises(ConnectError, match="name the same temporary file"):
        sink.commit([message, message], OFFSETS)


def test_parts_outlive_the_process_that_staged_them(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    message = part(writer, "a")
    writer.close()
    sink.commit([message], OFFSETS)
    assert path.read_text() == "a\n"


def test_files_are_used_again_and_given_back_when_the_backlog_is_over(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    for n in range(10):
        sink.commit([part(writer, str(n))], OFFSETS)
    assert len(kept(path)) == 1
    sink.commit([], OFFSETS)
    assert kept(path) == []
    assert path.read_text().split() == [str(n) for n in range(10)]


def test_a_part_that_is_discarded_while_it_is_written_does_not_count_by_half(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    writer.stage([batch("a")], report)
    sink.open([TopicPartition("t", 0)])
    writer.stage([batch("b")], report)
    with pytest.raises(ConnectError, match="nothing is lost"):
        sink.commit([writer.staged()], OFFSETS)


def test_lines_that_were_written_directly_come_before_those_that_were_staged_after_them(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    at_once = writer.write([batch("a")], report)
    sink.commit([at_once, part(writer, "b")], OFFSETS)
    assert path.read_text() == "a\nb\n"


def test_a_commit_that_is_asked_for_again_appends_only_what_is_missing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, sink = FileWriter(str(path)), FileWriter(str(path)), FileSink(str(path))
    messages = [part(one, "a"), part(other, "b")]
    real = os.write
    calls: list[int] = []

    def full_at_the_second(fd: int, data: memoryview) -> int:
        calls.append(len(data))
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(os, "write", full_at_the_second)
    with pytest.raises(RetriableError, match="No space left"):
        sink.commit(messages, OFFSETS)
    assert path.read_text() == "a\n"
    monkeypatch.undo()
    sink.commit(messages, OFFSETS)
    assert path.read_text() == "a\nb\n"
    sink.commit([part(one, "a")], OFFSETS)
    assert path.read_text() == "a\nb\na\n"


def test_what_a_failed_batch_has_staged_is_void_once_partitions_are_opened_again(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    part(writer, "void")
    sink.open([TopicPartition("t", 0)])
    assert kept(path) == []
    sink.commit([part(writer, "good")], OFFSETS)
    assert path.read_text() == "good\n"


def test_a_commit_without_the_kept_lines_fails_and_commits_nothing(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    message = part(writer, "a")
    for file in kept(path):
        file.unlink()
    with pytest.raises(ConnectError, match="nothing is lost"):
        sink.commit([message], OFFSETS)


def test_no_room_in_the_temporary_folder_is_reported_with_the_folder_and_may_pass(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = FileWriter(str(path))

    def full(fd: int, data: object, at: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(RetriableError, match=r"temporary folder .* set TMPDIR"):
        writer.stage([batch("a")], report)


def test_nothing_is_kept_after_the_end(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    sink.commit([part(writer, "a")], OFFSETS)
    writer.close()
    sink.stop()
    assert kept(path) == []


def test_after_a_rotation_the_lines_go_to_the_new_file(path: Path) -> None:
    writer, sink = FileWriter(str(path)), FileSink(str(path))
    sink.commit([part(writer, "old")], OFFSETS)
    path.rename(path.with_suffix(".1"))
    sink.commit([part(writer, "new")], OFFSETS)
    assert path.read_text() == "new\n"
    assert path.with_suffix(".1").read_text() == "old\n"
