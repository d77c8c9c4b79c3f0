"""Each mistake that is planted in a good transform, predicate or converter fails its suite."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from tests.unit.api.suites.runs import failures

from penstock import Converter, DataError, Predicate, Record, RecordBatch, Schema, Transform
from penstock.schema import INT64, OPTIONAL_STRING, STRING
from penstock.testing import ConverterSuite, PredicateSuite, TransformSuite


class Marks(Transform):
    """Good: marks maps, drops null, fails on what is no map."""

    variants = ("Key", "Value")

    def apply(self, record: Record) -> Record | None:
        data = record.key if self.side == "key" else record.value
        return None if data is None else record.replace(**{self.side: self.marked(data)})

    def marked(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise DataError("no map")
        return {**data, "marked": True}

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        values = batch.column(self.side)
        rows = [row for row, value in enumerate(values) if value is not None]
        return batch.take(rows).replace(**{self.side: [self.marked(values[row]) for row in rows]})


def rows() -> list[Record]:
    return [Record(topic="t", key={"id": n}, value=value) for n, value in enumerate(({"a": 1}, None, {"a": 2}, "text"))]


def transforms(transform: type[Transform], of: str) -> type[TransformSuite]:
    class Suite(TransformSuite):
        plugin: ClassVar[type[Transform]] = transform
        side = of
        records = rows()

    return Suite


class MarksInPlace(Marks):
    def marked(self, data: Any) -> Any:
        super().marked(data)
        data["marked"] = True
        return data


class NumbersRecords(Marks):
    count = 0

    def apply(self, record: Record) -> Record | None:
        self.count += 1
        return record.replace(value=self.count)


class ReturnsTheValue(Marks):
    def apply(self, record: Record) -> Record | None:
        found = super().apply(record)
        return found.value if found is not None else None


class ReturnsNothingButTrue(Marks):
    has_batch_form = False

    def apply(self, record: Record) -> Record | None:
        return super().apply(record) is not None  # type: ignore[return-value]


class HasNoSides(Marks):
    has_batch_form = False

    def apply(self, record: Record) -> Record | None:
        return None if record.value is None else record.replace(value=self.marked(record.value))


class LeavesTheSchemaAsItWas(Marks):
    has_batch_form = False

    def apply(self, record: Record) -> Record | None:
        found = super().apply(record)
        return (
            None if found is None else found.replace(value_schema=STRING, value=1 if record.value_schema is None else 2)
        )


class DropsOtherRowsInTheBatch(Marks):
    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        good = super().apply_batch(batch)
        return batch.take(range(good.length)).replace(**{self.side: good.column(self.side)})


class DropsNothingInTheBatch(Marks):
    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        values = [None if value is None else self.marked(value) for value in batch.column(self.side)]
        return batch.replace(**{self.side: values})


class PassesOverErrorsInTheBatch(Marks):
    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        maps = [row for row, value in enumerate(batch.column(self.side)) if isinstance(value, dict)]
        return super().apply_batch(batch.take(maps))


class FailsForWholeBatchesWithANull(Marks):
    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        if None in batch.column(self.side):
            raise DataError("null")
        return super().apply_batch(batch)


class FailsForAllRecords(Marks):
    def apply(self, record: Record) -> Record | None:
        raise DataError("no id")

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        raise DataError("no id")


class DropsAllRecords(Marks):
    def apply(self, record: Record) -> Record | None:
        super().apply(record)
        return None

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        return super().apply_batch(batch).take([])


class MisspellsAColumnInABranch(Marks):
    has_batch_form = False

    def apply(self, record: Record) -> Record | None:
        found = super().apply(record)
        return found.replace(valu=1) if found is not None and found.value == {"a": 2, "marked": True} else found


class MarksWithAHash(Marks):
    def marked(self, data: Any) -> Any:
        return {**super().marked(data), "marked": str(hash("mark"))}


class MarksInTheOrderOfASet(Marks):
    def marked(self, data: Any) -> Any:
        return {**super().marked(data), "marked": ",".join({str(n) for n in range(20)})}


class MarksByChance(Marks):
    def marked(self, data: Any) -> Any:
        return {**super().marked(data), "marked": secrets.token_hex()}


class StampsWithADatetime(Marks):
    has_batch_form = False

    def apply(self, record: Record) -> Record | None:
        found = super().apply(record)
        return None if found is None else found.replace(timestamp=datetime(2026, 1, 1, tzinfo=UTC))


class StampsWithADatetimeInTheBatch(Marks):
    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        return super().apply_batch(batch).replace(timestamp=datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("side", ["key", "value"])
def test_the_good_transform_passes(side: str) -> None:
    assert list(failures(transforms(Marks, side))) == []


@pytest.mark.parametrize("bad", Marks.__subclasses__())
def test_a_transform_with_a_mistake_fails(bad: type[Transform]) -> None:
    assert any(found for side in ("key", "value") for found in failures(transforms(bad, side)))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (DropsAllRecords, "`apply` returns None for all `records`, which drops them"),
        (MarksWithAHash, "Record(topic='t', "),
        (MarksInTheOrderOfASet, "Record(topic='t', "),
        (FailsForAllRecords, "`apply` fails for all `records`; for the first with DataError: no id"),
        (
            StampsWithADatetime,
            "StampsWithADatetime.apply returned a value of type datetime as the timestamp of a record",
        ),
        (
            StampsWithADatetimeInTheBatch,
            "StampsWithADatetimeInTheBatch.apply_batch returned a value of type datetime as",
        ),
    ],
)
def test_what_is_wrong_in_all_that_a_transform_gives_is_reported(bad: type[Transform], message: str) -> None:
    ((_, error),) = failures(transforms(bad, "value"))
    assert str(error).startswith(message)


@pytest.mark.parametrize("bad", [MarksWithAHash, MarksInTheOrderOfASet])
def test_what_another_process_makes_otherwise_is_reported_with_what_does_it(bad: type[Transform]) -> None:
    ((test, error),) = failures(transforms(bad, "value"))
    assert test == "test_a_record_becomes_the_same_in_another_process"
    assert "in another process, where `hash` of a string, the order of a set and `id` differ" in str(error)


def test_what_comes_of_chance_is_reported() -> None:
    error = dict(failures(transforms(MarksByChance, "value")))["test_the_same_record_becomes_the_same_again"]
    assert "not on a clock, random numbers or previous records" in str(error)


def test_a_mistake_in_one_branch_is_reported_with_the_record_that_goes_through_it() -> None:
    found = dict(failures(transforms(MisspellsAColumnInABranch, "value")))
    error = found.pop("test_a_record_that_fails_fails_by_a_data_error")
    assert not found
    assert str(error).startswith("`apply` fails with TypeError: ")
    assert str(error).endswith("The record is Record(topic='t', value={'a': 2}, key={'id': 2})")


def test_a_transform_may_fail_by_exceptions_that_its_suite_names_and_may_be_there_to_drop_all() -> None:
    class Fails(transforms(MisspellsAColumnInABranch, "value")):  # type: ignore[misc]
        fails_by = (DataError, TypeError)

    class Drops(transforms(DropsAllRecords, "value")):  # type: ignore[misc]
        drops_all = True

    assert [*failures(Fails), *failures(Drops)] == []


def test_a_suite_without_records_or_values_says_so() -> None:
    class OfATransform(TransformSuite):
        plugin = Marks

    class OfAPredicate(PredicateSuite):
        plugin = HasA

    class OfAConverter(ConverterSuite):
        plugin = Texts

    for suite in (OfATransform, OfAPredicate):
        assert [str(error) for _, error in failures(suite)] == ["set `records` in the suite"]
    told = ["set `values` in the suite: pairs of a schema and a value"]
    assert [str(error) for _, error in failures(OfAConverter)] == told


class HasA(Predicate):
    """Good: whether a value is a map with the field `a`."""

    def test(self, record: Record) -> bool:
        return isinstance(record.value, dict) and "a" in record.value


def predicates(predicate: type[Predicate]) -> type[PredicateSuite]:
    class Suite(PredicateSuite):
        plugin: ClassVar[type[Predicate]] = predicate
        records = rows()

    return Suite


class AnswersWithTheField(HasA):
    def test(self, record: Record) -> bool:
        return record.value.get("a") if isinstance(record.value, dict) else False  # type: ignore[return-value]


class IsTrueOnce(HasA):
    seen = False

    def test(self, record: Record) -> bool:
        self.seen, seen = self.seen or super().test(record), self.seen
        return super().test(record) and not seen


class TakesTheFieldAway(HasA):
    def test(self, record: Record) -> bool:
        return isinstance(record.value, dict) and record.value.pop("a", None) is not None


class AnswersForTheFirstOfABatch(HasA):
    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        return self.test(batch.record(0))


class AnswersForABatchWithNumbers(HasA):
    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        return [int(self.test(record)) for record in batch.records()]  # type: ignore[misc]


class ChangesTheBatch(HasA):
    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        good = super().test_batch(batch)
        batch.topic = "seen"
        return good


def test_the_good_predicate_passes() -> None:
    assert list(failures(predicates(HasA))) == []


@pytest.mark.parametrize("bad", HasA.__subclasses__())
def test_a_predicate_with_a_mistake_fails(bad: type[Predicate]) -> None:
    assert any(failures(predicates(bad)))


class Texts(Converter):
    """Good: texts in UTF-8."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if not isinstance(value, str):
            raise DataError("no text")
        return value.encode()

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        try:
            return OPTIONAL_STRING, None if data is None else data.decode()
        except UnicodeDecodeError as e:
            raise DataError("no UTF-8") from e


def converters(converter: type[Converter]) -> type[ConverterSuite]:
    class Suite(ConverterSuite):
        plugin: ClassVar[type[Converter]] = converter
        faithful = True
        values = ((OPTIONAL_STRING, "a"), (OPTIONAL_STRING, "b"), (OPTIONAL_STRING, None), (INT64, 1))

    return Suite


class LetsOtherErrorsThrough(Texts):
    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return OPTIONAL_STRING, None if data is None else data.decode()


class WritesText(Texts):
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        data = super().from_connect(topic, schema, value)
        return None if data is None else data.decode()  # type: ignore[return-value]


class ReadsATombstoneAsText(Texts):
    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return super().to_connect(topic, data or b"")


class WritesNullAsText(Texts):
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return b"null" if value is None else super().from_connect(topic, schema, value)


class SaysThatNoTextIsNull(Texts):
    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return STRING, super().to_connect(topic, data)[1]


class QuotesOnceMore(Texts):
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else super().from_connect(topic, schema, f"'{value}'")


class NumbersMessages(Texts):
    count = 0

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        self.count += 1
        schema, value = super().to_connect(topic, data)
        return schema, None if value is None else f"{value} {self.count}"


class KeepsTheSchemaOfTheFirstMessage(Texts):
    schema: Schema | None = None

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        self.schema = self.schema or schema
        if self.schema != schema:
            raise DataError("another schema")
        return super().from_connect(topic, schema, str(value)) if value is not None else None


class DropsNullsOfABatch(Texts):
    def from_connect_batch(
        self, topic: str | list[str], schema: Schema | None, values: Sequence[Any]
    ) -> list[bytes | None]:
        return [self.from_connect("t", schema, value) for value in values if value is not None]


def test_the_good_converter_passes() -> None:
    assert list(failures(converters(Texts))) == []


@pytest.mark.parametrize("bad", Texts.__subclasses__())
def test_a_converter_with_a_mistake_fails(bad: type[Converter]) -> None:
    assert any(failures(converters(bad)))
