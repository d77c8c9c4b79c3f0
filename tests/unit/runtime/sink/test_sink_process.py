"""Retries of a sink's writes, and reports about each record."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import pytest

from penstock import (
    ConnectError,
    DataError,
    Header,
    HeaderConverter,
    Record,
    RecordBatch,
    Reporter,
    RetriableError,
    Schema,
    TopicPartition,
    Transform,
    Writer,
)
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.kafka.producer_buffer import Outgoing, Refused
from penstock_runtime.pipeline.chain import Step
from penstock_runtime.pipeline.converters import Converters
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink.sink_process import PutRetries, SinkProcess


def process(told: list[str | None], **more: Any) -> SinkProcess:
    nothing = cast("Any", None)
    return SinkProcess(
        nothing,
        connector="c",
        task=0,
        policy=ErrorPolicy(),
        retries=PutRetries(),
        writer=lambda: nothing,
        stopping=lambda: False,
        sleep=lambda seconds: None,
        trouble=told.append,
        **{"steps": (), "converters": nothing, **more},
    )


class Refusing:
    """Refuses twice, then does it."""

    def __init__(self) -> None:
        self.left = 2

    def __call__(self) -> str:
        if self.left:
            self.left -= 1
            raise RetriableError("the table is locked")
        return "done"


def test_driver_retries_and_reports_it() -> None:
    told: list[str | None] = []
    summary = Summary()
    assert process(told).retrying(Refusing(), summary) == "done"
    assert summary.retries == 2
    assert [t and "the table is locked" in t for t in told] == [True, True, None]


def test_worker_passes_a_request_to_wait_to_the_driver() -> None:
    told: list[str | None] = []
    with pytest.raises(RetriableError, match="the table is locked"):
        process(told, retries_here=False).retrying(Refusing(), Summary())
    assert told == []


def portion(types: int | list[int]) -> Consumed:
    return Consumed(TopicPartition("t", 0), [7, 8], [b"a", b"b"], None, None, [5, None], types)


def test_timestamp_types_have_kafkas_names() -> None:
    assert [portion(2).timestamp_type_of(row) for row in (0, 1)] == ["LogAppendTime", "LogAppendTime"]
    mixed = portion([1, 0])
    assert [mixed.timestamp_type_of(row) for row in (0, 1)] == ["CreateTime", "NoTimestampType"]
    assert mixed.cut(1, 2).timestamp_type_of(0) == "NoTimestampType"
    assert portion(2).cut(1, 2).timestamp_type_of(0) == "LogAppendTime"


class Anew(Transform):
    """Makes records from nothing."""

    def apply(self, record: Record) -> Record | None:
        return None if record.value == "b" else Record(topic="x", value=record.value)


class Text:
    reads_headers = writes_headers = False

    def to_connect(self, topic: str, data: bytes | None) -> tuple[None, str | None]:
        return None, None if data is None else data.decode()

    def to_connect_batch(self, topic: str, data: Sequence[bytes | None]) -> tuple[None, list[str | None]]:
        return None, [self.to_connect(topic, d)[1] for d in data]


def test_records_made_by_a_transform_have_the_offsets_of_its_input() -> None:
    text = cast("Any", Text())
    converters = Converters(text, text, text, ("k", "v", "h"))
    made = process([], steps=(Step("anew", Anew(), "Anew"),), converters=converters)
    consumed = Consumed(TopicPartition("t", 3), [7, 9, 12], [b"a", b"b", b"c"], None, None, [5, 6, 7])
    summary = Summary()
    batch = made.convert(consumed, summary)
    assert [(r.topic, r.original) for r in batch.records()] == [("x", ("t", 3, 7)), ("x", ("t", 3, 12))]
    assert (summary.read, summary.dropped, summary.offsets) == (3, 1, [("t", 3, 13)])


# Records that a sink hands back


class Queue:
    """A dead letter queue that keeps what it is given, once it was waited for."""

    def __init__(self) -> None:
        self.letters: list[Outgoing] = []
        self._under_way: list[Outgoing] = []
        self.away = self.closed = False

    def send(self, outgoing: Outgoing) -> list[Refused]:
        self._under_way.append(outgoing)
        return []

    def flush(self, *, within: float = 0.0) -> list[ConnectError]:
        if self.away:
            raise RetriableError("Kafka is away")
        self.letters += self._under_way
        self._under_way = []
        return []

    def close(self) -> None:
        self._under_way = []
        self.closed = True

    @property
    def values(self) -> list[bytes | None]:
        return [v for letter in self.letters for v in letter.value or ()]


Act = Callable[[list[Record], Reporter, int], Any]


class HeaderText(HeaderConverter):
    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        raise NotImplementedError

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        return Header(name, data)


class Scripted(Writer):
    """Does what a test says, and counts how often."""

    def __init__(self, act: Act) -> None:
        self._act = act
        self.tries = 0

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        self.tries += 1
        return self._act([r for b in batches for r in b.records()], report, self.tries)


def sink(act: Act, policy: ErrorPolicy, **more: Any) -> tuple[SinkProcess, Scripted, Queue]:
    writer, text = Scripted(act), cast("Any", Text())
    headers = cast("Any", HeaderText())
    made = SinkProcess(
        cast("Any", None),
        connector="c",
        task=0,
        policy=policy,
        retries=PutRetries(),
        stopping=lambda: False,
        sleep=lambda seconds: None,
        **{
            "writer": lambda: writer,
            "steps": (),
            "converters": Converters(text, text, headers, ("k", "v", "h")),
            **more,
        },
    )
    queue = Queue()
    made._dead_letters._producer = cast("Any", queue)
    return made, writer, queue


def three() -> list[Consumed]:
    return [Consumed(TopicPartition("t", 3), [7, 9, 12], [b"a", b"b", b"c"], None, None, [5, 6, 7])]


ALL = ErrorPolicy(tolerate=True, dead_letter_topic="dlq")
NONE = ErrorPolicy(dead_letter_topic="dlq")


def test_record_reported_by_earlier_attempts_has_one_dead_letter() -> None:
    def act(records: list[Record], report: Reporter, attempt: int) -> None:
        if attempt < 3:
            report(records[1], DataError(f"refused in try {attempt}"))
            raise RetriableError("the table is locked")

    process, writer, queue = sink(act, ALL)
    summary = process.put(three())
    assert writer.tries == 3
    assert queue.values == [b"b"]
    assert (summary.written, summary.failures, summary.dead_letters, summary.retries) == (2, 1, 1, 2)


def test_error_of_the_writer_names_type_place_and_records() -> None:
    def act(records: list[Record], report: Reporter, attempt: int) -> None:
        raise KeyError("id")

    process, _, _ = sink(act, ALL)
    expected = r"Writing t-3 offsets 7 to 12: KeyError: 'id', in .*<locals>\.act \(test_sink_process\.py, line \d+\)$"
    with pytest.raises(ConnectError, match=expected):
        process.put(three())


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"rows": {1, 2}}, "set cannot be sent to another process; use strings, numbers, bytes, lists and dicts"),
        (["\ud800"], "'utf-8' codec can't encode character"),
        (1 << 64, ""),
    ],
)
def test_invalid_message_names_method_and_records_after_dead_letters_are_written(message: Any, reason: str) -> None:
    def act(records: list[Record], report: Reporter, attempt: int) -> Any:
        report(records[1], DataError("refused"))
        return message

    process, _, queue = sink(act, ALL)
    with pytest.raises(ConnectError) as e:
        process.put(three())
    assert str(e.value).startswith(
        "Scripted.write returned a message for `Sink.commit` that a worker cannot send (Writing t-3 offsets 7 to 12): "
        + reason
    )
    assert str(e.value).endswith("Tell the plugin's author")
    assert queue.values == [b"b"]


def test_invalid_message_of_staged_names_the_method() -> None:
    class Stages(Scripted):
        def stage(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
            pass

        def staged(self) -> Any:
            return object()

    process, _, _ = sink(lambda records, report, attempt: None, ALL, writer=lambda: Stages(lambda *of: None))
    process.put(three(), stage=True)
    expected = "Stages.staged returned a message for `Sink.commit` that a worker cannot send: object cannot be sent"
    with pytest.raises(ConnectError, match=expected):
        process.staged()


@pytest.mark.parametrize("after", ["goes on", "asks to wait", "fails", "stops asking"])
@pytest.mark.parametrize("retries_here", [True, False])
def test_reported_record_fails_the_task_without_tolerance_even_if_the_sink_ignores_the_error(
    after: str, retries_here: bool
) -> None:
    def act(records: list[Record], report: Reporter, attempt: int) -> None:
        with suppress(ConnectError):
            report(records[1], DataError("refused"))
        if after == "asks to wait" or (after == "stops asking" and attempt == 1):
            raise RetriableError("the table is locked")
        if after == "fails":
            raise ValueError("something else")

    process, writer, queue = sink(act, NONE, retries_here=retries_here)
    with pytest.raises(ConnectError) as e:
        process.put(three())
    assert not isinstance(e.value, RetriableError)  # which would make the driver try again
    assert str(e.value).startswith(
        "Tolerance exceeded in error handler: record at t-3 offset 9 failed in task c-0 at stage TASK_PUT "
        "(org.apache.kafka.connect.sink.SinkTask): DataError: refused."
    )
    assert isinstance(e.value.__cause__, DataError)
    assert writer.tries == 1
    assert queue.values == [b"b"]


@pytest.mark.parametrize(
    ("arguments", "called_with"),
    [
        (lambda r: (DataError("no"), r), "a value of type DataError and a value of type Record"),
        (lambda r: (r, "no"), "a value of type Record and a value of type str"),
        (lambda r: (r.value, DataError("no")), "a value of type str and a value of type DataError"),
        (lambda r: (r,), "a value of type Record and None"),
        (lambda r: (r, DataError), "a value of type Record and the class DataError"),
    ],
)
@pytest.mark.parametrize("after", ["fails", "goes on", "asks to wait"])
def test_invalid_report_fails_the_task_even_if_the_sink_ignores_the_error(
    arguments: Callable[[Record], Any], called_with: str, after: str
) -> None:
    def act(records: list[Record], report: Any, attempt: int) -> None:
        try:
            report(*arguments(records[1]))
        except TypeError as e:
            if after == "fails":
                raise
            if after == "asks to wait":
                raise RetriableError("not now") from e

    process, _, queue = sink(act, ALL)
    with pytest.raises(ConnectError) as raised:
        process.put(three())
    assert "TypeError: report takes a Record and an exception that states the reason" in str(raised.value)
    assert f"; it was called with {called_with}, in " in str(raised.value)
    assert queue.values == []


def test_report_from_another_thread_counts() -> None:
    def act(records: list[Record], report: Reporter, attempt: int) -> None:
        thread = threading.Thread(target=quietly, args=(report, records[2]))
        thread.start()
        thread.join()

    process, _, _ = sink(act, NONE)
    with pytest.raises(ConnectError, match="record at t-3 offset 12 failed"):
        process.put(three())


def quietly(report: Reporter, record: Record) -> None:
    with suppress(ConnectError):
        report(record, DataError("refused"))


@pytest.mark.parametrize("policy", [ALL, NONE])
def test_a_report_that_comes_late_fails_the_task_before_the_next_batch(policy: ErrorPolicy) -> None:
    kept: list[tuple[Reporter, Record]] = []
    process, writer, queue = sink(lambda records, report, attempt: kept.append((report, records[0])), policy)
    process.put(three())
    process.put(three())
    report, record = kept[0]
    with pytest.raises(ConnectError, match="record at t-3 offset 7 after `write` has returned: its offset may"):
        report(record, DataError("refused"))
    with pytest.raises(ConnectError, match="may already be committed"):  # the plugin may have swallowed it
        process.put(three())
    assert (writer.tries, queue.letters) == (2, [])


def test_invalid_late_report_fails_the_task() -> None:
    kept: list[Any] = []
    process, _, _ = sink(lambda records, report, attempt: kept.append(report), ALL)
    process.put(three())
    with pytest.raises(TypeError, match="report takes a Record"):
        kept[0]("b", DataError("no"))
    with pytest.raises(
        ConnectError, match=r"^cannot accept a report after `write` has returned: report takes a Record"
    ):
        process.put(three())


def test_put_fails_until_the_dead_letters_of_the_batch_are_in_kafka() -> None:
    lost: list[Summary] = []
    process, _, queue = sink(
        lambda records, report, attempt: report(records[0], DataError("refused")),
        ALL,
        retries_here=False,
        lost=lost.append,
    )
    queue.away = True
    with pytest.raises(RetriableError, match="cannot write records to the dead letter queue 'dlq' yet: Kafka is away"):
        process.put(three())
    assert [(s.dead_letters, s.dead_letters_lost) for s in lost] == [(1, 1)]
    assert queue.closed  # the letters come again, by another client


class Picky(Text):
    def to_connect(self, topic: str, data: bytes | None) -> tuple[None, str | None]:
        if data == b"b":
            raise DataError("no text")
        return super().to_connect(topic, data)


def test_untolerated_record_is_a_dead_letter_and_fails_the_task() -> None:
    picky = cast("Any", Picky())
    converters = Converters(picky, picky, picky, ("k", "v", "h"))
    process, writer, queue = sink(lambda records, report, attempt: None, NONE, converters=converters)
    with pytest.raises(ConnectError, match="record at t-3 offset 9 failed in task c-0 at stage VALUE_CONVERTER"):
        process.put(three())
    assert (writer.tries, queue.values) == (0, [b"b"])


def test_unreachable_dead_letter_queue_does_not_hide_the_failure(caplog: pytest.LogCaptureFixture) -> None:
    process, _, queue = sink(lambda records, report, attempt: report(records[0], DataError("refused")), NONE)
    queue.away = True
    with pytest.raises(ConnectError, match=r"record at t-3 offset 7 failed .* DataError: refused"):
        process.put(three())
    assert "Cannot write the record that fails the task to the dead letter queue" in caplog.text


class Stern(Transform):
    """Refuses every record."""

    def __init__(self, error: str) -> None:
        self._error = error

    def apply(self, record: Record) -> Record | None:
        raise DataError(self._error)


def test_dead_letter_has_the_original_bytes_and_context_headers_last() -> None:
    policy = ErrorPolicy(tolerate=True, dead_letter_topic="dlq", dead_letter_headers=True)
    process, writer, queue = sink(
        lambda records, report, attempt: None,
        policy,
        redact=lambda t: t.replace("pw", "***"),
        steps=(Step("r", Stern("no, pw"), "org.example.T"),),
    )
    headers = [[("h", b"\xff"), ("__connect.errors.topic", b"old"), ("n", None)], []]
    summary = process.put([Consumed(TopicPartition("t", 3), [7, 9], [None, b"{}"], [b"k", None], headers, [5, None])])
    one, two = queue.letters
    assert (one.topic, one.key, one.value, one.timestamp, one.partition) == ("dlq", [b"k"], [None], 5, None)
    assert (two.key, two.value, two.timestamp) == ([None], [b"{}"], None)
    assert one.headers is not None
    assert one.headers[0][:3] == [("h", b"\xff"), ("__connect.errors.topic", b"old"), ("n", None)]
    context = [(name.removeprefix("__connect.errors."), value) for name, value in one.headers[0][3:]]
    assert context[:-1] == [
        ("topic", b"t"),
        ("partition", b"3"),
        ("offset", b"7"),
        ("connector.name", b"c"),
        ("task.id", b"0"),
        ("stage", b"TRANSFORMATION"),
        ("class.name", b"org.example.T"),
        ("exception.class.name", b"penstock.errors.DataError"),
        ("exception.message", b"no, ***"),
    ]
    assert context[-1][0] == "exception.stacktrace"
    assert b"pw" not in (context[-1][1] or b"")
    assert (writer.tries, summary.failures, summary.dead_letters, summary.offsets) == (0, 2, 2, [("t", 3, 10)])


@pytest.mark.parametrize(("log", "messages"), [(False, True), (True, False), (True, True)])
def test_log_line_of_a_sink_has_the_records_position_and_no_values(log: bool, messages: bool) -> None:
    process, _, _ = sink(
        lambda records, report, attempt: None,
        ErrorPolicy(tolerate=True, log=log, log_messages=messages),
        steps=(Step("r", Stern("no"), "org.example.T"),),
    )
    consumed = Consumed(TopicPartition("t", 3), [7], [b"content"], [b"content"], None, [5], 1)
    where = ", where consumed record is {topic='t', partition=3, offset=7, timestamp=5, timestampType=CreateTime}"
    start = "Error encountered in task c-0. Executing stage 'TRANSFORMATION' with class 'org.example.T'"
    expected = [f"{start}{where if messages else ''}. DataError: no"] if log else []
    summary = process.put([consumed])
    assert (summary.log, summary.logged) == (expected, len(expected))


@pytest.mark.parametrize("messages", [1, 60])
def test_fifty_failures_are_logged_and_all_are_counted(messages: int) -> None:
    policy, steps = ErrorPolicy(tolerate=True, log=True), (Step("r", Stern("no"), "T"),)
    process, _, _ = sink(lambda records, report, attempt: None, policy, steps=steps)
    rows = list(range(messages))
    times: list[int | None] = [None for _ in rows]
    summary = process.put([Consumed(TopicPartition("t", 3), rows, [b"x" for _ in rows], None, None, times)])
    assert (len(summary.log), summary.logged, summary.failures) == (min(50, messages), messages, messages)


def test_unexpected_error_of_a_transform_names_file_and_line_without_tolerance() -> None:
    class Looks(Transform):
        def apply(self, record: Record) -> Record | None:
            return record.replace(value=record.value["id"])

    process, _, _ = sink(lambda *of: None, NONE, steps=(Step("looks", Looks(), "Looks"),))
    expected = (
        r"record at t-3 offset 7 failed in task c-0 at stage TRANSFORMATION \(Looks\): TypeError: string indices must be "
        r"integers, not 'str', in .*Looks\.apply \(test_sink_process\.py, line \d+\)\. Correct the data"
    )
    with pytest.raises(ConnectError, match=expected):
        process.put(three())
