"""The suite of source connectors, and the tests that sinks share with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, cast

from penstock.connector import Connector
from penstock.offsets import Offset, Offsets, SourcePartition, updated
from penstock.record import Record
from penstock.source import Limits, PollingSource
from penstock.testing._comparison import exactly, misfit, wire
from penstock.testing._harness import PLENTY, SourceRun, make, parsed
from penstock.testing._plugins import PluginSuite

__all__ = ["ConnectorSuite", "SourceSuite"]


class ConnectorSuite(PluginSuite):
    """Tests of connectors of both kinds."""

    def test_the_example_passes_validation(self, request: Any) -> None:
        """`validate` finds nothing wrong with it, twice."""
        connector: Connector = make(self.plugin)
        config = parsed(self.plugin, self.example(request))
        for _ in range(2):
            assert list(connector.validate(config)) == []

    def test_there_are_no_more_tasks_than_asked_for(self, request: Any) -> None:
        """Each task's properties are texts that parse."""
        connector: Connector = make(self.plugin)
        properties = self.example(request)
        config = parsed(self.plugin, properties)
        for most in (1, 2, 7):
            tasks = connector.task_configs(config, properties, most)
            assert 1 <= len(tasks) <= most, f"{len(tasks)} tasks, at most {most} were asked for"
            for task in tasks:
                assert all(isinstance(t, str) for pair in task.items() for t in pair), f"not all texts: {task}"
                parsed(self.plugin, task)


class SourceSuite(ConnectorSuite):
    """Tests of a source connector, whose example must have several batches of records under `limits` and then end.

    Attributes:
        limits: of a batch, so small that there are several batches.
        endless: whether the example never ends; only its first `batches` batches are compared then.
        batches: the most batches that are read.
    """

    limits: ClassVar[Limits] = Limits(5, 500)
    endless: ClassVar[bool] = False
    batches: ClassVar[int] = 30

    @property
    def plenty(self) -> Limits:
        """Limits of larger batches."""
        return Limits(2 * self.limits.records, 2 * self.limits.bytes) if self.endless else PLENTY

    @contextmanager
    def life(self, request: Any, offsets: Offsets | None = None) -> Iterator[SourceRun]:
        """One start of a task, from these offsets on."""
        with SourceRun(self.plugin, self.example(request), offsets or {}) as run:
            yield run

    def test_the_example_gives_records_that_fit_their_schemas(self, request: Any) -> None:
        """Each record has a topic, and its values fit their schemas."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        assert len(run.stops) > 1, "the example has one batch; the suite needs several: set smaller `limits`"
        records = [record for stream in run.streams.values() for record in stream]
        assert records
        for record in records:
            assert record.topic, f"without a topic: {record}"
            for schema, value in ((record.key_schema, record.key), (record.value_schema, record.value)):
                assert (wrong := misfit(schema, value)) is None, f"{wrong}: {record}"

    def test_a_life_that_resumes_after_any_batch_gives_the_same_records(self, request: Any) -> None:
        """After the offsets of every batch the same records follow, under any limits."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        whole = run.streams
        for offsets, lengths in run.stops:
            for limits in (self.limits, self.plenty):
                with self.life(request, kept(offsets)) as again:
                    again.all(limits, self.batches)
                for partition, stream in whole.items():
                    rest = stream[lengths.get(partition, 0) :]
                    resumed = again.streams.get(partition, [])
                    if self.endless:
                        rest, resumed = rest[: len(resumed)], resumed[: len(rest)]
                    assert exactly(resumed) == exactly(rest), f"after {dict(offsets)} under {limits}: {partition}"

    def test_a_batch_that_failed_comes_again_as_it_was(self, request: Any) -> None:
        """The same start gives the same records twice, also after a later batch was planned."""
        with self.life(request) as run:
            run.step(self.limits)
            first, end = run.plan(self.limits)
            kept_at, run.at = run.at, updated(run.at, end)
            run.plan(self.limits)
            run.at = kept_at
            # Other limits, or the clock, may end the batch elsewhere; the records that both hold must agree.
            second, _ = run.plan(self.limits)
            _agree(first, second)

    def test_reading_a_part_twice_gives_the_same_records(self, request: Any) -> None:
        """The records depend on the part alone, and reading does not change it."""
        with self.life(request) as run:
            if isinstance(run.source, PollingSource):
                return
            end = run.source.latest_offsets({}, self.plenty)
            parts = run.source.partitions({}, cast("Offsets", end))
            first = [list(run.read(part)) for part in parts]
            assert exactly([list(run.read(part)) for part in parts]) == exactly(first)

    def test_each_changed_offset_belongs_to_one_part(self, request: Any) -> None:
        """Otherwise records and offsets could not be committed together."""
        with self.life(request) as run:
            if isinstance(run.source, PollingSource):
                return
            for _ in range(self.batches):
                end = run.source.latest_offsets(run.at, self.limits)
                changed = {p: o for p, o in end.items() if run.at.get(p) != o}
                if not changed:
                    break
                parts = run.source.partitions(run.at, cast("Offsets", end))
                covered = [pair for part in parts for pair in part.offsets.items() if pair[0] in changed]
                assert len(covered) == len(changed), f"{covered} are to cover {changed}"
                assert dict(covered) == changed
                for part in parts:
                    assert exactly(wire(part.data)) == exactly(_plain(part.data)), f"not plain data: {part.data}"
                run.step(self.limits)

    def test_offsets_are_flat_and_survive_kafka(self, request: Any) -> None:
        """Offsets are JSON objects of texts, numbers, booleans and nulls."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        for offsets, _ in run.stops:
            assert kept(offsets) == offsets
        assert {p: dict(o) for p, o in kept(run.at).items()} == {p: dict(o) for p, o in run.at.items()}

    def test_there_is_nothing_more_at_the_end(self, request: Any) -> None:
        """A source without new records says so each time."""
        if self.endless:
            return
        with self.life(request) as run:
            run.all(self.limits, self.batches)
            for _ in range(3):
                assert not run.step(), "the example does not end: set `endless`, or more `batches`"

    def test_it_stops_without_a_start_and_without_a_read(self, request: Any) -> None:
        """A task whose `start` failed stops both halves as well."""
        SourceRun(self.plugin, self.example(request)).close()
        with self.life(request):
            pass

    def test_its_own_offsets_may_be_put_back(self, request: Any) -> None:
        """`alter_offsets` accepts offsets that the source wrote, and None for each of them, and each of both twice."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        connector: Connector = make(self.plugin)
        for offsets in (kept(run.at), dict.fromkeys(run.at)):
            first, second = (connector.alter_offsets(run.config, offsets) for _ in range(2))
            assert isinstance(first, bool)
            assert first is second, f"once {first}, then {second}"


def kept(offsets: Offsets) -> dict[SourcePartition, Offset]:
    """Offsets as they are read from Kafka."""
    import json

    for partition, offset in offsets.items():
        SourcePartition(offset)  # refuses what is not flat
        assert isinstance(partition, SourcePartition)
    return {
        SourcePartition(json.loads(json.dumps(dict(p)))): json.loads(json.dumps(dict(o))) for p, o in offsets.items()
    }


def _agree(one: dict[SourcePartition, list[Record]], other: dict[SourcePartition, list[Record]]) -> None:
    for partition in one.keys() & other.keys():
        both = min(len(one[partition]), len(other[partition]))
        assert exactly(one[partition][:both]) == exactly(other[partition][:both]), f"{partition} differs"


def _plain(data: Any) -> Any:
    """Mappings as dicts and sequences as lists, as another process receives them."""
    if isinstance(data, dict):
        return {k: _plain(v) for k, v in data.items()}
    return [_plain(v) for v in data] if isinstance(data, (list, tuple)) else data
