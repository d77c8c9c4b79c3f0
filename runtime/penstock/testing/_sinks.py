"""Test suite for sink connectors."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import ConnectError
from penstock.offsets import Offset, SourcePartition
from penstock.record import Record
from penstock.sink import FrameSink
from penstock.testing._comparison import exactly
from penstock.testing._harness import sink_batch
from penstock.testing._making import make, parsed
from penstock.testing._sink_kills import SinkKillsSuite
from penstock.testing._sink_life import T0, offset_of

__all__ = ["SinkSuite"]


class SinkSuite(SinkKillsSuite):
    """Tests of a sink connector. Tests that need Spark are skipped for a `FrameSink`.

    A sink whose `open` returns offsets after records were committed must deliver exactly once. With `exactly_once = True`,
    the tests also fail if `open` returns none.

    Attributes:
        records: the records to write, three or more, each with an offset in partition 0 of topic `t`.
        exactly_once: whether `open` must return offsets.

    Override `stored` so that the suite can compare the contents of the external system.
    """

    def test_what_is_committed_is_stored_in_order(self, request: Any) -> None:
        """Records are stored in order regardless of how they are split into writes, and survive a restart of the task."""
        properties = self.example(request)
        before = len(self.stored(properties) or ())
        with self._life(request) as life:
            records = life.following(self.records)
            for cut in (slice(0, 1), slice(1, 4), slice(4, None)):
                life.write(records[cut])
            life.commit()
        found = self.stored(properties)
        if found is None or life.frame:
            return
        stored = len(found) - before
        assert stored == len(records), f"{len(records)} records were committed, but {stored} are stored"
        with self._life(request) as life:
            assert exactly(self.stored(properties)) == exactly(found), "a restart changes the stored records"
            if not life.opened:
                life.write(self.records)
                life.commit()
        if life.opened:  # the runtime does not write these again for the same connector
            self._write_for_another(request, records)
        again = self._added(properties, found)
        if again:  # empty if the sink deduplicates records by their keys or offsets
            assert exactly(again) == exactly(found[before:]), "the same records are stored differently the second time"

    def test_what_is_staged_counts_with_the_commit_and_in_the_order_of_its_messages(self, request: Any) -> None:
        """Staged parts become visible with the commit, in the order of its messages, even if one process staged several."""
        if not make(self.plugin).staged:
            return
        properties = self.example(request)
        with self._life(request) as life:
            before = list(self.stored(properties) or ())
            records = life.following(self.records)
            last = life.part(records[7:], life.writer())
            first = [life.part(records[:3]), life.part(records[3:4]), life.part(records[4:7])]
            assert list(self.stored(properties) or ()) == before, "staged records are visible before their commit"
            life.messages += [message for messages in (*first, last) for message in messages]
            life.written[T0] = offset_of(records[-1]) + 1
            life.commit()
            found = list(self.stored(properties) or ())
            if not life.reopen():
                life.write(records)
                life.commit()
        if life.opened:
            self._write_for_another(request, records)
        written = self._added(properties, found)
        assert not written or exactly(found[len(before) :]) == exactly(written), (
            "staged records are stored differently from written records"
        )

    def test_what_a_failed_batch_has_staged_is_void(self, request: Any) -> None:
        """`open` discards the staged records of a failed batch before the batch is staged again."""
        if not make(self.plugin).staged:
            return
        properties = self.example(request)
        with self._life(request) as life:
            before = len(self.stored(properties) or ())
            records = life.following(self.records)
            life.part(records[:5])
            at = life.reopen().get(T0, offset_of(records[0]))
            assert at <= offset_of(records[0]), f"`open` returns {at} although the staged records were not committed"
            for cut in (slice(0, 5), slice(5, None)):
                life.messages += life.part(records[cut])
            life.commit()
        found = self.stored(properties)
        assert found is None or len(found) == before + len(records), (
            f"{len(found) - before} records are stored, not {len(records)}: records staged before `open` are not discarded"
        )

    def test_positions_that_are_set_or_removed_are_answered_alike_each_time(self, request: Any) -> None:
        """`alter_offsets` receives Kafka offsets or None. It may reject them; a second call must have the same result."""
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
            assert isinstance(first, bool) or first == "refused", (
                f"`alter_offsets` must return True or False, not {first!r}"
            )
            assert first == second, f"`alter_offsets` returned {first} first, then {second} for the same offsets"

    def test_nothing_to_write_is_no_trouble(self, request: Any) -> None:
        """Batches may be empty, and `commit` may be called without a write."""
        properties = self.example(request)
        before = self.stored(properties)
        with self._life(request) as life:
            life.write([])
            life.commit()
            life.commit()
        assert not before or self.stored(properties) == before, "a start without records changed the stored records"

    def test_commit_allows_no_more_than_it_was_given_and_has_stored(self, request: Any) -> None:
        """Offsets past the stored records would lose records."""
        properties = self.example(request)
        with self._life(request) as life:
            before = len(self.stored(properties) or ())
            records = life.following(self.records)
            life.write(records)
            allowed = life.commit()
            assert set(allowed) <= {T0}, f"`commit` returned offsets of other partitions: {allowed}"
            assert all(offset <= offset_of(records[-1]) + 1 for offset in allowed.values()), (
                f"`commit` returned offsets past the written records: {allowed}"
            )
            found = self.stored(properties)
            final = [r for r in records if offset_of(r) < allowed.get(T0, 0)]
            assert found is None or life.frame or len(found) >= before + len(final), (
                f"`commit` returned {allowed}, after {len(final)} records, but only {len(found) - before} are stored"
            )

    def test_records_and_their_values_are_left_as_they_are(self, request: Any) -> None:
        """Records are written again after a failed write, so `write` must not modify them."""
        with self._life(request) as life:
            batch = sink_batch(life.following(self.records))
            before = exactly(batch)
            life.write_batches([batch])
            assert exactly(batch) == before, "`write` modified the batch"
            life.commit()

    def test_it_goes_on_after_partitions_left_and_came_back(self, request: Any) -> None:
        """`close` and `open` are called when the assignment changes."""
        with self._life(request) as life:
            records: Sequence[Record] = life.following(self.records)
            life.write(records[:5])
            life.commit()
            life.reopen()
            life.write(records[5:])
            life.commit()

    def test_it_takes_no_offsets_of_another_connector_for_its_own(self, request: Any) -> None:
        """Offsets must be stored under the name of the connector, since two connectors may write to the same target."""
        with self._life(request) as life:
            life.write(life.following(self.records))
            life.commit()
        with self._life(request, name="a-third") as other:
            assert not other.opened, (
                f"a connector with another name would start at {other.opened}: store the connector's name with the offsets"
            )

    def test_it_stops_without_a_start(self, request: Any) -> None:
        """`stop` is called even if `start` failed."""
        connector = make(self.plugin)
        config = parsed(self.plugin, self.example(request))
        sink = connector.sink(config)
        sink.stop()
        if not isinstance(sink, FrameSink):
            connector.writer(config).close()

    def _write_for_another(self, request: Any, records: Sequence[Record]) -> None:
        """Write these records for a connector with another name, unless it has stored some."""
        with self._life(request, name="another") as life:
            if not life.opened:
                life.write(records)
                life.commit()

    def _added(self, properties: Mapping[str, str], found: Sequence[Any]) -> Sequence[Any]:
        """Return the entries after these, or nothing if the system does not store entries in order of arrival."""
        entries = self.stored(properties) or []
        return entries[len(found) :] if exactly(entries[: len(found)]) == exactly(list(found)) else []
