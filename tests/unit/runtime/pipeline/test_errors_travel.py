"""What a worker of Spark met reaches the driver, and what ends a task its states, whatever a plugin has put into words."""

import json
import re

import msgspec
import pytest

from penstock import ConnectError, DataError, RetriableError
from penstock_runtime.spark.worker import failure, part
from penstock_runtime.task.process import _End


@pytest.mark.parametrize("error", [RetriableError("half a pair: \ud83d"), ConnectError("half a pair: \ud83d")])
def test_a_message_that_is_no_unicode_travels_all_the_same(error: ConnectError) -> None:
    answer = failure(error)
    assert answer.kind == ("retriable" if isinstance(error, RetriableError) else "fatal")
    assert answer.message == r"half a pair: \ud83d"
    assert answer.trace.encode()


def test_how_long_to_wait_travels_with_an_error_that_may_pass() -> None:
    error = part(msgspec.msgpack.encode(failure(RetriableError("not yet", retry_after=2.5)))).error
    assert isinstance(error, RetriableError)
    assert (str(error), error.retry_after) == ("not yet", 2.5)


def test_the_end_of_a_task_can_be_written_down_whatever_its_cause_says() -> None:
    error = ConnectError("Tolerance exceeded")
    error.__cause__ = DataError("half a pair: \ud83d, hunter2")
    end = _End.by(error, lambda text: text.replace("hunter2", "[hidden]"))
    assert end.trace is not None
    assert r"half a pair: \ud83d, [hidden]" in end.trace
    assert json.dumps([end.message, end.trace], ensure_ascii=False).encode()


def read() -> None:
    raise KeyError("id")


def test_an_error_that_a_plugin_did_not_mean_has_its_type_and_its_place_in_the_state_of_the_task_and_from_a_worker() -> (
    None
):
    with pytest.raises(KeyError) as raised:
        read()
    expected = r"KeyError: 'id', in read \(test_errors_travel\.py, line \d+\)"
    for message in (_End.by(raised.value, str).message, failure(raised.value).message):
        assert message is not None
        assert re.fullmatch(expected, message)
