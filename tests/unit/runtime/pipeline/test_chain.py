"""The record stages: batch forms where they hold, one record at a time where they do not, with the same outcome."""

from typing import Any

import pytest

from penstock import (
    ConnectError,
    Converter,
    DataError,
    Header,
    HeaderConverter,
    Predicate,
    Record,
    RecordBatch,
    RetriableError,
    Schema,
    Transform,
)
from penstock import TopicPartition as Partition
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline.chain import Step, transform
from penstock_runtime.pipeline.converters import Converters, convert_consumed, convert_outgoing
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator


class Mark(Transform):
    """Appends a text; drops `drop`, refuses `bad`."""

    def __init__(self, text: str = "!") -> None:
        self.text = text

    def apply(self, record: Record) -> Record | None:
        if record.value == "bad":
            raise DataError("refused bad")
        return None if record.value == "drop" else record.replace(value=record.value + self.text)


class FastMark(Mark):
    """The same with a batch form, which gives up on `bad`."""

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        values = batch.column("value")
        if "bad" in values:
            raise KeyError("anything")
        kept = batch.take([row for row, v in enumerate(values) if v != "drop"])
        return kept.replace(value=[v + self.text for v in kept.column("value")])


class Odd(Predicate):
    """Matches values that begin with `o`; refuses `unsure`."""

    def test(self, record: Record) -> bool:
        if record.value == "unsure":
            raise DataError("cannot tell")
        return str(record.value).startswith("o")


class Always(Odd):
    def test_batch(self, batch: RecordBatch) -> bool:
        return True


class Text(Converter):
    """Texts as UTF-8; refuses `bad`."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value == "bad":
            raise DataError("refused bad")
        return None if value is None else str(value).encode()

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data == b"bad":
            raise DataError("refused bad")
        return None, None if data is None else data.decode()


class HeaderText(HeaderConverter):
    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return Text().from_connect(topic, schema, value)

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        return Header(name, Text().to_connect(topic, data)[1])


CONVERTERS = Converters(Text(), Text(), HeaderText(), ("K", "V", "H"))


def batch(*values: Any, **more: Any) -> RecordBatch:
    return RecordBatch(length=len(values), topic=more.pop("topic", "t"), value=list(values), **more)


def run(steps: list[Step], *values: str) -> tuple[list[Any], list[int], list[tuple[int, str, str]]]:
    """Values, the rows that they were in, and failures as (row, stage, plugin)."""
    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    found = transform(steps, batch(*values), operator)
    failures = [(f.position, f.stage.value, f.plugin) for f in operator.failures]
    return found.column("value"), list(found.positions), failures


@pytest.mark.parametrize("mark", [Mark, FastMark])
class TestTransforms:
    def test_each_step_sees_what_the_one_before_made(self, mark: type[Mark]) -> None:
        steps = [Step("a", mark("1"), "M"), Step("b", mark("2"), "M")]
        assert run(steps, "x", "y") == (["x12", "y12"], [0, 1], [])

    def test_dropped_records_disappear_and_failed_ones_are_reported(self, mark: type[Mark]) -> None:
        steps = [Step("a", mark("1"), "M"), Step("b", mark("2"), "M")]
        assert run(steps, "x", "drop", "bad", "y") == (["x12", "y12"], [0, 3], [(2, "TRANSFORMATION", "M")])

    def test_predicate_selects_records_and_order_is_kept(self, mark: type[Mark]) -> None:
        steps = [Step("a", mark(), "M", Odd())]
        assert run(steps, "o1", "e1", "o2", "drop") == (["o1!", "e1", "o2!", "drop"], [0, 1, 2, 3], [])

    def test_negate_selects_the_other_records(self, mark: type[Mark]) -> None:
        steps = [Step("a", mark(), "M", Odd(), negate=True)]
        assert run(steps, "o1", "e1", "drop", "bad") == (["o1", "e1!"], [0, 1], [(3, "TRANSFORMATION", "M")])

    @pytest.mark.parametrize(("negate", "values"), [(False, ["o!", "e!"]), (True, ["o", "e"])])
    def test_one_answer_for_all_records(self, mark: type[Mark], negate: bool, values: list[str]) -> None:
        assert run([Step("a", mark(), "M", Always(), negate)], "o", "e") == (values, [0, 1], [])

    def test_failing_predicate_fails_the_record_under_the_transforms_name(self, mark: type[Mark]) -> None:
        steps = [Step("a", mark(), "M", Odd())]
        assert run(steps, "o1", "unsure", "e1") == (["o1!", "e1"], [0, 2], [(1, "TRANSFORMATION", "M")])

    def test_nothing_left_ends_the_chain(self, mark: type[Mark]) -> None:
        assert run([Step("a", mark(), "M"), Step("b", mark(), "M")], "drop", "drop") == ([], [], [])


def test_equal_headers_are_converted_once_in_a_batch() -> None:
    asked: list[tuple[str, bytes | None]] = []

    class Counting(HeaderText):
        def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
            asked.append((name, data))
            return super().to_connect(topic, name, data)

    consumed = Consumed(
        Partition("t", 0),
        offset=[0, 1, 2],
        value=[b"a"] * 3,
        key=None,
        timestamp=[1, 2, 3],
        headers=[[("a", b"1"), ("b", b"1")], [("a", b"1")], [("a", None), ("a", b"1")]],
    )
    converters = Converters(Text(), Text(), Counting(), ("K", "V", "H"))
    found = convert_consumed(converters, consumed, RetryWithToleranceOperator(ErrorPolicy()))
    assert found.headers == [
        (Header("a", "1"), Header("b", "1")),
        (Header("a", "1"),),
        (Header("a", None), Header("a", "1")),
    ]
    assert asked == [("a", b"1"), ("b", b"1"), ("a", None)]


def test_retriable_error_retries_only_its_record() -> None:
    class Later(Mark):
        calls: list[Any] = []  # noqa: RUF012

        def apply(self, record: Record) -> Record | None:
            self.calls.append(record.value)
            if self.calls.count(record.value) < 3 and record.value == "b":
                raise RetriableError("not yet")
            return record

    now = [0.0]
    operator = RetryWithToleranceOperator(
        ErrorPolicy(retry_timeout=5), clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s)
    )
    found = transform([Step("a", Later(), "L")], batch("a", "b", "c"), operator)
    assert found.column("value") == ["a", "b", "c"]
    assert Later.calls == ["a", "b", "b", "b", "c"]
    assert operator.retries == 2


class TestOutgoing:
    def test_columns_stay_together_when_stages_lose_records(self) -> None:
        given = batch(
            "v0",
            "v1",
            "bad",
            "v3",
            key=["k0", "bad", "k2", "k3"],
            headers=[(Header("h", "0"),), (Header("h", "1"),), (Header("h", "2"),), (Header("h", "bad"),)],
            timestamp=[10, 11, 12, 13],
            partition=[0, 1, 2, 3],
        )
        operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
        out = convert_outgoing(CONVERTERS, given, operator)
        assert (out.length, out.key, out.value, out.headers) == (1, [b"k0"], [b"v0"], [[("h", b"0")]])
        assert (out.timestamp, out.partition, list(out.positions)) == ([10], [0], [0])
        stages = [(f.position, f.stage.value, f.plugin) for f in operator.failures]
        assert stages == [(3, "HEADER_CONVERTER", "H"), (1, "KEY_CONVERTER", "K"), (2, "VALUE_CONVERTER", "V")]

    def test_a_record_fails_at_one_stage_only_the_header_first(self) -> None:
        operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
        convert_outgoing(CONVERTERS, batch("bad", key=["bad"], headers=[(Header("h", "bad"),)]), operator)
        assert [f.stage.value for f in operator.failures] == ["HEADER_CONVERTER"]

    def test_tombstones_and_absent_keys_stay_absent(self) -> None:
        out = convert_outgoing(
            CONVERTERS, RecordBatch(length=2, topic="t", value=None), RetryWithToleranceOperator(ErrorPolicy())
        )
        assert (out.length, out.key, out.value) == (2, None, None)

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"timestamp": -5}, "Invalid record timestamp -5"),
            ({"timestamp": [1, -7]}, "Invalid record timestamp -7"),
            ({"topic": None}, "cannot produce a record without a topic"),
            ({"topic": ["t", None]}, "cannot produce a record without a topic"),
        ],
    )
    def test_errors_that_no_tolerance_covers_fail_the_task(self, more: dict[str, Any], message: str) -> None:
        with pytest.raises(ConnectError, match=message):
            convert_outgoing(
                CONVERTERS, batch("a", "b", **more), RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
            )


class TestConsumed:
    def consumed(self, *rows: tuple[str | None, str | None, str | None]) -> Consumed:
        def data(text: str | None) -> bytes | None:
            return None if text is None else text.encode()

        return Consumed(
            source=Partition("t", 3),
            offset=[10 + n for n in range(len(rows))],
            value=[data(v) for _, v, _ in rows],
            key=[data(k) for k, _, _ in rows],
            headers=[[] if h is None else [("h", data(h))] for _, _, h in rows],
            timestamp=[1000 + n for n in range(len(rows))],
        )

    def test_each_record_stops_at_its_first_failure(self) -> None:
        rows = [("bad", "bad", "bad"), ("k", "bad", "bad"), ("k", "v", "bad"), ("k", "v", "h"), (None, None, None)]
        operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
        found = convert_consumed(CONVERTERS, self.consumed(*rows), operator)
        stages = [(f.position, f.stage.value) for f in operator.failures]
        assert stages == [(0, "KEY_CONVERTER"), (1, "VALUE_CONVERTER"), (2, "HEADER_CONVERTER")]
        assert list(found.positions) == [3, 4]
        one, two = found.records()
        assert (one.key, one.value, one.headers, one.timestamp, one.offset) == ("k", "v", (Header("h", "h"),), 1003, 13)
        assert (two.key, two.value, two.headers, two.offset) == (None, None, (), 14)
        assert one.original is not None
        assert tuple(one.original) == ("t", 3, 13)

    def test_a_router_changes_the_topic_and_not_where_the_record_came_from(self) -> None:
        class Route(Mark):
            def apply(self, record: Record) -> Record | None:
                return record.replace(topic="elsewhere", partition=9)

        given = convert_consumed(CONVERTERS, self.consumed(("k", "v", None)), RetryWithToleranceOperator(ErrorPolicy()))
        (record,) = transform([Step("r", Route(), "R")], given, RetryWithToleranceOperator(ErrorPolicy())).records()
        assert (record.topic, record.partition) == ("elsewhere", 9)
        assert record.original is not None
        assert tuple(record.original) == ("t", 3, 10)


class Waiting:
    """Raises `RetriableError` twice for `b`, and notes for which values it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __call__(self, value: Any) -> Any:
        self.asked.append(value)
        if value in ("b", b"b") and len([a for a in self.asked if a == value]) < 3:
            raise RetriableError("not yet")
        return value


def patient() -> RetryWithToleranceOperator:
    now = [0.0]
    return RetryWithToleranceOperator(
        ErrorPolicy(retry_timeout=5), clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s)
    )


class TestTries:
    """A stage without a batch form of its own is asked as often as Connect asks it, and not once more for the batch."""

    @pytest.mark.parametrize("stage", ["key", "value", "header"])
    def test_converter_to_kafka_is_called_as_often_as_by_kafka_connect(self, stage: str) -> None:
        work = Waiting()

        class Slow(Text):
            def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
                return Text().from_connect(topic, schema, work(value))

        class SlowHeader(HeaderText):
            def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
                return Text().from_connect(topic, schema, work(value))

        chosen = Converters(
            Slow() if stage == "key" else Text(),
            Slow() if stage == "value" else Text(),
            SlowHeader() if stage == "header" else HeaderText(),
            ("K", "V", "H"),
        )
        operator = patient()
        headers = [(Header("h", v),) for v in "abc"]
        out = convert_outgoing(chosen, batch("a", "b", "c", key=["a", "b", "c"], headers=headers), operator)
        assert (out.length, operator.retries, operator.failures) == (3, 2, [])
        assert work.asked == ["a", "b", "b", "b", "c"]

    @pytest.mark.parametrize("stage", ["key", "value", "header"])
    def test_converter_from_kafka_is_called_as_often_as_by_kafka_connect(self, stage: str) -> None:
        work = Waiting()

        class Slow(Text):
            def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
                return Text().to_connect(topic, work(data))

        class SlowHeader(HeaderText):
            def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
                return HeaderText().to_connect(topic, name, work(data))

        chosen = Converters(
            Slow() if stage == "key" else Text(),
            Slow() if stage == "value" else Text(),
            SlowHeader() if stage == "header" else HeaderText(),
            ("K", "V", "H"),
        )
        operator = patient()
        data: list[bytes | None] = [b"a", b"b", b"c"]
        consumed = Consumed(Partition("t", 0), [0, 1, 2], data, data, [[("h", d)] for d in data], [1, 2, 3])
        found = convert_consumed(chosen, consumed, operator)
        assert (found.length, operator.retries, operator.failures) == (3, 2, [])
        assert work.asked == [b"a", b"b", b"b", b"b", b"c"]

    @pytest.mark.parametrize("mark", [Mark, FastMark])
    def test_predicate_is_called_as_often_as_by_kafka_connect(self, mark: type[Mark]) -> None:
        work = Waiting()

        class Slow(Predicate):
            def test(self, record: Record) -> bool:
                return bool(work(record.value) != "c")

        operator = patient()
        found = transform([Step("a", mark(), "M", Slow())], batch("a", "b", "c"), operator)
        assert (found.column("value"), operator.retries) == (["a!", "b!", "c"], 2)
        assert sorted(work.asked) == ["a", "b", "b", "b", "c"]


def test_a_converter_that_refuses_null_refuses_each_record_that_has_it() -> None:
    class NoNull(Text):
        def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
            if value is None:
                raise DataError("no null")
            return Text().from_connect(topic, schema, value)

    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    chosen = Converters(Text(), NoNull(), HeaderText(), ("K", "V", "H"))
    out = convert_outgoing(chosen, RecordBatch(length=2, topic="t", value=None), operator)
    assert out.length == 0
    assert [(f.position, f.stage.value) for f in operator.failures] == [(0, "VALUE_CONVERTER"), (1, "VALUE_CONVERTER")]


def test_without_tolerance_the_first_record_is_reported_even_if_it_fails_at_a_later_stage() -> None:
    operator = RetryWithToleranceOperator(ErrorPolicy())
    steps = [Step("a", Mark(""), "first"), Step("b", Unsure(), "second")]
    transform(steps, batch("x", "unsure", "y", "bad", "bad"), operator)
    assert [(f.position, f.plugin) for f in operator.failures] == [(3, "first"), (1, "second")]


class Unsure(Transform):
    """Refuses `unsure`."""

    def apply(self, record: Record) -> Record | None:
        if record.value == "unsure":
            raise DataError("cannot tell")
        return record


class Dicts(Transform):
    """Returns what is no record."""

    def apply(self, record: Record) -> Any:
        return {"value": record.value}


class Times(Transform):
    """Sets a timestamp of the wrong type."""

    def apply(self, record: Record) -> Record | None:
        return record.replace(timestamp="now")


class Nothing(Mark):
    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        return None  # type: ignore[return-value]


class Short(Mark):
    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        return batch.replace(value=batch.column("value")[1:])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            Dicts(),
            "Dicts.apply returned a value of type dict as a record (given record 0 of a batch for topic 't'); expected a "
            "Record, or None to drop it",
        ),
        (Times(), "Times.apply returned a value of type str as the timestamp of a record; expected milliseconds"),
        (Nothing(), "Nothing.apply_batch returned None; expected a RecordBatch"),
        (Short(), "Short.apply_batch returned a batch of 2 records whose column value has length 1"),
    ],
)
def test_invalid_result_of_a_transform_fails_the_task_at_any_tolerance(made: Transform, message: str) -> None:
    batch = RecordBatch.of([Record(topic="t", value="a"), Record(topic="t", value="b")])
    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    with pytest.raises(ConnectError) as raised:
        transform([Step("x", made, "X")], batch, operator)
    assert str(raised.value).startswith(message)


def test_invalid_result_for_a_sinks_record_names_its_position_in_kafka() -> None:
    class Second(Transform):
        def apply(self, record: Record) -> Record | None:
            return record if record.value == "a" else {}  # type: ignore[return-value]

    records = [Record(topic="t", value=value, offset=n) for n, value in enumerate("ab", start=7)]
    batch = RecordBatch.of(records).replace(original_topic="t", original_partition=2)
    with pytest.raises(ConnectError, match=r"as a record \(given the record at t-2 offset 8\); expected a Record"):
        transform([Step("x", Second(), "X")], batch, RetryWithToleranceOperator(ErrorPolicy()))


class Undecided(Always):
    def test_batch(self, batch: RecordBatch) -> bool:
        return None  # type: ignore[return-value]


def test_invalid_result_of_test_batch_is_reported() -> None:
    batch = RecordBatch.of([Record(topic="t", value="a")])
    with pytest.raises(ConnectError, match=r"Undecided\.test_batch returned None; expected a bool, or a list of bools"):
        transform([Step("x", Mark(), "X", Undecided())], batch, RetryWithToleranceOperator(ErrorPolicy()))
