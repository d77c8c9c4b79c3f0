"""Standard input is read as files are, line by line, without ever waiting for it."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import ConnectError, Limits, PollingSource, RecordBatch, RetriableError, SourcePartition
from penstock.schema import STRING
from penstock_plugins.connectors.file.source import FileSource, FileSourceConfig, FileStreamSource
from penstock_plugins.connectors.file.stdin_source import StdinSource

PLENTY = Limits(1_000_000, 1 << 30)
PLACE = SourcePartition({"filename": None})


class Pipe:
    """What somebody types, and the source at the other end."""

    def __init__(self, portion: int = 2000) -> None:
        self.reading, self.writing = os.pipe()
        self.source = StdinSource("t", portion, None, self.reading)
        self.source.start({})

    def type(self, data: bytes) -> None:
        assert os.write(self.writing, data) == len(data)

    def end(self) -> None:
        os.close(self.writing)
        self.writing = -1

    def batches(self, limits: Limits = PLENTY) -> list[list[str]]:
        """One batch, portion by portion, not delivered yet."""
        found = []
        for batch, offsets in self.source.read({}, limits):
            assert offsets == {PLACE: {"position": None}}
            found.append(texts(batch))
        return found

    def lines(self, limits: Limits = PLENTY) -> list[str]:
        """One batch, delivered."""
        found = [line for portion in self.batches(limits) for line in portion]
        self.source.commit({})
        return found


def texts(batch: RecordBatch) -> list[str]:
    assert (batch.topic, batch.value_schema, batch.key) == ("t", STRING, None)
    value: Any = batch.value
    return list(value)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.source.stop()
    os.close(made.reading)
    if made.writing >= 0:
        os.close(made.writing)


def test_lines_that_have_come_are_read_and_none_is_waited_for(pipe: Pipe) -> None:
    assert pipe.lines() == []
    pipe.type("a\n\u00e9\n\n".encode())
    assert pipe.lines() == ["a", "\u00e9", ""]
    assert pipe.lines() == []


def test_a_line_is_one_when_it_is_ended(pipe: Pipe) -> None:
    pipe.type(b"half")
    assert pipe.lines() == []
    pipe.type(b" a line\nrest")
    assert pipe.lines() == ["half a line"]
    pipe.end()
    assert pipe.lines() == []


def test_all_of_javas_ends_of_lines_count_wherever_the_pipe_cuts_them(pipe: Pipe) -> None:
    found = []
    for piece in (b"a\r", b"\nb\r", b"c\n\r", b"\r", b"\nd\r\ne", b"\r", b"f"):
        pipe.type(piece)
        found += pipe.lines()
    assert found == ["a", "b", "c", "", "", "d", "e"]


def test_a_character_that_the_pipe_cuts_is_whole(pipe: Pipe) -> None:
    pipe.type(b"\xc3")
    assert pipe.lines() == []
    pipe.type(b"\xa9\xff\n")
    assert pipe.lines() == ["\u00e9\ufffd"]


def test_the_end_of_the_input_is_reported_once_and_is_no_end_of_the_task(
    pipe: Pipe, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    pipe.type(b"a\nb\n")
    pipe.end()
    assert [*pipe.lines(), *pipe.lines(), *pipe.lines()] == ["a", "b"]
    assert caplog.text.count("Standard input is at its end") == 1


def test_what_is_not_delivered_comes_again(pipe: Pipe) -> None:
    pipe.type(b"a\nb\n")
    assert pipe.batches() == [["a", "b"]]
    pipe.type(b"c\n")
    assert pipe.batches() == [["a", "b", "c"]]
    assert pipe.lines(Limits(2, 100)) == ["a", "b"]
    assert pipe.lines() == ["c"]


def test_a_batch_keeps_to_its_limits(pipe: Pipe) -> None:
    pipe.type(b"one\ntwo\nthree\nfour\n")
    assert pipe.lines(Limits(2, 100)) == ["one", "two"]
    assert pipe.lines(Limits(100, 6)) == ["three"]
    assert pipe.lines(Limits(100, 1)) == ["four"]


def test_no_more_is_read_than_a_batch_holds(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"x\n" * 100_000)
    with (tmp_path / "input").open("rb", buffering=0) as file:
        source = StdinSource("t", 10, None, file.fileno())
        assert [len(batch) for batch, _ in source.read({}, Limits(10, 1 << 20))] == [10]
        source.commit({})
        assert file.tell() <= 64 << 10  # one piece of the input
        assert sum(len(batch) for batch, _ in source.read({}, PLENTY)) == 100_000 - 10


def test_portions_hold_as_many_lines_as_batch_size_says() -> None:
    pipe = Pipe(portion=2)
    pipe.type(b"a\nb\nc\nd\ne\n")
    assert pipe.batches() == [["a", "b"], ["c", "d"], ["e"]]


def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    with (tmp_path / "input").open("wb") as file:
        file.truncate(128 << 20)
    with (tmp_path / "input").open("rb", buffering=0) as file:
        with pytest.raises(ConnectError, match="a line is longer than 64 MiB"):
            list(StdinSource("t", 10, None, file.fileno()).read({}, PLENTY))
        assert file.tell() < 65 << 20


def test_an_input_that_cannot_be_read_is_tried_again() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    os.close(reading)
    with pytest.raises(RetriableError, match="cannot read standard input: Bad file descriptor"):
        list(StdinSource("t", 10, None, reading).read({}, PLENTY))


@pytest.mark.parametrize("texts", [{}, {"file": ""}, {"file": " "}])
def test_without_a_file_standard_input_is_read_with_no_place_in_it(texts: dict[str, str]) -> None:
    config, connector = FileSourceConfig.parse({"topic": "t", **texts}), FileStreamSource()
    assert isinstance(connector.source(config), PollingSource)
    assert list(connector.validate(config)) == []
    assert connector.standard_input(config) == "file"
    assert not connector.exactly_once(config)


def test_with_a_file_it_is_read_from_any_place_of_it() -> None:
    config, connector = FileSourceConfig.parse({"topic": "t", "file": "f"}), FileStreamSource()
    assert isinstance(connector.source(config), FileSource)
    assert connector.standard_input(config) is None
    assert connector.exactly_once(config)


def test_an_empty_file_is_named_in_the_offsets_as_it_was_written() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a\n")
    (((_, offsets)),) = StdinSource("t", 10, "", reading).read({}, PLENTY)
    assert offsets == {SourcePartition({"filename": ""}): {"position": None}}
    os.close(reading)
    os.close(writing)


def test_offsets_of_standard_input_can_be_forgotten_and_not_set() -> None:
    config, connector = FileSourceConfig.parse({"topic": "t"}), FileStreamSource()
    assert connector.alter_offsets(config, {PLACE: None, SourcePartition({"filename": "f"}): None})
    with pytest.raises(ConnectError) as caught:
        connector.alter_offsets(config, {PLACE: {"position": 1}})
    assert str(caught.value) == (
        "Offsets cannot be modified if the 'file' configuration is unspecified. This is because stdin is used for input "
        "and offsets are not tracked."
    )
