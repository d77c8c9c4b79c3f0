"""One line for each record: whole, once on disk, and nothing half written."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock import ConnectError, Record, RecordBatch, RetriableError, Schema, TopicPartition
from penstock.schema import INT64, STRING
from penstock_plugins.connectors.file import handles
from penstock_plugins.connectors.file.sink import FileSink, FileSinkConfig, FileStreamSink, FileWriter


def report(record: Record, error: Exception) -> None:
    raise AssertionError(record, error)


def batch(*values: Any, schema: Schema | None | list[Schema | None] = STRING) -> RecordBatch:
    return RecordBatch(length=len(values), topic="t", value=list(values), value_schema=schema)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def write(path: Path, *batches: RecordBatch) -> Any:
    writer = FileWriter(str(path))
    message = writer.write(batches, report)
    writer.close()
    return message


def test_each_record_is_one_line_of_java_text_in_utf_8(path: Path) -> None:
    write(path, batch("a", "é", ""), batch(1, 2.0, None, True, {"k": 1}, schema=None), batch("\ud83d", schema=None))
    assert path.read_text(encoding="utf-8") == "a\né\n\n1\n2.0\nnull\ntrue\n{k=1}\n?\n"


def test_batches_without_values_or_with_several_schemas_are_written_too(path: Path) -> None:
    write(path, RecordBatch(length=2, topic="t", value=None), batch("a", 1, schema=[STRING, INT64]))
    assert path.read_text() == "null\nnull\na\n1\n"


def test_lines_are_appended_to_what_is_there(path: Path) -> None:
    path.write_text("before\n")
    write(path, batch("after"))
    assert path.read_text() == "before\nafter\n"


def test_one_write_takes_one_system_call(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    real = os.write

    def counted(fd: int, data: memoryview) -> int:
        calls.append(len(data))
        return real(fd, data)

    monkeypatch.setattr(os, "write", counted)
    write(path, *[batch(*["x" * 100] * 1000) for _ in range(20)])
    assert calls == [20 * 1000 * 101]


def test_the_message_says_what_was_written(path: Path) -> None:
    message = write(path, batch("a", "b"))
    assert (message["path"], message["bytes"]) == (str(path), 4)
    assert write(path) is None


def test_what_was_written_is_on_disk_before_offsets_are_committed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.fstat(fd).st_ino))
    sink = FileSink(str(path))
    offsets = {TopicPartition("t", 0): 3}
    assert sink.commit([], offsets) == offsets
    assert synced == []
    messages = [write(path, batch("a")), write(path, batch("b"))]
    path.rename(path.with_suffix(".1"))
    messages.append(write(path, batch("c")))
    assert sink.commit(messages, offsets) == offsets
    assert sorted(synced) == sorted([path.stat().st_ino, path.with_suffix(".1").stat().st_ino])


def test_a_deleted_file_does_not_hold_up_the_commit(path: Path) -> None:
    message = write(path, batch("a"))
    path.unlink()
    FileSink(str(path)).commit([message], {})


def test_a_disk_that_fails_fails_the_task(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = write(path, batch("a"))

    def broken(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(ConnectError, match=r"cannot sync file .* to disk: Input/output error") as caught:
        FileSink(str(path)).commit([message], {})
    assert not isinstance(caught.value, RetriableError)


def test_the_fragment_of_a_killed_writer_does_not_merge_with_the_next_line(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text("whole\nfragm")
    write(path, batch("next"))
    assert path.read_text() == "whole\nfragm\nnext\n"
    assert "ends in the middle of a line" in caplog.text


def test_a_file_that_was_rotated_away_is_followed_by_a_new_one(path: Path) -> None:
    writer = FileWriter(str(path))
    writer.write([batch("a")], report)
    path.rename(path.with_suffix(".1"))
    writer.write([batch("b")], report)
    path.unlink()
    writer.write([batch("c")], report)
    writer.close()
    assert (path.with_suffix(".1").read_text(), path.read_text()) == ("a\n", "c\n")


def test_a_missing_directory_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=f"directory {tmp_path}/no does not exist; create it"):
        FileSink(str(tmp_path / "no" / "out")).start()


def test_a_directory_is_refused_at_validation_and_at_start(tmp_path: Path) -> None:
    config = FileSinkConfig.parse({"file": str(tmp_path)})
    assert [p.property for p in FileStreamSink().validate(config)] == ["file"]
    with pytest.raises(ConnectError, match="is a directory; property `file` must name a file"):
        FileSink(str(tmp_path)).start()


def test_what_is_no_regular_file_is_refused(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(ConnectError, match="not a regular file"):
        FileSink(str(path)).start()


def test_a_file_without_permission_is_refused_with_file_and_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("")
    path.chmod(0)
    if os.geteuid() == 0:  # root may write everything

        def refuse(name: str, flags: int, *mode: int) -> int:
            raise PermissionError(13, "Permission denied", name)

        monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ConnectError, match=f"cannot write file {path}: user {handles.user_name()} has no permission"):
        FileSink(str(path)).start()


def test_a_full_disk_leaves_nothing_half_written(path: Path) -> None:
    """RLIMIT_FSIZE stands in for the full disk: the kernel writes up to the limit, then refuses."""
    program = """
        import resource, sys
        from penstock import RecordBatch, RetriableError
        from penstock_plugins.connectors.file.sink import FileWriter
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        writer = FileWriter(sys.argv[1])
        def put(*values):
            writer.write([RecordBatch(length=len(values), topic="t", value=list(values))], None)
        put("first")
        try:
            put("x" * 500, "y" * 500)
        except RetriableError as e:
            print(e)
        put("last")
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(path)], capture_output=True, text=True, check=True
    )
    assert ran.stdout == f"cannot write 1002 bytes to file {path}: File too large\n"
    assert path.read_text() == "first\nlast\n"


def test_a_write_that_somebody_has_appended_to_is_not_cut_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.write, 0

    def full(fd: int, data: memoryview) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            written = real(fd, data[:3])
            with path.open("a") as file:
                file.write("foreign\n")
            return written
        raise OSError(28, "No space left on device")

    writer = FileWriter(str(path))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(RetriableError, match=r"No space left on device; 3 bytes of them stay in the file"):
            writer.write([batch("abcdef")], report)
    writer.close()
    assert path.read_text() == "abcforeign\n"


def test_a_write_that_fails_is_repeated_with_the_same_records(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def full(fd: int, data: memoryview) -> int:
        if len(data) < 5:
            raise OSError(28, "No space left on device")
        return real(fd, data[: len(data) // 2])

    writer = FileWriter(str(path))
    batches: Sequence[RecordBatch] = [batch("abcdef", "ghi")]
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(RetriableError, match=f"to file {path}: No space left on device"):
            writer.write(batches, report)
    assert path.read_text() == ""
    writer.write(batches, report)
    writer.close()
    assert path.read_text() == "abcdef\nghi\n"
