"""The suite of sink connectors."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, NoReturn

from penstock.batch import RecordBatch
from penstock.context import PluginContext
from penstock.errors import ConnectError
from penstock.offsets import Offset, SourcePartition
from penstock.record import Original, Record
from penstock.schema import STRING
from penstock.sink import FrameSink, SinkTaskContext, TopicPartition
from penstock.testing._comparison import exactly, wire
from penstock.testing._harness import make, parsed, sink_batch
from penstock.testing._sources import ConnectorSuite

__all__ = ["SinkSuite"]

_T0: TopicPartition = TopicPartition("t", 0)


def _records() -> list[Record]:
    return [
        Record(topic="t", partition=0, offset=n, original=Original("t", 0, n), value=f"v{n}", value_schema=STRING)
        for n in range(10)
    ]


class SinkSuite(ConnectorSuite):
    """Tests of a sink connector. Those that need Spark are left out for a `FrameSink`.

    Attributes:
        records: the records to write, each with an offset in partition 0 of topic `t`.

    Override `stored` so that the suite can compare what the outside system holds.
    """

    records: ClassVar[Sequence[Record]] = _records()

    def stored(self, properties: Mapping[str, str]) -> list[Any] | None:
        """The contents of the outside system, one comparable entry for each record, in order; None: not compared."""
        return None

    def test_what_is_committed_is_stored_in_order(self, request: Any) -> None:
        """However the records are cut into writes, they arrive in order."""
        properties = self.example(request)
        before = len(self.stored(properties) or ())
        with _Life(self, properties) as life:
            for cut in (slice(0, 1), slice(1, 4), slice(4, None)):
                life.write(self.records[cut])
            life.commit(len(self.records))
        found = self.stored(properties)
        if found is None or life.frame:
            return
        assert len(found) == before + len(self.records)
        with _Life(self, properties) as life:
            life.write(self.records)
            life.commit(len(self.records))
        again = (self.stored(properties) or [])[len(found) :]
        if again:  # a sink that knows the records by their keys or offsets stores them once
            assert exactly(again) == exactly(found[before:]), "the same records are stored otherwise the second time"

    def test_what_is_staged_counts_with_the_commit_and_in_the_order_of_its_messages(self, request: Any) -> None:
        """Also when one process staged several parts."""
        if not make(self.plugin).staged:
            return
        properties = self.example(request)
        with _Life(self, properties) as life, _Life(self, properties) as other:
            before = list(self.stored(properties) or ())
            last = other.part(self.records[7:])
            first = [life.part(self.records[:3]), life.part(self.records[3:4]), life.part(self.records[4:7])]
            assert list(self.stored(properties) or ()) == before, "what is staged shows before its commit"
            for message in (*first, last):
                life.messages.append(message)
            life.commit(len(self.records))
            staged = list(self.stored(properties) or ())[len(before) :]
            life.write(self.records)
            life.commit(len(self.records))
        written = list(self.stored(properties) or ())[len(before) + len(staged) :]
        assert not written or exactly(staged) == exactly(written), (
            "what is staged is stored otherwise than what is written"
        )

    def test_what_a_failed_batch_has_staged_is_void(self, request: Any) -> None:
        """`open` discards it before the batch is staged again."""
        if not make(self.plugin).staged:
            return
        properties = self.example(request)
        with _Life(self, properties) as life:
            before = len(self.stored(properties) or ())
            life.part(self.records[:5])
            life.sink.close([_T0])
            life.sink.open([_T0])
            for cut in (slice(0, 5), slice(5, None)):
                life.messages.append(life.part(self.records[cut]))
            life.commit(len(self.records))
        found = self.stored(properties)
        assert found is None or len(found) == before + len(self.records)

    def test_positions_that_are_set_or_removed_are_answered_alike_each_time(self, request: Any) -> None:
        """`alter_offsets` is given positions of Kafka, or None for each. It may refuse; asked twice it says the same."""
        connector = make(self.plugin)
        config = parsed(self.plugin, self.example(request))
        partition = SourcePartition({"kafka_topic": "t", "kafka_partition": 0})

        def answer(offset: Offset | None) -> object:
            try:
                return connector.alter_offsets(config, {partition: offset})
            except (ConnectError, NotImplementedError):
                return "refused"

        for offset in ({"kafka_offset": 0}, None):
            first, second = answer(offset), answer(offset)
            assert isinstance(first, bool) or first == "refused", f"{first!r} is neither True nor False"
            assert first == second, f"once {first}, then {second}"

    def test_nothing_to_write_is_no_trouble(self, request: Any) -> None:
        """Batches may be empty, and `commit` may be called without a write."""
        properties = self.example(request)
        before = self.stored(properties)
        with _Life(self, properties) as life:
            life.write([])
            life.commit(0)
            life.commit(0)
        assert not before or self.stored(properties) == before

    def test_commit_allows_no_more_than_it_was_given(self, request: Any) -> None:
        """Greater offsets would lose records."""
        with _Life(self, self.example(request)) as life:
            life.write(self.records)
            allowed = life.commit(len(self.records))
            assert set(allowed) <= {_T0}, f"allowed are {allowed}"
            assert all(offset <= len(self.records) for offset in allowed.values()), f"allowed are {allowed}"

    def test_records_and_their_values_are_left_as_they_are(self, request: Any) -> None:
        """They are written again after a write that failed."""
        with _Life(self, self.example(request)) as life:
            batch = sink_batch(self.records)
            before = exactly(batch)
            life.write_batch(batch)
            assert exactly(batch) == before, "the batch was changed by `write`"
            life.commit(len(self.records))

    def test_it_goes_on_after_partitions_left_and_came_back(self, request: Any) -> None:
        """`close` and `open` are called when the assignment changes."""
        with _Life(self, self.example(request)) as life:
            life.write(self.records[:5])
            life.commit(5)
            life.sink.close([_T0])
            life.sink.open([_T0])
            life.write(self.records[5:])
            life.commit(len(self.records))

    def test_it_takes_no_offsets_of_another_connector_for_its_own(self, request: Any) -> None:
        """Offsets that are stored with the data bear the name of the connector, since two may write to one place."""
        properties = self.example(request)
        with _Life(self, properties) as life:
            life.write(self.records)
            life.commit(len(self.records))
        with _Life(self, properties, "another") as other:
            assert not other.opened, f"a connector of another name would begin at {other.opened}"

    def test_it_stops_without_a_start(self, request: Any) -> None:
        """A task whose `start` failed calls `stop` as well."""
        connector = make(self.plugin)
        config = parsed(self.plugin, self.example(request))
        sink = connector.sink(config)
        sink.stop()
        if not isinstance(sink, FrameSink):
            connector.writer(config).close()


class _Life:
    def __init__(self, suite: SinkSuite, properties: Mapping[str, str], name: str = "suite") -> None:
        connector = make(suite.plugin)
        connector.context = PluginContext(name, task=0, tasks=1)
        self.name = name
        self.opened: Mapping[TopicPartition, int] = {}
        config = parsed(suite.plugin, properties)
        self.sink = connector.sink(config)
        self.frame = isinstance(self.sink, FrameSink)
        self.writer = None if self.frame else connector.writer(config)
        self.messages: list[Any] = []

    def __enter__(self) -> "_Life":
        try:
            self.sink.initialize(SinkTaskContext(self.name, 0, "1"))
            self.sink.start()
            self.opened = self.sink.open([_T0])
            assert set(self.opened) <= {_T0}, f"`open` returned offsets of other partitions: {self.opened}"
        except BaseException:
            with suppress(Exception):
                self.sink.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.sink.close([_T0])
        if self.writer is not None:
            self.writer.close()
        self.sink.stop()

    def write(self, records: Sequence[Record]) -> None:
        self.write_batch(sink_batch(records))

    def write_batch(self, batch: RecordBatch) -> None:
        if self.writer is None:
            return
        message = self.writer.write([batch], _no_report)
        if message is not None:
            self.messages.append(wire(message))

    def part(self, records: Sequence[Record]) -> Any:
        if self.writer is None:
            return None
        for start in range(0, len(records), 2):
            self.writer.stage([sink_batch(records[start : start + 2])], _no_report)
        message = self.writer.staged()
        return None if message is None else wire(message)

    def commit(self, offset: int) -> Mapping[TopicPartition, int]:
        messages, self.messages = self.messages, []
        allowed: Mapping[TopicPartition, int] = self.sink.commit(messages, {_T0: offset} if offset else {})
        return allowed


def _no_report(record: Record, error: Exception) -> NoReturn:
    raise AssertionError(f"the sink refuses {record}: {error}")
