"""Failed records of a source task: the log line, the dead letter, the end of the task."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from penstock import ConnectError, Converter, DataError, Header, HeaderConverter, Record, RecordBatch, Schema, Transform
from penstock_model.connect.redaction import Redactor
from penstock_model.connect.variables import Secret
from penstock_plugins.transforms.insert_field import InsertField
from penstock_runtime.kafka.producer_buffer import Outgoing, Refused
from penstock_runtime.pipeline.chain import Step
from penstock_runtime.pipeline.converters import Converters
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.source.delivery import Delivery


class Refusing(Transform):
    """Refuses values that hold `bad`."""

    def apply(self, record: Record) -> Record | None:
        if "bad" in str(record.value):
            raise DataError("refused, with hunter2")
        return record


class Text(Converter):
    """Refuses `odd`."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value == "odd":
            raise DataError("refused odd")
        return None if value is None else str(value).encode()

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        raise NotImplementedError


class HeaderText(HeaderConverter):
    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return Text().from_connect(topic, schema, value)

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        raise NotImplementedError


class Topic:
    """Takes what is sent, but values that say that they are too long."""

    def __init__(self) -> None:
        self.sent: list[Outgoing] = []

    def send(self, outgoing: Outgoing) -> list[Refused]:
        self.sent.append(outgoing)
        values = outgoing.value or ()
        return [Refused(n, ConnectError("too large")) for n, v in enumerate(values) if b"too long" in (v or b"")]


def delivery(policy: ErrorPolicy, *steps: Step, bury: Callable[[Outgoing], None] | None = None) -> Delivery:
    converters = Converters(Text(), Text(), HeaderText(), ("K", "V", "H"))
    return Delivery(
        connector="c",
        task=1,
        steps=steps or (Step("r", Refusing(), "org.example.Refusing"),),
        converters=converters,
        policy=policy,
        forbidden=None,
        stopping=lambda: False,
        bury_alone=bury,
        redact=Redactor([Secret("${secret:db:password}", "hunter2")]),
    )


def batch(*values: Any, **more: Any) -> RecordBatch:
    return RecordBatch(length=len(values), topic="t", value=list(values), **more)


DLQ = ErrorPolicy(tolerate=True, dead_letter_topic="dlq", dead_letter_headers=True)
PREFIX = "__connect.errors."


def test_dead_letter_is_in_the_transaction_of_its_batch_with_the_sources_values() -> None:
    port, summary = Topic(), Summary()
    given = batch(
        "a",
        "bad",
        "b",
        key=["k0", "k1", "k2"],
        partition=3,
        timestamp=[10, 11, 12],
        headers=[(), (Header("h", 5), Header("i", None)), ()],
    )
    delivery(DLQ).run_stage([given], port, summary, where="source c")
    records, letter = port.sent
    assert (records.topic, records.value) == ("t", [b"a", b"b"])
    assert (letter.topic, letter.key, letter.value, letter.timestamp) == ("dlq", [b"k1"], [b"bad"], 11)
    assert letter.partition is None
    assert letter.headers is not None
    headers = letter.headers[0]
    assert headers[:2] == [("h", b"5"), ("i", None)]
    assert [name for name, _ in headers[2:]] == [
        PREFIX + n
        for n in (
            "topic",
            "partition",
            "connector.name",
            "task.id",
            "stage",
            "class.name",
            "exception.class.name",
            "exception.message",
            "exception.stacktrace",
        )
    ]
    assert [v for _, v in headers[2:-1]] == [
        b"t",
        b"3",
        b"c",
        b"1",
        b"TRANSFORMATION",
        b"org.example.Refusing",
        b"penstock.errors.DataError",
        b"refused, with ${secret:db:password}",
    ]
    assert b"hunter2" not in (headers[-1][1] or b"")
    assert (summary.failures, summary.dead_letters, summary.dead_letters_lost, summary.written) == (1, 1, 0, 2)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        pytest.param("bad ä", "bad ä".encode(), id="a text is UTF-8"),
        pytest.param(b"bad\xff", b"bad\xff", id="bytes stay"),
        pytest.param({"bad": [1, None]}, b"{'bad': [1, None]}", id="all else is as Python writes it"),
        pytest.param("bad \ud83d", b"bad ?", id="and half a character cannot be written"),
    ],
)
def test_dead_letter_of_other_values_is_readable_text(value: Any, data: bytes) -> None:
    port = Topic()
    delivery(ErrorPolicy(tolerate=True, dead_letter_topic="dlq")).run_stage([batch(value)], port, Summary(), where="s")
    (letter,) = port.sent
    assert letter.value == [data]
    assert letter.headers == [[]]  # nobody asked for them


def test_invalid_timestamp_does_not_prevent_the_dead_letter() -> None:
    port = Topic()
    delivery(DLQ).run_stage([batch("bad", timestamp=[-5])], port, Summary(), where="s")
    assert port.sent[0].timestamp is None


@pytest.mark.parametrize("stage", ["TRANSFORMATION", "VALUE_CONVERTER", "KEY_CONVERTER", "HEADER_CONVERTER"])
def test_failure_at_each_stage_of_a_source_has_a_dead_letter(stage: str) -> None:
    value = {"TRANSFORMATION": "bad", "VALUE_CONVERTER": "odd"}.get(stage, "v")
    key = "odd" if stage == "KEY_CONVERTER" else "k"
    headers = [(Header("h", "odd" if stage == "HEADER_CONVERTER" else "x"),)]
    port = Topic()
    delivery(DLQ).run_stage([batch(value, key=[key], headers=headers)], port, Summary(), where="s")
    (letter,) = port.sent
    assert dict((letter.headers or ())[0])[f"{PREFIX}stage"] == stage.encode()


def test_refused_record_is_a_dead_letter_if_the_queue_takes_it() -> None:
    class Long(Transform):
        def apply(self, record: Record) -> Record | None:
            return record.replace(value="too long")

    port, summary = Topic(), Summary()
    delivery(DLQ, Step("l", Long(), "L")).run_stage([batch("short")], port, summary, where="s")
    _, letter = port.sent
    headers = dict((letter.headers or ())[0])
    assert (letter.value, headers[f"{PREFIX}stage"]) == ([b"short"], b"KAFKA_PRODUCE")
    assert headers[f"{PREFIX}class.name"] == b"org.apache.kafka.connect.runtime.WorkerSourceTask"
    assert (summary.written, summary.failures, summary.dead_letters) == (0, 1, 1)


def test_refused_dead_letter_is_always_logged() -> None:
    port, summary = Topic(), Summary()
    delivery(DLQ).run_stage([batch("bad and far too long")], port, summary, where="s")
    assert (summary.dead_letters, summary.dead_letters_lost, summary.logged) == (1, 1, 1)
    assert summary.log == [
        "cannot write a failed record for topic 't' to the dead letter queue 'dlq', so it is only skipped: too large"
    ]


def test_log_shows_the_record_of_the_source_and_not_of_transforms() -> None:
    insert = InsertField()
    insert.configure(InsertField.Config.parse({"static.field": "added", "static.value": "x"}))
    steps = [Step("i", insert, "I"), Step("r", Refusing(), "R")]
    policy = ErrorPolicy(tolerate=True, log=True, log_messages=True, dead_letter_topic="dlq")
    port, summary = Topic(), Summary()
    given = batch({"a": "bad"}, {"a": "ok"}, owned=True)
    delivery(policy, *steps).run_stage([given], port, summary, where="s")
    records, letter = port.sent
    assert records.value == [b"{'a': 'ok', 'added': 'x'}"]
    assert letter.value == [b"{'a': 'bad'}"]
    assert summary.log == [
        "Error encountered in task c-1. Executing stage 'TRANSFORMATION' with class 'R', where source record is = "
        "SourceRecord{topic='t', kafkaPartition=None, key=None, value={'a': 'bad'}, timestamp=None}. "
        "DataError: refused, with hunter2"  # the log takes secrets out itself
    ]


def test_without_tolerance_only_the_dead_letter_is_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    port, buried = Topic(), list[Outgoing]()
    policy = ErrorPolicy(dead_letter_topic="dlq", dead_letter_headers=True, log=True)
    with pytest.raises(ConnectError) as e, caplog.at_level(logging.ERROR):
        delivery(policy, bury=buried.append).run_stage([batch("a", "bad1", "bad2")], port, Summary(), where="source c")
    assert port.sent == []
    (letter,) = buried
    assert (letter.topic, letter.value) == ("dlq", [b"bad1"])
    assert str(e.value).startswith(
        "Tolerance exceeded in error handler: record 1 of a batch of source c for topic 't' failed in task c-1 at stage "
        "TRANSFORMATION (org.example.Refusing): DataError: refused"
    )
    assert isinstance(e.value.__cause__, DataError)
    assert [r.getMessage().split(". ")[0] for r in caplog.records] == ["Error encountered in task c-1"]


def test_the_partition_is_named_where_the_source_has_chosen_one() -> None:
    with pytest.raises(ConnectError, match="record 0 of a batch of source c for topic 't' partition 3 failed"):
        delivery(ErrorPolicy()).run_stage([batch("bad", partition=3)], Topic(), Summary(), where="source c")


def test_unreachable_dead_letter_queue_does_not_hide_the_failure(caplog: pytest.LogCaptureFixture) -> None:
    def away(letter: Outgoing) -> None:
        raise ConnectError("Kafka is away")

    with pytest.raises(ConnectError, match="Tolerance exceeded in error handler: record 0"):
        delivery(ErrorPolicy(dead_letter_topic="dlq"), bury=away).run_stage(
            [batch("bad")], Topic(), Summary(), where="s"
        )
    assert "the record that fails the task to the dead letter queue 'dlq': Kafka is away" in caplog.text


def test_untolerated_record_that_kafka_refuses_has_no_dead_letter() -> None:
    buried: list[Outgoing] = []
    with pytest.raises(ConnectError, match="KAFKA_PRODUCE"):
        delivery(ErrorPolicy(dead_letter_topic="dlq"), bury=buried.append).run_stage(
            [batch("far too long")], Topic(), Summary(), where="s"
        )
    assert buried == []
