"""The suites find the mistakes that they are there for."""

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

import pytest

from penstock import (
    Config,
    ConnectError,
    Converter,
    DataError,
    InputPartition,
    Limits,
    Offsets,
    PartitionReader,
    PollingSource,
    Predicate,
    Record,
    RecordBatch,
    Reporter,
    Schema,
    Sink,
    SinkConnector,
    SinkTaskContext,
    Source,
    SourceConnector,
    SourcePartition,
    TopicPartition,
    Transform,
    Writer,
    prop,
)
from penstock.schema import INT8, INT64, STRING, struct
from penstock.testing import (
    ConverterSuite,
    PredicateSuite,
    SinkSuite,
    SourceSuite,
    TransformSuite,
    exactly,
    misfit,
    run_source,
    run_transform,
    run_writer,
    wire,
)
from penstock.values import Float32, Instant

PART = SourcePartition({"a": 1})
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class CountingConfig(Config):
    topic: str = prop("topic", "t", doc="The topic to write to.")


class Counting(SourceConnector):
    """Good as it is; subclasses have one fault each."""

    Config: ClassVar[type[Config]] = CountingConfig

    fault: ClassVar[str] = ""

    def source(self, config: Any) -> Source:
        return CountingSource(self.fault)

    def reader(self, config: Any) -> PartitionReader:
        return CountingReader(config.topic, self.fault)


class CountingSource(Source):
    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.calls = itertools.count()

    def start(self, offsets: Offsets) -> None:
        pass

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        at = int(str(start.get(PART, {}).get("n", 0)))
        if self.fault == "forgets the start":
            at = 5 * next(self.calls)
        return {PART: {"n": min(20, at + limits.records)}}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        span = (start.get(PART, {"n": 0})["n"], end[PART]["n"])
        if self.fault == "objects in the plan":
            return [InputPartition({"span": object()}, end)]
        offsets = {} if self.fault == "offset without part" else end
        return [InputPartition({"span": span}, offsets)] * (2 if self.fault == "part twice" else 1)


class CountingReader(PartitionReader):
    def __init__(self, topic: str, fault: str) -> None:
        self.topic = topic
        self.fault = fault
        self.reads = itertools.count()

    def read(self, partition: InputPartition) -> Iterator[Sequence[Record]]:
        start, end = partition.data["span"]
        salt = next(self.reads) if self.fault == "not repeatable" else 0
        schema = INT8.as_optional() if self.fault == "no such type" else INT64
        for n in range(start, end):
            yield [Record(topic=self.topic, value=n * 1000 + salt, value_schema=schema)]


FAULTS = {
    "not repeatable": "test_reading_a_part_twice_gives_the_same_records",
    "forgets the start": "test_a_life_that_resumes_after_any_batch_gives_the_same_records",
    "offset without part": "test_each_changed_offset_belongs_to_one_part",
    "part twice": "test_each_changed_offset_belongs_to_one_part",
    "no such type": "test_the_example_gives_records_that_fit_their_schemas",
    "objects in the plan": "test_the_example_gives_records_that_fit_their_schemas",
}


@pytest.mark.parametrize(("fault", "test"), FAULTS.items())
def test_a_source_with_a_fault_fails(fault: str, test: str) -> None:
    class Faulty(Counting):
        pass

    Faulty.fault = fault

    class Suite(SourceSuite):
        plugin = Faulty

    with pytest.raises((AssertionError, ConnectError)):
        getattr(Suite(), test)(None)


def suite_passes(suite: Any) -> None:
    for name in dir(suite):
        if name.startswith("test_"):
            test = getattr(suite(), name)
            test(None) if "request" in test.__code__.co_varnames[: test.__code__.co_argcount] else test()


def test_a_good_source_passes() -> None:
    class Suite(SourceSuite):
        plugin = Counting

    suite_passes(Suite)


class Polling(SourceConnector):
    def source(self, config: Any) -> PollingSource:
        return PollingCounter()


class PollingCounter(PollingSource):
    def start(self, offsets: Offsets) -> None:
        pass

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[Sequence[Record], Offsets]]:
        at = int(str(start.get(PART, {}).get("n", 0)))
        for n in range(at, min(20, at + limits.records)):
            yield [Record(topic="t", value=n)], {PART: {"n": n + 1}}


def test_a_polling_source_passes_too() -> None:
    class Suite(SourceSuite):
        plugin = Polling

    suite_passes(Suite)
    assert [r.value for r in run_source(Polling, {}, limits=Limits(3, 100))] == list(range(20))


ROWS = [Record(topic="t", value={"n": n}) for n in range(3)]


class Mutating(Transform):
    def apply(self, record: Record) -> Record:
        record.value["seen"] = True
        return record


class Counter(Transform):
    count = 0

    def apply(self, record: Record) -> Record:
        self.count += 1
        return record.replace(value=self.count)


class OtherBatchForm(Transform):
    def apply(self, record: Record) -> Record:
        return record.replace(topic="new")

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        return batch


class MutatingBatchForm(Transform):
    def apply(self, record: Record) -> Record:
        return record.replace(value={**record.value, "x": 1})

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        for row in batch.column("value"):
            row["x"] = 1
        return batch


@pytest.mark.parametrize(
    ("faulty", "test"),
    [
        (Mutating, "test_records_and_their_values_are_left_as_they_are"),
        (Counter, "test_the_same_record_becomes_the_same_again"),
        (OtherBatchForm, "test_the_batch_form_gives_what_the_record_form_gives"),
        (MutatingBatchForm, "test_the_batch_form_gives_what_the_record_form_gives"),
    ],
)
def test_a_transform_with_a_fault_fails(faulty: type[Transform], test: str) -> None:
    class Suite(TransformSuite):
        plugin = faulty
        records = [Record(topic="t", value={"n": n}) for n in range(3)]  # noqa: RUF012

    with pytest.raises(AssertionError):
        getattr(Suite(), test)(None)


class LyingPredicate(Predicate):
    def test(self, record: Record) -> bool:
        return bool(record.value["n"] > 0)

    def test_batch(self, batch: RecordBatch) -> bool:
        return True


def test_a_predicate_with_a_fault_fails() -> None:
    class Suite(PredicateSuite):
        plugin = LyingPredicate
        records = ROWS

    Suite().test_it_says_yes_and_no_and_leaves_records_alone(None)
    with pytest.raises(AssertionError):
        Suite().test_the_batch_form_answers_as_the_record_form(None)


class ReprConverter(Converter):
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else repr(value).encode()

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return STRING.as_optional(), None if data is None else data.decode()


def test_a_converter_with_a_fault_fails() -> None:
    class Suite(ConverterSuite):
        plugin = ReprConverter
        values = ((None, 1),)

    with pytest.raises(UnicodeDecodeError):
        Suite().test_values_come_out_that_fit_their_schema_or_a_data_error(None)
    with pytest.raises(AssertionError, match="was written as"):
        Suite().test_what_was_written_can_be_read_and_stays_what_it_is(None)


def test_undocumented_and_optional_by_mistake_are_found() -> None:
    class Bad(Counting):
        class Config(Config):
            a: str = prop("a", "", doc="")

    class Suite(SourceSuite):
        plugin = Bad

    with pytest.raises(AssertionError, match="property a is not documented"):
        Suite().test_every_property_is_documented()


def test_an_attribute_of_a_suite_that_is_misspelled_is_reported() -> None:
    class Suite(SinkSuite):
        plugin = NamedSinkConnector

        def store(self, properties: Mapping[str, str]) -> list[Any]:
            return []

    with pytest.raises(AssertionError, match="Suite has `store`, which SinkSuite does not read: did you mean `stored`"):
        Suite().test_what_the_suite_reads_is_spelled_as_it_reads_it()


def test_other_attributes_of_a_suite_are_its_authors() -> None:
    class Suite(SinkSuite):
        plugin = NamedSinkConnector
        record = Record(topic="t", value=1)  # like `records`, which is there as well
        records = (record,)
        table = "rows"

        def rows(self) -> list[Any]:
            return []

    Suite().test_what_the_suite_reads_is_spelled_as_it_reads_it()


def test_an_example_without_records_is_reported_as_one() -> None:
    class Suite(SourceSuite):
        plugin = Empty

    with pytest.raises(AssertionError, match="the example has no records"):
        Suite().test_the_example_gives_records_that_fit_their_schemas(None)


class Empty(SourceConnector):
    def source(self, config: Any) -> PollingSource:
        return EmptySource()


class EmptySource(PollingSource):
    def start(self, offsets: Offsets) -> None:
        pass

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[Sequence[Record], Offsets]]:
        yield from ()


class NoConfig(SourceConnector):
    def source(self, config: Any) -> PollingSource:
        return EmptySource() if config.database else PollingCounter()


def test_a_plugin_without_a_config_of_its_own_is_reported() -> None:
    message = "cannot read property database: the plugin's class defines no Config; add `Config = MyConfig` to it"
    with pytest.raises(AttributeError, match=re.escape(message)):
        run_source(NoConfig, {"database": "d"})
    with pytest.raises(AttributeError, match="'CountingConfig' object has no attribute 'database'"):
        CountingConfig.parse({}).database  # type: ignore[attr-defined] # noqa: B018
    assert Config.parse({"a.b": "1"}).open_properties("a.") == {}


def test_strict_comparison_knows_types_and_order() -> None:
    assert exactly(1) != exactly(1.0)
    assert exactly(1) != exactly(True)
    assert exactly({"a": 1, "b": 2}) != exactly({"b": 2, "a": 1})
    assert exactly(float("nan")) == exactly(float("nan"))
    assert exactly([{"a": (1,)}]) == exactly([{"a": (1,)}])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"a": [datetime(2024, 1, 2)]},  # noqa: DTZ001
            "the value['a'][0] is datetime.datetime(2024, 1, 2, 0, 0); a point in time must be an Instant",
        ),
        ({"a": {1}}, "the value['a'] is {1}; Kafka Connect has no type for set"),
        ({(1, 2): "a"}, "the value's key is (1, 2); Kafka Connect has no type for tuple"),
    ],
)
def test_value_that_needs_a_schema_is_reported_with_its_place(value: Any, message: str) -> None:
    assert (misfit(None, value) or "").startswith(message)
    assert misfit(None, {"a": [1, Instant(5), Decimal("1.5"), b"", None, {"b": Float32(1)}]}) is None


def test_a_misfit_is_reported_with_its_place() -> None:
    schema = struct({"a": struct({"b": INT8})})
    assert misfit(schema, {"a": {"b": 1}}) is None
    assert misfit(schema, {"a": {"b": 300}}) == "the value.a.b is 300, which is not of type int8"
    assert misfit(schema, {"a": None}) == "the value.a is null, but its schema is not optional"


def test_only_plain_data_travels() -> None:
    assert wire({"a": (1, b"x", None)}) == {"a": [1, b"x", None]}
    with pytest.raises(TypeError, match="cannot be sent to another process"):
        wire({"a": object()})
    with pytest.raises(TypeError, match=r"^datetime cannot be sent to another process"):
        wire([NOW])


def test_neither_penstock_nor_its_testing_imports_pytest() -> None:
    program = "import sys, penstock, penstock.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


class NamedSink(Sink):
    context: SinkTaskContext

    def initialize(self, context: SinkTaskContext) -> None:
        self.context = context

    def start(self) -> None:
        assert self.context.task == 0


class DiscardingWriter(Writer):
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        pass


class NamedSinkConnector(SinkConnector):
    def sink(self, config: Config) -> Sink:
        return NamedSink()

    def writer(self, config: Config) -> Writer:
        return DiscardingWriter()


def test_run_writer_gives_a_sink_its_task_number_before_it_starts() -> None:
    assert run_writer(NamedSinkConnector, {}, [[Record(topic="t", value="a")]]) == []


STORED: dict[object, int] = {}
"""Offsets in an outside system that several connectors write to."""


class StoringSink(Sink):
    def __init__(self, connector: str) -> None:
        self._connector = connector

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {p: STORED[self._connector, p] for p in partitions if (self._connector, p) in STORED}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        STORED.update({(self._connector, p): offset for p, offset in offsets.items()})
        return offsets


class Storing(SinkConnector):
    def sink(self, config: Config) -> Sink:
        return StoringSink(self.context.connector)

    def writer(self, config: Config) -> Writer:
        return DiscardingWriter()


class StoringForAll(Storing):
    def sink(self, config: Config) -> Sink:
        return StoringSink("")


@pytest.mark.parametrize("plugin_class", [Storing, StoringForAll])
def test_a_sink_that_stores_offsets_without_the_name_of_its_connector_fails(plugin_class: type[SinkConnector]) -> None:
    class Suite(SinkSuite):
        plugin = plugin_class

    STORED.clear()
    if plugin_class is Storing:
        suite_passes(Suite)
        return
    with pytest.raises(AssertionError, match="a connector with another name would start at"):
        suite_passes(Suite)


class Given:
    what: ClassVar[Any] = None
    """What each method of the plugins below gives."""


class GivesInATransform(Transform):
    def apply(self, record: Record) -> Any:
        return Given.what


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"n": 1}, "GivesInATransform.apply returned a value of type dict as a record"),
        (
            ROWS[0].replace(timestamp=NOW),
            "GivesInATransform.apply returned a value of type datetime as the timestamp",
        ),
        (ROWS[0].replace(topic=7), "GivesInATransform.apply returned a value of type int as the topic"),
    ],
)
def test_run_transform_checks_what_comes_back_as_the_runtime_does(what: Any, message: str) -> None:
    Given.what = what
    with pytest.raises(ConnectError, match=f"^{re.escape(message)}"):
        run_transform(GivesInATransform, {}, [ROWS[0]])


class GivesInASource(SourceConnector):
    def source(self, config: Config) -> Any:
        return GivesInAPoll()


class GivesInAPoll(PollingSource):
    def start(self, offsets: Offsets) -> None:
        pass

    def read(self, start: Offsets, limits: Limits) -> Any:
        return Given.what


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (None, "GivesInAPoll.read returned None; expected an iterator of pairs of records and offsets"),
        ([[ROWS[0]]], "GivesInAPoll.read returned a value of type list; expected a pair of records and"),
        ([([{"n": 1}], {PART: {"n": 1}})], "GivesInAPoll.read returned a value of type dict as a record"),
        (
            [([ROWS[0].replace(timestamp=NOW)], {PART: {"n": 1}})],
            "GivesInAPoll.read returned a value of type datetime",
        ),
        ([([ROWS[0]], {"n": 1})], "GivesInAPoll.read returned a value of type str as a source partition"),
    ],
)
def test_run_source_checks_what_comes_back_as_the_runtime_does(what: Any, message: str) -> None:
    Given.what = what
    with pytest.raises(ConnectError, match=f"^{re.escape(message)}"):
        run_source(GivesInASource, {})


def test_run_source_reports_a_part_that_a_worker_cannot_be_sent_as_the_runtime_does() -> None:
    class Faulty(Counting):
        fault = "objects in the plan"

    message = "CountingSource.partitions returned an InputPartition that cannot be sent to a worker because of the key"
    with pytest.raises(ConnectError, match=f"^{re.escape(message)}"):
        run_source(Faulty, {})


class GivesInASink(SinkConnector):
    def sink(self, config: Config) -> Sink:
        return Sink()

    def writer(self, config: Config) -> Writer:
        return GivesInAWriter()


class GivesInAWriter(Writer):
    def write(self, batches: Sequence[RecordBatch], report: Any) -> Any:
        if isinstance(Given.what, tuple):
            report(*Given.what)
        return Given.what


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        (
            NOW,
            ConnectError,
            "GivesInAWriter.write returned a message for `Sink.commit` that a worker cannot send: datetime",
        ),
        (1 << 64, ConnectError, "GivesInAWriter.write returned a message for `Sink.commit` that a worker cannot send"),
        (
            {"ids": {1}},
            ConnectError,
            "GivesInAWriter.write returned a message for `Sink.commit` that a worker cannot send",
        ),
        ((DataError("no"), ROWS[0]), TypeError, "report takes a Record and an exception that states the reason"),
        ((ROWS[0], "no"), TypeError, "report takes a Record and an exception that states the reason"),
    ],
)
def test_run_writer_checks_what_comes_back_as_the_runtime_does(what: Any, error: type[Exception], message: str) -> None:
    Given.what = what
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        run_writer(GivesInASink, {}, [[ROWS[0]]])
