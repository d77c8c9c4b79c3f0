"""Log lines: structured, without secrets, without endless repetition."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock_logging import JsonLines, RepetitionFilter
from penstock_runtime import logs


def line(message: str, **fields: object) -> dict[str, object]:
    record = logging.LogRecord("penstock", logging.WARNING, "file", 1, message, (), None)
    for name, value in fields.items():
        setattr(record, name, value)
    context = {"connector": "a", "task": 0}
    formatter = JsonLines(lambda: context, lambda text: text.replace("hunter2", "${secret:db:pw}"))
    found = json.loads(formatter.format(record))
    assert isinstance(found, dict)
    return found


def test_a_line_is_json_with_connector_and_task() -> None:
    found = line("it happened", attempt=3)
    assert found["message"] == "it happened"
    assert found["level"] == "warning"
    assert (found["connector"], found["task"], found["attempt"]) == ("a", 0, 3)


def test_a_secret_is_never_in_a_line() -> None:
    assert "hunter2" not in json.dumps(line("login with hunter2 failed"))


def test_a_repeated_message_is_let_through_once_in_thirty_seconds() -> None:
    now = [0.0]
    seldom = RepetitionFilter(30, clock=lambda: now[0])

    def passes(message: str) -> bool:
        return seldom.filter(logging.LogRecord("x", logging.ERROR, "f", 1, message, (), None))

    assert passes("broker 1 down after 12ms")
    assert not passes("broker 1 down after 13ms")
    assert passes("another thing")
    now[0] = 31
    assert passes("broker 1 down after 12ms")


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root of all loggers, put back as it was."""
    found = logging.getLogger()
    handlers, level = found.handlers[:], found.level
    yield found
    found.handlers[:] = handlers
    found.setLevel(level)


def test_configure_sends_every_logger_to_one_stream(root: logging.Logger) -> None:
    stream = io.StringIO()
    logs.configure(level="INFO", stream=stream)
    logging.getLogger("somebody.else").info("hello")
    assert json.loads(stream.getvalue())["logger"] == "somebody.else"


def test_lines_can_go_to_a_descriptor(root: logging.Logger, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        logs.configure(descriptor=file.fileno())
        logging.getLogger("x").warning("hello")
    assert json.loads((tmp_path / "log").read_text())["message"] == "hello"


def test_what_is_said_is_a_line_even_where_only_errors_are_logged(root: logging.Logger) -> None:
    stream = io.StringIO()
    logs.configure(level="ERROR", stream=stream)
    logs.say("Kafka listens")
    assert json.loads(stream.getvalue())["message"] == "Kafka listens"


def test_at_a_terminal_people_read_words_and_the_log_goes_elsewhere(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.StringIO()
    logs.configure_for_terminal(level="INFO", stream=stream)
    logs.say("Kafka listens")
    logging.getLogger("x").info("detail")
    logging.getLogger("x").warning("look here")
    assert capsys.readouterr().err == "Kafka listens\npenstock: look here\n"
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == [
        "Kafka listens",
        "detail",
        "look here",
    ]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise ValueError('no')", "ValueError: no"),
        ("import threading; threading.Thread(target=lambda: 1 / 0).start()", "ZeroDivisionError: division by zero"),
        ("import warnings; warnings.warn('old hat')", "old hat"),
    ],
)
def test_what_python_itself_says_is_a_line(code: str, said: str) -> None:
    program = (
        "import penstock_logging; from penstock_runtime import logs; logs.configure(); "
        f"penstock_logging.log_warnings_and_uncaught_errors()\n{code}"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    assert said in json.loads(line)["message"]


def test_a_line_that_the_full_disk_of_the_log_does_not_take_is_nobodys_failure() -> None:
    program = (
        "import logging\n"
        "from penstock_runtime import logs\n"
        "from penstock_runtime.process import stdio_capture\n"
        "logs.configure(descriptor=2)\n"
        "stdio_capture.redirect_to_log(str)\n"
        "for n in range(1000): logging.getLogger('a').warning('line %d', n)\n"
        "import os; os.write(1, b'still here')\n"
    )
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=full, check=False)
    assert (done.stdout, done.returncode) == (b"still here", 0)
