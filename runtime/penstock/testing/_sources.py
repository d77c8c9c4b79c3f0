"""Test suite for source connectors."""

from typing import Any

from penstock.connector import Connector
from penstock.context import PluginContext
from penstock.offsets import SourcePartition, updated
from penstock.record import Record
from penstock.testing._comparison import exactly, misfit
from penstock.testing._making import make, parsed
from penstock.testing._source_reads import SourceReadsSuite, kept
from penstock.testing._source_run import Streams

__all__ = ["SourceSuite"]


class SourceSuite(SourceReadsSuite):
    """Tests of a source connector. Its example must have several batches of records under `limits`, and then end.

    Attributes:
        limits: the limits of a batch, small enough for several batches.
        endless: whether the example never ends; only its first `batches` batches are then compared.
        batches: the maximum number of batches that are read.
        runner: the class that runs one start of a task.
    """

    def test_the_example_gives_records_that_fit_their_schemas(self, request: Any) -> None:
        """Each record has a topic, and its values fit their schemas."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        records = [record for stream in run.streams.values() for record in stream]
        assert records, "the example has no records: set `properties` that select some records"
        assert len(run.stops) > 1, "the example has only one batch: set smaller `limits`"
        for record in records:
            assert record.topic, f"the record has no topic: {record}"
            for schema, value in ((record.key_schema, record.key), (record.value_schema, record.value)):
                assert (wrong := misfit(schema, value)) is None, f"{wrong}: {record}"

    def test_a_life_that_resumes_after_any_batch_gives_the_same_records(self, request: Any) -> None:
        """A task that starts at the offsets after any batch reads the same records as before, under any limits."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        for offsets, lengths in run.stops:
            for limits in (self.limits, self.plenty):
                with self.life(request, kept(offsets)) as again:
                    again.all(limits, self.batches)
                self._same(again.streams, run.streams, lengths, f"after {dict(offsets)} under {limits}")

    def test_batches_follow_each_other_before_a_commit(self, request: Any) -> None:
        """With `transaction.boundary=interval`, several batches precede a commit; if it fails, all are read again."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        with self.life(request) as again:
            for how in ("without `commit`", "again from the first offsets after a failure"):
                again.at, again.streams, again.stops = {}, {}, []
                while len(again.stops) < self.batches and again.step(self.limits, commit=False):
                    pass
                self._same(again.streams, run.streams, {}, how)

    def test_tasks_share_the_work(self, request: Any) -> None:
        """Each source partition is read by exactly one task, and continues at the offset stored by any task."""
        connector, properties = make(self.plugin), self.example(request)
        config = parsed(self.plugin, properties)
        alone, context = connector.task_configs(config, properties, 1)[0], PluginContext(task=0, tasks=1)
        with self.runner(self.plugin, alone, context=context) as run:
            run.all(self.limits, self.batches)
        for most in (2, 7):
            tasks = connector.task_configs(config, properties, most)
            for offsets, lengths in (run.stops[:1] + run.stops[-1:]) if len(tasks) > 1 else ():
                found: Streams = {}
                for number, task in enumerate(tasks):
                    context = PluginContext(task=number, tasks=len(tasks))
                    with self.runner(self.plugin, task, kept(offsets), context=context) as one:
                        one.all(self.plenty, self.batches)
                    twice = found.keys() & one.streams.keys()
                    assert not twice, (
                        f"two of {len(tasks)} tasks read {twice}: they would overwrite each other's offsets"
                    )
                    found.update(one.streams)
                self._same(found, run.streams, lengths, f"with {len(tasks)} tasks after {dict(offsets)}")

    def test_a_batch_that_failed_comes_again_as_it_was(self, request: Any) -> None:
        """The same start gives the same records, even after the previous batch was committed or a later one was planned."""
        with self.life(request) as run:
            run.step(self.limits, commit=False)
            first, end = run.plan(self.limits)
            run.source.commit(run.at)  # the previous batch
            # Other limits, or the clock, may end the batch elsewhere; only the common records must be equal.
            second, _ = run.plan(self.limits)
            _agree(first, second)
            kept_at, run.at = run.at, updated(run.at, end)
            run.plan(self.limits)
            run.at = kept_at
            third, _ = run.plan(self.limits)
            _agree(first, third)

    def test_offsets_are_flat_and_survive_kafka(self, request: Any) -> None:
        """Offsets are JSON objects of strings, numbers, booleans and nulls."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        for offsets, _ in run.stops:
            assert kept(offsets) == offsets, f"the offsets {offsets} are read back from Kafka as {kept(offsets)}"
        last, back = ({p: dict(o) for p, o in of.items()} for of in (run.at, kept(run.at)))
        assert back == last, f"the offsets {last} are read back from Kafka as {back}"

    def test_there_is_nothing_more_at_the_end(self, request: Any) -> None:
        """A source without new records returns nothing, however often it is called."""
        if self.endless:
            return
        with self.life(request) as run:
            run.all(self.limits, self.batches)
            for _ in range(3):
                assert not run.step(self.plenty), "the example does not end: set `endless`, or increase `batches`"

    def test_it_stops_without_a_start_and_without_a_read(self, request: Any) -> None:
        """The source is stopped and the reader closed even if `start` failed."""
        self.runner(self.plugin, self.example(request)).close()
        with self.life(request):
            pass

    def test_its_own_offsets_may_be_put_back(self, request: Any) -> None:
        """`alter_offsets` accepts the offsets that the source wrote, and None instead of each, both twice."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        connector: Connector = make(self.plugin)
        for offsets in (kept(run.at), dict.fromkeys(run.at)):
            first, second = (connector.alter_offsets(run.config, offsets) for _ in range(2))
            assert isinstance(first, bool), f"`alter_offsets` must return True or False, not {first!r}"
            assert first is second, f"`alter_offsets` returned {first} first, then {second} for the same offsets"


def _agree(one: dict[SourcePartition, list[Record]], other: dict[SourcePartition, list[Record]]) -> None:
    assert any(other.values()) or not any(one.values()), "a second read returns no records"
    for partition in one.keys() & other.keys():
        both = min(len(one[partition]), len(other[partition]))
        assert exactly(one[partition][:both]) == exactly(other[partition][:both]), (
            f"a second read of {partition} returns other records"
        )
