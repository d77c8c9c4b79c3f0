"""Results of converters are checked once per portion, at any errors.tolerance."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from penstock import ConnectError, Converter, DataError, Record, RecordBatch, Schema, TopicPartition
from penstock.schema import INT64, STRING, struct
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline.converters import Converters, convert_consumed, convert_outgoing
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator, describe


class Single(Converter):
    """Returns what a test says."""

    gives: Any = None

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return cast("bytes | None", self.gives)

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return cast("tuple[Schema | None, Any]", self.gives)


class Whole(Single):
    def from_connect_batch(self, topic: Any, schema: Any, values: Sequence[Any]) -> list[bytes | None]:
        return cast("list[bytes | None]", self.gives)

    def to_connect_batch(self, topic: str, data: Sequence[bytes | None]) -> Any:
        return self.gives


def converters(kind: type[Single], gives: Any) -> Converters:
    made = kind()
    made.gives = gives
    return Converters(made, made, cast("Any", None), ("k", "v", "h"))


def operator() -> RetryWithToleranceOperator:
    return RetryWithToleranceOperator(ErrorPolicy(tolerate=True))


class Refusing(Single):
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        raise DataError("Invalid type")


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (
            struct({"to": struct({"id": INT64})}),
            "DataError: Invalid type; to.id is of type str, not int64: a source or transform that",
        ),
        (struct({"to": struct({"id": STRING})}), "DataError: Invalid type"),
        (None, "DataError: Invalid type"),
    ],
)
def test_value_that_does_not_fit_its_schema_is_reported_with_the_field(schema: Schema | None, told: str) -> None:
    collected = operator()
    record = Record(topic="t", value={"to": {"id": "7"}}, value_schema=schema)
    convert_outgoing(converters(Refusing, None), RecordBatch.of([record]), collected)
    (failure,) = collected.failures
    assert describe(failure.error).partition(" changes")[0] == told


@pytest.mark.parametrize(
    ("kind", "gives", "told"),
    [
        (Single, "text", "Single.from_connect returned a value of type str; expected bytes or None for each value"),
        (Whole, ["text"], "Whole.from_connect_batch returned a value of type str; expected bytes"),
        (Whole, None, "Whole.from_connect_batch returned None; expected bytes"),
        (Whole, [b"a", b"b"], "Whole.from_connect_batch returned 2 messages for 1 values"),
    ],
)
def test_converter_must_return_bytes(kind: type[Single], gives: Any, told: str) -> None:
    with pytest.raises(ConnectError, match=told):
        convert_outgoing(converters(kind, gives), RecordBatch.of([Record(topic="t", value=1)]), operator())


@pytest.mark.parametrize(
    ("kind", "gives", "told"),
    [
        (Single, None, "Single.to_connect returned None; expected a pair of a Schema or None, and a value"),
        (
            Single,
            ("text", None),
            "Single.to_connect returned a value of type str as a schema; expected a Schema or None",
        ),
        (Single, (None, 1, 2), "Single.to_connect returned 3 values; expected a pair"),
        (Whole, [1], "Whole.to_connect_batch returned a value of type list; expected a pair"),
        (Whole, (None, [1, 2]), "Whole.to_connect_batch returned 2 values for 1 messages"),
        (Whole, ("text", [1]), "Whole.to_connect_batch returned a value of type str as a schema"),
    ],
)
def test_converter_must_return_schema_and_value(kind: type[Single], gives: Any, told: str) -> None:
    consumed = Consumed(TopicPartition("t", 0), [7], [b"a"], [b"k"], None, [5])
    with pytest.raises(ConnectError, match=told):
        convert_consumed(converters(kind, gives), consumed, operator())
