"""Errors of Spark workers reach the driver, and the end of a task is reported, for any text of a plugin."""

import json
import re

import msgspec
import pytest

from penstock import ConnectError, DataError, RetriableError
from penstock_runtime.spark.worker import failure, part
from penstock_runtime.task.runner import _End


@pytest.mark.parametrize("error", [RetriableError("half a pair: \ud83d"), ConnectError("half a pair: \ud83d")])
def test_message_with_invalid_unicode_survives_encoding(error: ConnectError) -> None:
    answer = failure(error)
    assert answer.kind == ("retriable" if isinstance(error, RetriableError) else "fatal")
    assert answer.message == r"half a pair: \ud83d"
    assert answer.trace.encode()


def test_retry_after_survives_encoding() -> None:
    error = part(msgspec.msgpack.encode(failure(RetriableError("not yet", retry_after=2.5)))).error
    assert isinstance(error, RetriableError)
    assert (str(error), error.retry_after) == ("not yet", 2.5)


def test_end_of_a_task_can_be_written_for_any_error_text() -> None:
    error = ConnectError("Tolerance exceeded")
    error.__cause__ = DataError("half a pair: \ud83d, hunter2")
    end = _End.by(error, lambda text: text.replace("hunter2", "[hidden]"))
    assert end.trace is not None
    assert r"half a pair: \ud83d, [hidden]" in end.trace
    assert json.dumps([end.message, end.trace], ensure_ascii=False).encode()


def read() -> None:
    raise KeyError("id")


def test_unexpected_error_has_type_and_place_in_the_state_and_from_a_worker() -> None:
    with pytest.raises(KeyError) as raised:
        read()
    expected = r"KeyError: 'id', in read \(test_errors_travel\.py, line \d+\)"
    for message in (_End.by(raised.value, str).message, failure(raised.value).message):
        assert message is not None
        assert re.fullmatch(expected, message)
