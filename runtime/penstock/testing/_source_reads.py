"""Tests of how a source divides, reads and limits batches."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, ClassVar, Final

from penstock._function_source import FunctionReader
from penstock.batch import RecordBatch
from penstock.offsets import Offset, Offsets, SourcePartition, updated
from penstock.source import Limits, PollingSource
from penstock.testing._comparison import exactly, wire
from penstock.testing._connectors import ConnectorSuite
from penstock.testing._source_run import SourceRun, Streams

__all__ = ["SourceReadsSuite", "kept"]


_PORTIONS: Final = 100
"""Maximum number of checked portions per read, because a read may be endless."""


class SourceReadsSuite(ConnectorSuite):
    """Tests of how batches are divided, read and limited. The attributes are those of `SourceSuite`."""

    limits: ClassVar[Limits] = Limits(5, 500)
    endless: ClassVar[bool] = False
    batches: ClassVar[int] = 30
    runner: ClassVar[type[SourceRun]] = SourceRun

    @property
    def plenty(self) -> Limits:
        """Limits of larger batches; if the example ends, they allow one batch with all records."""
        times = 2 if self.endless else 2 * self.batches
        return Limits(times * self.limits.records, times * self.limits.bytes)

    @contextmanager
    def life(self, request: Any, offsets: Offsets | None = None) -> Iterator[SourceRun]:
        """Start a task at these offsets, and stop it when the context exits."""
        with self.runner(self.plugin, self.example(request), offsets or {}) as run:
            yield run

    def _same(
        self, found: Streams, whole: Streams, since: Mapping[SourcePartition, int], how: str, *, begun: bool = False
    ) -> None:
        """Check that each stream consists of the remaining records.

        Args:
            found: the records that were read.
            whole: the expected records, in order.
            since: the index of the first expected record of each stream.
            how: how the records were read, for messages.
            begun: whether the records may be incomplete, which is always allowed if the source is `endless`.
        """
        for partition in {**whole, **found}:
            records, rest = found.get(partition, []), whole.get(partition, [])[since.get(partition, 0) :]
            if begun or self.endless:
                records, rest = records[: len(rest)], rest[: len(records)]
            wrong = next(
                (n for n, (a, b) in enumerate(zip(records, rest, strict=False)) if exactly(a) != exactly(b)), None
            )
            assert wrong is None, f"{how}: record {wrong} of {partition} is {records[wrong]}, not {rest[wrong]}"
            assert len(records) == len(rest), f"{how}: {partition} has {len(records)} records, not {len(rest)}"

    def test_reading_a_part_twice_gives_the_same_records(self, request: Any) -> None:
        """Records depend only on the input partition, neither on the reader nor on previous reads."""
        with self.life(request) as run, self.life(request) as other:
            if isinstance(run.source, PollingSource):
                return
            parts, _ = run.parts(run.source, self.plenty)
            first = [exactly(list(run.read(part))) for part in parts]
            assert [exactly(list(run.read(part))) for part in parts] == first, (
                "a second read of an input partition returns other records"
            )
            for part, records in list(zip(parts, first, strict=True))[::-1]:
                reader = run if part.local else other
                assert exactly(list(reader.read(part))) == records, (
                    "another reader returns other records for the same input partition"
                )

    def test_a_portion_stays_as_it_was_given(self, request: Any) -> None:
        """A portion is delivered while the next one is read, and a transform may modify the values of an `owned` batch."""
        with self.life(request) as run:
            batches, given = [], []
            for batch in islice(run.portions(self.plenty), _PORTIONS):
                batches.append(batch)
                given += [exactly(record) for record in batch.records()]
            later = [exactly(record) for batch in batches for record in batch.records()]
            assert later == given, "a record changed after it was yielded: create a new value for each record"
            _same_again(
                run.portions(self.plenty), given, "do not use a clock, random numbers or state of earlier reads"
            )
            if _use_up(batches):
                changed = (
                    "a transform modified a value of an owned batch that the source reuses: copy it, or unset `owned`"
                )
                _same_again(run.portions(self.plenty), given, changed)

    def test_limits_are_kept(self, request: Any) -> None:
        """A batch may exceed the limits at most twofold, so that it fits into a transaction."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        polling = isinstance(
            run.source, PollingSource
        )  # limits apply to portions, because the runtime can end a read between them
        most = 2 * self.limits.records + (0 if polling else len(run.streams))  # one record per stream is always allowed
        assert max(run.sizes, default=0) <= most, (
            f"a {'portion' if polling else 'batch'} has {max(run.sizes)} records, but the limit is {self.limits.records}"
        )

    def test_small_limits_do_not_hold_it_up(self, request: Any) -> None:
        """A record larger than the limit becomes a separate batch."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        for limits, how in (
            (Limits(1, 1), "under limits of one record and one byte"),
            (Limits(self.plenty.records, 1), "under limits of many records and one byte"),
        ):
            with self.life(request) as small:
                goes_on = True
                while goes_on and len(small.stops) < self.batches:
                    goes_on = small.step(limits, portions=1)
            self._same(small.streams, run.streams, {}, how, begun=goes_on)

    def test_parts_of_a_batch_are_delivered_each_by_itself(self, request: Any) -> None:
        """Workers commit the records and offsets of their input partitions; if one fails, the other offsets remain valid."""
        with self.life(request) as run:
            run.all(self.limits, self.batches)
        for at, lengths in run.stops[:2]:
            with self.life(request, kept(at)) as life:
                if isinstance(life.source, PollingSource):
                    return
                parts, _ = life.parts(life.source, self.limits)
                sizes = [(part, len(list(life.read(part)))) for part in parts if part.offsets]
            for part, size in (sizes[0], sizes[-1]) if len(sizes) > 1 else ():
                first = next(iter(part.offsets))
                with self.life(request, kept(updated(at, part.offsets))) as again:
                    again.all(self.plenty, self.batches)
                rest = {**lengths, first: lengths.get(first, 0) + size}
                self._same(again.streams, run.streams, rest, f"after {dict(at)} and {dict(part.offsets)}")

    def test_a_read_may_end_after_any_portion(self, request: Any) -> None:
        """The offsets of a polling source's portion must be those directly after its records."""
        with self.life(request) as run:
            if not isinstance(run.source, PollingSource):
                return
            run.all(self.plenty, self.batches)
        assert not run.without_offsets, (
            f"{run.without_offsets} records at the end of a read have no offsets after them: they would be read repeatedly"
        )
        with self.life(request) as again:
            what = "portion"
            if isinstance(again.source, FunctionReader):
                again.source.portion, what = 1, "pair that it yields"
            goes_on = True
            while goes_on and len(again.stops) < 10 * self.batches:
                goes_on = again.step(self.plenty, portions=1)
        self._same(again.streams, run.streams, {}, f"when each read ends after a {what}", begun=goes_on)

    def test_each_changed_offset_belongs_to_one_part(self, request: Any) -> None:
        """If an offset were in several parts or in none, records and offsets could not be committed together."""
        with self.life(request) as run:
            if isinstance(run.source, PollingSource):
                return
            for _ in range(self.batches):
                parts, changed = run.parts(run.source, self.limits)
                if not changed:
                    break
                covered = [pair for part in parts for pair in part.offsets.items() if pair[0] in changed]
                assert len(covered) == len(changed), f"the input partitions have the offsets {covered}, not {changed}"
                assert dict(covered) == changed, f"the input partitions have the offsets {dict(covered)}, not {changed}"
                for part in parts:
                    data = dict(part.data)
                    assert exactly(wire(data)) == exactly(_plain(data)), (
                        f"InputPartition.data is not plain data: {data}"
                    )
                run.step(self.limits)


def kept(offsets: Offsets) -> dict[SourcePartition, Offset]:
    """Return offsets as they are read back from Kafka."""
    for partition, offset in offsets.items():
        SourcePartition(offset)  # rejects nested values
        assert isinstance(partition, SourcePartition)
    return {
        SourcePartition(json.loads(json.dumps(dict(p)))): json.loads(json.dumps(dict(o))) for p, o in offsets.items()
    }


def _plain(data: Any) -> Any:
    """Convert tuples in data to lists, as another process receives them."""
    if isinstance(data, dict):
        return {k: _plain(v) for k, v in data.items()}
    return [_plain(v) for v in data] if isinstance(data, (list, tuple)) else data


def _same_again(portions: Iterator[RecordBatch], given: Sequence[Any], why: str) -> None:
    """Check that records are the same when they are read again from the same offsets."""
    again = [record for batch in islice(portions, _PORTIONS) for record in batch.records()]
    for number, (record, before) in enumerate(zip(again, given, strict=False)):
        assert exactly(record) == before, (
            f"a second read from the same offsets returns other records: record {number} is {record}, not {before}; {why}"
        )


def _use_up(batches: Sequence[RecordBatch]) -> bool:
    """Modify the values of owned batches in place like a transform, and return whether there were any."""
    own = [value for batch in batches if batch.owned for value in batch.value or () if isinstance(value, (dict, list))]
    for value in own:
        value.clear()
    return bool(own)
