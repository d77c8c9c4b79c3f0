"""Retries, and reports of records that fail permanently (connect-semantics 5)."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from penstock import ConnectError, DataError, RetriableError
from penstock_runtime.pipeline.dead_letters import context_headers
from penstock_runtime.pipeline.error_tolerance import (
    ErrorPolicy,
    Failure,
    RetryWithToleranceOperator,
    Stage,
    describe,
    fatal,
    sentence,
)


class Clock:
    """A time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


class Work:
    """Fails a number of times, then gives 7; notes when it was asked."""

    def __init__(self, clock: Clock, fails: int, error: Callable[[int], Exception]) -> None:
        self._clock = clock
        self._fails = fails
        self._error = error
        self.times: list[float] = []

    def __call__(self) -> int:
        self.times.append(round(self._clock.now - 100.0, 3))
        if len(self.times) <= self._fails:
            raise self._error(len(self.times))
        return 7


def attempt(
    policy: ErrorPolicy, fails: int, error: Callable[[int], Exception] = lambda n: RetriableError(f"try {n}")
) -> tuple[tuple[bool, int | None], list[float], RetryWithToleranceOperator]:
    clock = Clock()
    work = Work(clock, fails, error)
    operator = RetryWithToleranceOperator(policy, clock=clock, sleep=clock.sleep)
    return operator.attempt(5, Stage.TRANSFORMATION, "org.example.T", work), work.times, operator


FOR_EVER = 1_000_000


@pytest.mark.parametrize(
    ("timeout", "cap", "fails", "times"),
    [
        pytest.param(0.0, 60.0, FOR_EVER, [0.0], id="without a time-out there is one try"),
        pytest.param(1.5, 60.0, FOR_EVER, [0.0, 0.3, 0.9, 1.5], id="the last wait ends at the deadline"),
        pytest.param(0.2, 60.0, FOR_EVER, [0.0, 0.2], id="so does the first"),
        pytest.param(10.0, 60.0, 3, [0.0, 0.3, 0.9, 2.1], id="success ends it"),
        pytest.param(-1.0, 600.0, 9, [0.0, 0.3, 0.9, 2.1, 4.5, 9.3, 18.9, 38.1, 76.5, 153.3], id="for ever, doubling"),
    ],
)
def test_retries_wait_300_ms_doubled_each_time(timeout: float, cap: float, fails: int, times: list[float]) -> None:
    result, found, operator = attempt(ErrorPolicy(retry_timeout=timeout, retry_delay_max=cap), fails)
    assert found == pytest.approx(times)
    assert operator.retries == len(times) - 1
    assert result == ((False, None) if fails == FOR_EVER else (True, 7))


def test_plugin_sets_the_seconds_until_the_retry() -> None:
    _, times, _ = attempt(ErrorPolicy(retry_timeout=12.0), FOR_EVER, lambda n: RetriableError("429", retry_after=5))
    assert times == [0.0, 5.0, 10.0, 12.0]


def test_wait_beyond_the_cap_is_random_below_it() -> None:
    _, times, _ = attempt(ErrorPolicy(retry_timeout=-1, retry_delay_max=1.0), 200)
    waits = [b - a for a, b in pairwise(times)]
    assert waits[:2] == pytest.approx([0.3, 0.6])
    assert all(0 <= w < 1.001 for w in waits[2:])
    assert max(waits[2:]) > 0.7
    assert min(waits[2:]) < 0.3


def test_the_failure_is_the_last_one() -> None:
    _, _, operator = attempt(ErrorPolicy(retry_timeout=1.5), FOR_EVER)
    (failure,) = operator.failures
    assert (failure.position, failure.stage, failure.plugin) == (5, Stage.TRANSFORMATION, "org.example.T")
    assert str(failure.error) == "try 4"


@pytest.mark.parametrize("error", [DataError("bad"), ConnectError("bad"), ValueError("bad")])
def test_only_retriable_errors_are_tried_again(error: Exception) -> None:
    result, times, operator = attempt(ErrorPolicy(retry_timeout=-1), FOR_EVER, lambda n: error)
    assert (result, times) == ((False, None), [0.0])
    assert operator.failures[0].error is error


def test_a_record_that_waits_for_its_next_try_has_not_failed_when_the_task_stops() -> None:
    clock = Clock()
    operator = RetryWithToleranceOperator(
        ErrorPolicy(tolerate=True, retry_timeout=-1), lambda: clock.now >= 100.5, clock=clock, sleep=clock.sleep
    )

    def work() -> None:
        raise RetriableError("not yet")

    with pytest.raises(RetriableError, match="a record waits for its next attempt: not yet"):
        operator.attempt(0, Stage.VALUE_CONVERTER, "C", work)
    assert operator.failures == []
    assert clock.now < 100.7  # at once, not at the end of the wait


def raised(error: Exception) -> Exception:
    try:
        raise error
    except type(error) as e:
        return e


FAILURE = Failure(1, Stage.VALUE_CONVERTER, "org.example.C", raised(DataError("no such word: ä")))


def test_headers_of_a_dead_letter_are_in_kafka_connects_order() -> None:
    where = {"topic": "t", "partition": 0, "offset": 1, "connector.name": "c", "task.id": 0}
    found = context_headers(FAILURE, where)
    assert [(k.removeprefix("__connect.errors."), v) for k, v in found[:-1]] == [
        ("topic", b"t"),
        ("partition", b"0"),
        ("offset", b"1"),
        ("connector.name", b"c"),
        ("task.id", b"0"),
        ("stage", b"VALUE_CONVERTER"),
        ("class.name", b"org.example.C"),
        ("exception.class.name", b"penstock.errors.DataError"),
        ("exception.message", "no such word: ä".encode()),
    ]
    name, trace = found[-1]
    assert name == "__connect.errors.exception.stacktrace"
    assert trace is not None
    assert b"Traceback (most recent call last)" in trace


def test_an_error_without_a_message_gives_a_header_without_a_value() -> None:
    failure = Failure(0, Stage.TASK_PUT, "C", raised(ValueError()))
    assert dict(context_headers(failure, {}))["__connect.errors.exception.message"] is None


def test_the_error_that_ends_a_task_says_where_what_and_what_to_do_and_keeps_the_cause() -> None:
    error = fatal(FAILURE, ErrorPolicy(), where="record at t-0 offset 1", task="c-0")
    assert str(error) == (
        "Tolerance exceeded in error handler: record at t-0 offset 1 failed in task c-0 at stage VALUE_CONVERTER "
        "(org.example.C): DataError: no such word: ä. Correct the data or the configuration and restart, or set "
        "errors.tolerance=all (with errors.deadletterqueue.topic.name, to keep such records) to skip it."
    )
    assert error.__cause__ is FAILURE.error


def test_a_record_that_asks_to_be_tried_again_later_fails_with_the_property_that_grants_it() -> None:
    failure = Failure(0, Stage.TRANSFORMATION, "acme:call", RetriableError("503"))
    error = fatal(failure, ErrorPolicy(retry_timeout=1.5), where="record at t-0 offset 1", task="c-0")
    assert str(error) == (
        "Tolerance exceeded in error handler: record at t-0 offset 1 failed in task c-0 at stage TRANSFORMATION "
        "(acme:call): RetriableError: 503. The plugin requests a later retry: set errors.retry.timeout (now 1500) to the "
        "number of milliseconds for which to retry, or to -1 to retry forever, or set errors.tolerance=all (with "
        "errors.deadletterqueue.topic.name, to keep such records) to skip it."
    )


def test_reported_record_is_not_retried() -> None:
    failure = Failure(0, Stage.TASK_PUT, "acme:Sink", RetriableError("503"))
    assert "errors.retry.timeout" not in str(fatal(failure, ErrorPolicy(), where="it", task="c-0"))


def test_one_line_notes_are_part_of_the_message_and_traces_are_not() -> None:
    error = ValueError("x")
    error.add_note("behind the cursor 7")
    error.add_note("Traceback:\n  ...")
    assert (describe(error), sentence(error)) == ("ValueError: x; behind the cursor 7",) * 2


def test_an_error_is_described_by_class_and_message() -> None:
    assert describe(ValueError("x")) == "ValueError: x"
    assert describe(ValueError()) == "ValueError"


def test_the_deadline_counts_from_the_beginning_of_the_first_try() -> None:
    clock = Clock()
    began: list[float] = []

    def slow() -> None:
        began.append(round(clock.now - 100.0, 3))
        clock.now += 1.0
        raise RetriableError("timed out")

    operator = RetryWithToleranceOperator(ErrorPolicy(retry_timeout=1.5), clock=clock, sleep=clock.sleep)
    operator.attempt(0, Stage.VALUE_CONVERTER, "C", slow)
    assert began == pytest.approx([0.0, 1.3])  # and not at 2.6: the second try ends past 1.5
    assert operator.retries == 1


@pytest.mark.parametrize("cap", [0.0, -1.0])
def test_retry_delay_max_of_zero_means_no_wait(cap: float) -> None:
    result, times, _ = attempt(ErrorPolicy(retry_timeout=5.0, retry_delay_max=cap), 3)
    assert (result, times) == ((True, 7), [0.0] * 4)


def failing(position: int, operator: RetryWithToleranceOperator, tried: list[int]) -> None:
    def work() -> None:
        tried.append(position)
        raise DataError(f"record {position}")

    assert operator.attempt(position, Stage.TRANSFORMATION, "T", work) == (False, None)


def test_without_tolerance_records_after_the_first_failure_are_not_tried() -> None:
    tried: list[int] = []
    operator = RetryWithToleranceOperator(ErrorPolicy())
    for position in (5, 6, 9, 3, 4, 5, 2):
        failing(position, operator, tried)
    assert tried == [5, 3, 2]
    assert [f.position for f in operator.failures] == [5, 3, 2]


def test_with_tolerance_every_record_is_tried() -> None:
    tried: list[int] = []
    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    for position in (5, 6, 3):
        failing(position, operator, tried)
    assert tried == [5, 6, 3]


def test_memory_error_is_not_tolerated() -> None:
    def work() -> None:
        raise MemoryError

    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    with pytest.raises(MemoryError):
        operator.attempt(0, Stage.TRANSFORMATION, "T", work)
    assert operator.failures == []


def test_message_with_invalid_unicode_is_reported() -> None:
    failure = Failure(0, Stage.TRANSFORMATION, "T", raised(DataError("half a pair: \ud83d")))
    headers = dict(context_headers(failure, {}))
    assert headers["__connect.errors.exception.message"] == rb"half a pair: \ud83d"
    assert describe(failure.error) == r"DataError: half a pair: \ud83d"
    assert str(fatal(failure, ErrorPolicy(), where="record", task="c-0")).isascii()


def test_secrets_in_messages_of_plugins_are_masked() -> None:
    failure = Failure(0, Stage.TRANSFORMATION, "T", raised(DataError("login with hunter2 failed")))
    headers = context_headers(failure, {"topic": "t"}, lambda text: text.replace("hunter2", "${secret:db:password}"))
    assert all(b"hunter2" not in (v or b"") for _, v in headers)
    assert dict(headers)["__connect.errors.exception.message"] == b"login with ${secret:db:password} failed"


def test_an_outage_is_waited_for_unless_a_timeout_is_set() -> None:
    def error(n: int) -> RetriableError:
        return RetriableError(f"try {n}", outage=True)

    waited, times, operator = attempt(ErrorPolicy(tolerate=True), 20, error)
    assert waited == (True, 7)
    assert len(times) == 21
    assert operator.failures == []
    given_up, times, operator = attempt(ErrorPolicy(tolerate=True, retry_timeout=1.5), 20, error)
    assert given_up == (False, None)
    assert times == [0.0, 0.3, 0.9, 1.5]
    assert len(operator.failures) == 1
