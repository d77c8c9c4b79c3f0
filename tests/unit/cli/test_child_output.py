"""Whatever a task's processes write becomes log lines."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock_cli.child_output import ChildOutput


class Log:
    """The output, the end that writes, and the log that they go to."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+b", buffering=0)
        self._read = 0
        self.words = ChildOutput(self._file.fileno(), {"connector": "a", "task": 0})

    def write(self, text: str) -> None:
        os.write(self.words.writing, text.encode())
        self.words.pass_on()

    def lines(self) -> list[dict[str, Any]]:
        self._file.seek(self._read)
        data = self._file.read()
        self._read += len(data)
        return [json.loads(line) for line in data.splitlines()]

    def close(self) -> None:
        os.close(self.words.writing)
        self.words.close()
        self._file.close()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    made = Log(tmp_path / "log")
    yield made
    made.close()


def test_plain_text_is_a_log_line_that_names_the_task(log: Log) -> None:
    log.write("Exception in thread main\n")
    (line,) = log.lines()
    assert line["message"] == "Exception in thread main"
    assert (line["connector"], line["task"], line["level"]) == ("a", 0, "warning")
    assert line["time"].endswith("Z")


def test_a_trace_that_is_written_immediately_is_one_line(log: Log) -> None:
    log.write("Traceback:\n  File x\nValueError: no\n")
    assert [line["message"] for line in log.lines()] == ["Traceback:\n  File x\nValueError: no"]


def test_what_is_a_log_line_already_keeps_its_fields(log: Log) -> None:
    log.write('{"time":"t","level":"error","logger":"org.apache.spark","message":"no"}\n')
    (line,) = log.lines()
    assert (line["time"], line["level"], line["logger"], line["connector"]) == ("t", "error", "org.apache.spark", "a")


def test_json_that_is_no_log_line_is_text(log: Log) -> None:
    log.write('{"a": 1}\n{broken\n')
    assert [line["message"] for line in log.lines()] == ['{"a": 1}\n{broken']


def test_a_line_waits_for_its_end_and_the_last_one_only_for_the_end_of_its_writer(log: Log) -> None:
    log.write("half a ")
    assert log.lines() == []
    log.write("line\nlast words")
    assert [line["message"] for line in log.lines()] == ["half a line"]
    log.words.pass_on(last=True)
    assert [line["message"] for line in log.lines()] == ["last words"]


def test_a_line_without_end_is_reported_in_pieces(log: Log) -> None:
    for _ in range(20):
        log.write("x" * 10_000)
    assert sum(len(line["message"]) for line in log.lines()) >= 1 << 16


def test_bytes_that_are_no_text_do_not_stop_it(log: Log) -> None:
    os.write(log.words.writing, b"\xff\xfe\n")
    log.words.pass_on()
    assert len(log.lines()) == 1


def test_what_java_says_at_every_start_is_not_passed_on(log: Log) -> None:
    log.write("WARNING: Using incubator modules: jdk.incubator.vector\n")
    assert log.lines() == []
