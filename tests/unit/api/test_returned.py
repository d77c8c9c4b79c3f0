"""What a plugin returns wrongly is told by class and method, what it gave, and what is expected."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from numbers import Integral
from types import MappingProxyType
from typing import Any

import pytest

from penstock import Header, InputPartition, Instant, Problem, Record, RecordBatch, SourcePartition, TransactionEnd
from penstock import _returned as returned
from penstock._returned import ReturnedWrong
from penstock.schema import STRING
from penstock.sink import TopicPartition


@Integral.register
class Whole:
    """A whole number that is no `int`, as numpy has them."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __int__(self) -> int:
        return self._number

    def __lt__(self, other: int) -> bool:
        return self._number < other


A = SourcePartition({"table": "a"})
OFFSETS = "a mapping of SourcePartition to an offset"


def record(**changes: Any) -> Record:
    return Record(topic="t", value="v").replace(**changes)


def portions(*found: Any) -> list[RecordBatch]:
    return list(returned.portions(iter(found), "Rows.read", lambda: " in the part of a up to 7"))


@pytest.mark.parametrize(
    ("check", "found", "message"),
    [
        (returned.offsets, None, f"returned None; expected {OFFSETS}"),
        (returned.offsets, [A], f"returned a value of type list; expected {OFFSETS}"),
        (returned.offsets, {"a": {"n": 1}}, f"returned a value of type str as a source partition; expected {OFFSETS}"),
        (returned.offsets, {A: 7}, "returned a value of type int as the offset of source partition {'table': 'a'}"),
        (returned.offsets, {A: {"n": [1]}}, "type list in the field 'n' of the offset of {'table': 'a'}"),
        (returned.offsets, {A: {"at": datetime.now(UTC)}}, "type datetime in the field 'at' of the offset of"),
        (returned.parts, None, "returned None; expected a list of InputPartition"),
        (returned.parts, [{"from": 1}], "returned a value of type dict in its list; expected an InputPartition"),
        (
            returned.parts,
            [InputPartition(None)],  # type: ignore[arg-type]
            "returned None as InputPartition.data; expected a mapping of strings to",
        ),
        (returned.parts, [InputPartition({1: 2})], "type int as a key of InputPartition.data; expected a"),  # type: ignore[dict-item]
        (returned.portion, [record()], "returned a value of type list; expected a pair of records and"),
        (
            returned.portion,
            ([record()], {}, True),
            "type bool as the third element of a portion; expected a TransactionEnd",
        ),
        (returned.portion, ([record()], None), f"returned None; expected {OFFSETS}"),
        (returned.positions, None, "returned None; expected a mapping of TopicPartition"),
        (returned.positions, {"t": 1}, "returned a value of type str as a topic partition"),
        (returned.positions, {TopicPartition("t", 0): "1"}, "returned a value of type str as the offset of t-0"),
        (returned.positions, {TopicPartition("t", 0): -1}, "returned the offset -1 of t-0; expected a Kafka offset"),
        (returned.problems, None, "returned None; expected a list of Problem"),
        (returned.problems, "no table", "returned a value of type str; expected a list of Problem"),
        (returned.problems, ["no table"], "returned a value of type str in its list; expected a list of Problem"),
        (returned.task_properties, {"a": "1"}, "returned a value of type dict; expected a list with a mapping"),
        (returned.task_properties, [{"a": 1}], "returned a value of type int for the property 'a' of task 0"),
        (returned.task_properties, ["a"], "returned a value of type str for task 0"),
    ],
)
def test_a_wrong_answer_is_reported(check: Callable[[Any, str], object], found: Any, message: str) -> None:
    with pytest.raises(ReturnedWrong, match=re.escape(message)) as raised:
        check(found, "Rows.method")
    assert str(raised.value).startswith("Rows.method returned ")
    assert str(raised.value).endswith("Tell the plugin's author")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (datetime.now(UTC), "datetime cannot be sent to another process; use strings, numbers, bytes, lists and dicts"),
        ([{"seen": {1, 2}}], "set cannot be sent to another process"),
        (Decimal("1.5"), "Decimal cannot be sent to another process"),
        (object(), "object cannot be sent to another process"),
        (1 << 70, "can't serialize ints"),
        ("\ud800", "surrogates not allowed"),
    ],
)
def test_what_a_part_cannot_send_to_a_worker_is_reported_with_its_field_although_the_driver_reads_it(
    value: Any, message: str
) -> None:
    told = "Rows.partitions returned an InputPartition that cannot be sent to a worker because of the key 'from' of its data"
    with pytest.raises(ReturnedWrong) as raised:
        returned.parts([InputPartition({"to": 7}), InputPartition({"to": 7, "from": value})], "Rows.partitions")
    assert str(raised.value).startswith(told)
    assert message in str(raised.value)
    assert str(raised.value).endswith("Tell the plugin's author")


def test_plain_data_of_a_part_passes_in_any_mapping() -> None:
    data = {"a": None, "b": [1, 1.5, (True, b"x")], "c": {"d": {"e": "f"}}}
    parts = [InputPartition(MappingProxyType(data)), InputPartition({})]
    assert returned.parts(parts, "Rows.partitions") == parts


@pytest.mark.parametrize(
    ("portion", "message"),
    [
        (None, "a value of type NoneType"),
        ({"a": 1}, "a value of type dict in a portion"),
        ("text", "a value of type str in a portion"),
        ([record(), {"a": 1}], "a value of type dict as a record"),
        ([record(topic=7)], "a value of type int as the topic of a record"),
        ([record(), record(topic=b"t")], "a value of type bytes as the topic of a record"),
        ([record(timestamp=datetime.now(UTC))], "a value of type datetime as the timestamp of a record"),
        ([record(timestamp=1), record(timestamp=1.5)], "a value of type float as the timestamp of a record"),
        ([record(partition="1")], "a value of type str as the partition of a record"),
        ([record(value_schema={"type": "string"})], "a value of type dict as the value schema of a record"),
        ([record(headers={"a": 1})], "a value of type dict as the headers of a record"),
        ([record(headers=(("a", "1"),))], "a value of type tuple as a header of a record"),
        (RecordBatch(length=2, topic="t", value=["a"]), "a batch of 2 records whose column value has length 1"),
        (RecordBatch(length=1, topic=["t", "u"], value=["a"]), "a batch of 1 records whose column topic has length 2"),
    ],
)
def test_a_wrong_portion_is_reported_with_the_place(portion: Any, message: str) -> None:
    good = [record()]
    read = returned.portions(iter([good, portion]), "Rows.read", lambda: " in the part of a up to 7")
    assert len(next(read)) == 1
    with pytest.raises(ReturnedWrong) as raised:
        next(read)
    text = str(raised.value).replace("returned None", "returned a value of type NoneType")
    assert text.startswith(f"Rows.read returned {message}")
    assert " in the part of a up to 7" in text


@pytest.mark.parametrize("found", [None, "text", {"a": 1}, 7])
def test_a_reader_that_returns_nothing_to_go_through_is_reported(found: Any) -> None:
    with pytest.raises(ReturnedWrong, match="expected an iterator of RecordBatch or lists of Record"):
        list(returned.portions(found, "Rows.read", str))


def test_what_the_contract_allows_passes() -> None:
    headers = (Header("a", "1", STRING),)
    one = record(timestamp=Instant(5), partition=3, headers=headers, value_schema=STRING, key=1)
    (batch,) = portions([], [one, record(topic="u")])
    assert batch.record(0) == one
    assert len(portions((record(),), RecordBatch(length=1, topic="t", value=None))) == 2
    numpy = record(timestamp=Whole(5), partition=Whole(1), headers=[Header("a", 1)])
    assert len(portions([numpy])) == 1
    assert returned.positions({TopicPartition("t", 0): Whole(7)}, "m")
    assert returned.offsets({A: {"n": 1, "x": None, "y": 1.5, "z": True}, SourcePartition({}): None}, "m")
    assert returned.offsets({}, "m") == {}
    part = InputPartition({"from": 1}, {A: None})
    assert returned.parts((p for p in [part]), "m") == [part]
    assert returned.portion(([], {}), "m") == ([], {}, None)
    assert returned.portion(([], {}, TransactionEnd.ABORT), "m") == ([], {}, TransactionEnd.ABORT)
    assert returned.positions({TopicPartition("t", 0): 0}, "m") == {("t", 0): 0}
    assert returned.problems((Problem("a", "b") for _ in range(1)), "m") == [Problem("a", "b")]
    assert returned.task_properties([{"a": "1"}], "m") == [{"a": "1"}]
