"""Without a file lines go to standard output: in order, and out before their offsets are committed."""

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from penstock import ConnectError, Record, RecordBatch, TopicPartition
from penstock.schema import STRING
from penstock_plugins.connectors.file.sink import FileSinkConfig, FileStreamSink
from penstock_plugins.connectors.file.stdout_sink import StdoutSink, StdoutWriter

OFFSETS = {TopicPartition("t", 0): 5}


def report(record: Record, error: Exception) -> None:
    raise AssertionError(record, error)


def batch(*values: Any) -> RecordBatch:
    return RecordBatch(length=len(values), topic="t", value=list(values), value_schema=STRING)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def part(writer: StdoutWriter, *values: Any) -> Any:
    writer.stage([batch(*values)], report)
    return writer.staged()


@pytest.mark.parametrize("texts", [{}, {"file": ""}])
def test_without_a_file_standard_output_is_written_to(texts: dict[str, str]) -> None:
    config, connector = FileSinkConfig.parse(texts), FileStreamSink()
    assert list(connector.validate(config)) == []
    assert isinstance(connector.sink(config), StdoutSink)
    assert isinstance(connector.writer(config), StdoutWriter)


def test_each_record_is_a_line_that_is_out_when_write_returns(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    writer = StdoutWriter()
    writer.write([batch("a", "\u00e9"), batch(), batch("")], report)
    writer.write([], report)
    assert capfdbinary.readouterr().out == "a\n\u00e9\n\n".encode()


def test_parts_of_a_backlog_are_printed_by_the_commit_in_the_order_of_its_messages(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    first, second, sink = StdoutWriter(), StdoutWriter(), StdoutSink()
    late = part(second, "c", "d")
    early = part(first, "a", "b")
    assert capfdbinary.readouterr().out == b""
    assert sink.commit([early, late], OFFSETS) == OFFSETS
    assert capfdbinary.readouterr().out == b"a\nb\nc\nd\n"


@pytest.mark.parametrize("length", [1, 7, (64 << 10) - 2, (64 << 10) - 1, 64 << 10, 200_000])
def test_lines_longer_and_shorter_than_a_piece_are_whole(
    capfdbinary: pytest.CaptureFixture[bytes], length: int
) -> None:
    """A piece has 64 KiB, with the line ends."""
    given = ["x" * length, "", "short", "rather long", "", *["x" * length] * (200_000 // length)]
    StdoutWriter().write([batch(*given)], report)
    StdoutSink().commit([part(StdoutWriter(), *given)], OFFSETS)
    assert capfdbinary.readouterr().out.decode().split("\n") == [*given, *given, ""]


def test_what_was_staged_by_a_batch_that_failed_is_void(temporary: Path) -> None:
    sink, writer = StdoutSink(), StdoutWriter()
    message = part(writer, "a")
    sink.open([TopicPartition("t", 0)])
    assert not [file for file in temporary.rglob("*") if file.is_file()]
    with pytest.raises(ConnectError, match="nothing is lost"):
        sink.commit([message], OFFSETS)


def test_no_temporary_file_is_left_when_the_backlog_is_over(temporary: Path) -> None:
    sink = StdoutSink()
    sink.commit([part(StdoutWriter(), "a")], OFFSETS)
    sink.commit([], OFFSETS)
    assert not [file for file in temporary.rglob("*") if file.is_file()]


def test_an_output_that_nobody_reads_fails_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    with suppress(OSError), Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(ConnectError, match="cannot write to standard output: No space left"):
            StdoutWriter().write([batch("a")], report)
