"""Converters that keep a part of a message in headers."""

from collections.abc import Sequence
from typing import Any

import pytest

from penstock import Converter, DataError, Header, Record, RecordBatch, Schema, TopicPartition
from penstock_plugins.converters.simple_header import SimpleHeaderConverter
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline.converters import Converters, convert_consumed, convert_outgoing
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator

Raw = tuple[str, bytes | None]


class Marked(Converter):
    """Writes `x:<text>`, and moves the mark before the colon to a header."""

    reads_headers = writes_headers = True

    def configure(self, config: Any, *, is_key: bool) -> None:
        self.name = "key-mark" if is_key else "mark"

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value == "bad":
            raise DataError("bad")
        return None if value is None else b"x:" + value.encode()

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        mark, _, text = data.partition(b":")
        if mark != b"x":
            raise DataError("no mark")
        return None, text.decode()

    def join_headers(self, data: bytes, headers: Sequence[Raw]) -> bytes:
        mark = dict(headers).get(self.name)
        if mark == b"?":
            raise DataError("unknown mark")
        return data if mark is None else mark + b":" + data

    def split_headers(self, data: bytes) -> tuple[bytes, Sequence[Raw]]:
        return data[2:], ((self.name, data[:1]),)


class ByColumns(Marked):
    def from_connect_batch(
        self, topic: str | list[str], schema: Schema | None, values: Sequence[Any]
    ) -> list[bytes | None]:
        return [self.from_connect("t", schema, value) for value in values]

    def to_connect_batch(
        self, topic: str, data: Sequence[bytes | None]
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        return None, [self.to_connect(topic, each)[1] for each in data]


def converters(kind: type[Marked]) -> Converters:
    key, value, header = kind(), kind(), SimpleHeaderConverter()
    key.configure(None, is_key=True)
    value.configure(None, is_key=False)
    header.configure(SimpleHeaderConverter.Config.parse({}))
    return Converters(key, value, header, ("k", "v", "h"))


def tolerant() -> RetryWithToleranceOperator:
    return RetryWithToleranceOperator(ErrorPolicy(tolerate=True))


@pytest.mark.parametrize("kind", [Marked, ByColumns])
def test_parts_are_appended_to_the_headers_that_a_record_has(kind: type[Marked]) -> None:
    records = [
        Record(topic="t", key="k", value="a", headers=(Header("mine", "1"),)),
        Record(topic="t", key="k", value=None),
        Record(topic="t", key=None, value="bad"),
        Record(topic="t", key="k", value="b"),
    ]
    made = convert_outgoing(converters(kind), RecordBatch.of(records), tolerant())
    assert (made.key, made.value) == ([b"k", b"k", b"k"], [b"a", None, b"b"])
    assert made.headers == [
        [("mine", b"1"), ("key-mark", b"x"), ("mark", b"x")],
        [("key-mark", b"x")],
        [("key-mark", b"x"), ("mark", b"x")],
    ]


def test_a_header_that_a_record_has_already_is_not_repeated() -> None:
    record = Record(topic="t", value="a", headers=(Header("mark", "x"),))
    assert convert_outgoing(converters(Marked), RecordBatch.of([record]), tolerant()).headers == [[("mark", b"x")]]


def test_an_older_header_does_not_hide_the_part_of_a_message() -> None:
    record = Record(topic="t", value="a", headers=(Header("mark", "x"), Header("mark", "y")))
    (headers,) = convert_outgoing(converters(Marked), RecordBatch.of([record]), tolerant()).headers or ()
    assert headers == [("mark", b"x"), ("mark", b"y"), ("mark", b"x")]


@pytest.mark.parametrize("kind", [Marked, ByColumns])
def test_parts_are_joined_before_messages_are_read(kind: type[Marked]) -> None:
    headers: list[list[Raw]] = [[("mark", b"x")], [], [("mark", b"x")], [("other", b"1")]]
    read = convert_consumed(converters(kind), consumed([b"a", b"x:b", None, b"x:d"], headers), tolerant())
    assert read.column("value") == ["a", "b", None, "d"]
    assert [header.name for header in read.column("headers")[0]] == ["mark"]


@pytest.mark.parametrize("kind", [Marked, ByColumns])
def test_only_the_record_fails_whose_headers_are_wrong(kind: type[Marked]) -> None:
    headers: list[list[Raw]] = [[("mark", b"x")], [("mark", b"?")], []]
    operator = tolerant()
    read = convert_consumed(converters(kind), consumed([b"a", b"b", b"c"], headers), operator)
    assert (read.column("value"), list(read.positions)) == (["a"], [0])
    assert [str(failure.error) for failure in operator.failures] == ["unknown mark", "no mark"]


def consumed(values: list[bytes | None], headers: Sequence[list[Raw]]) -> Consumed:
    many = len(values)
    return Consumed(TopicPartition("t", 0), list(range(many)), values, None, headers, [0] * many)
