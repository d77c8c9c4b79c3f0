"""Who waits when a sink asks to wait, and what is known of each record."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from penstock import Record, RetriableError, TopicPartition, Transform
from penstock_runtime.engine.chain import Converters, Step
from penstock_runtime.engine.sink_process import PutRetries, SinkProcess
from penstock_runtime.engine.summary import Summary
from penstock_runtime.engine.tolerance import ErrorPolicy
from penstock_runtime.kafka.consumers import Consumed


def process(told: list[str | None], **more: Any) -> SinkProcess:
    nothing = cast("Any", None)
    return SinkProcess(
        nothing, connector="c", task=0, steps=(), converters=nothing, policy=ErrorPolicy(), retries=PutRetries(),
        writer=lambda: nothing, stopping=lambda: False, sleep=lambda seconds: None, trouble=told.append, **more,
    )  # fmt: skip


class Refusing:
    """Refuses twice, then does it."""

    def __init__(self) -> None:
        self.left = 2

    def __call__(self) -> str:
        if self.left:
            self.left -= 1
            raise RetriableError("the table is locked")
        return "done"


def test_the_driver_tries_again_and_tells_of_it() -> None:
    told: list[str | None] = []
    summary = Summary()
    assert process(told).retrying(Refusing(), summary) == "done"
    assert summary.retries == 2
    assert [t and "the table is locked" in t for t in told] == [True, True, None]


def test_a_worker_gives_the_request_to_wait_to_the_driver() -> None:
    told: list[str | None] = []
    with pytest.raises(RetriableError, match="the table is locked"):
        process(told, patient=False).retrying(Refusing(), Summary())
    assert told == []


def portion(types: int | list[int]) -> Consumed:
    return Consumed(TopicPartition("t", 0), [7, 8], [b"a", b"b"], None, None, [5, None], types)


def test_the_type_of_a_timestamp_is_told_by_kafkas_names() -> None:
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
    def to_connect(self, topic: str, data: bytes | None) -> tuple[None, str | None]:
        return None, None if data is None else data.decode()

    def to_connect_batch(self, topic: str, data: Sequence[bytes | None]) -> tuple[None, list[str | None]]:
        return None, [self.to_connect(topic, d)[1] for d in data]


def test_records_that_a_transform_made_from_nothing_lie_where_those_lay_that_it_was_given() -> None:
    made = process([])
    made._steps = (Step("anew", Anew(), "Anew"),)
    text = cast("Any", Text())
    made._converters = Converters(text, text, text, ("k", "v", "h"))
    consumed = Consumed(TopicPartition("t", 3), [7, 9, 12], [b"a", b"b", b"c"], None, None, [5, 6, 7])
    summary = Summary()
    batch = made.convert(consumed, summary)
    assert [(r.topic, r.original) for r in batch.records()] == [("x", ("t", 3, 7)), ("x", ("t", 3, 12))]
    assert (summary.read, summary.dropped, summary.offsets) == (3, 1, [("t", 3, 13)])
