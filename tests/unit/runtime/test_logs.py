"""Log lines: structured, without secrets, without endless repetition."""

import io
import json
import logging

from penstock_runtime import logs


def line(message: str, **fields: object) -> dict[str, object]:
    record = logging.LogRecord("penstock", logging.WARNING, "file", 1, message, (), None)
    for name, value in fields.items():
        setattr(record, name, value)
    context = {"connector": "a", "task": 0}
    formatter = logs.JsonLines(lambda: context, lambda text: text.replace("hunter2", "${secret:db:pw}"))
    found = json.loads(formatter.format(record))
    assert isinstance(found, dict)
    return found


def test_a_line_is_json_with_connector_and_task() -> None:
    found = line("it happened", attempt=3)
    assert found["message"] == "it happened"
    assert found["level"] == "warning"
    assert (found["connector"], found["task"], found["attempt"]) == ("a", 0, 3)


def test_a_secret_never_stands_in_a_line() -> None:
    assert "hunter2" not in json.dumps(line("login with hunter2 failed"))


def test_a_repeated_message_is_let_through_once_in_thirty_seconds() -> None:
    now = [0.0]
    seldom = logs.Seldom(30, clock=lambda: now[0])

    def passes(message: str) -> bool:
        return seldom.filter(logging.LogRecord("x", logging.ERROR, "f", 1, message, (), None))

    assert passes("broker 1 down after 12ms")
    assert not passes("broker 1 down after 13ms")
    assert passes("another thing")
    now[0] = 31
    assert passes("broker 1 down after 12ms")


def test_configure_sends_every_logger_to_one_stream() -> None:
    stream = io.StringIO()
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        logs.configure(level="INFO", stream=stream)
        logging.getLogger("somebody.else").info("hello")
    finally:
        root.handlers[:], level = before[0], before[1]
        root.setLevel(level)
    assert json.loads(stream.getvalue())["logger"] == "somebody.else"
