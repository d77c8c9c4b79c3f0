"""Tests of the offsets at which a sink continues after a commit, a failure, a restart or a late write."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Final

from penstock.batch import RecordBatch
from penstock.errors import RetriableError
from penstock.record import Original, Record
from penstock.schema import STRING
from penstock.sink import TopicPartition, Writer
from penstock.testing._connectors import ConnectorSuite
from penstock.testing._harness import sink_batch
from penstock.testing._sink_life import T0, T1, SinkLife, offset_of, placed

__all__ = ["SinkOffsetsSuite"]

_BEFORE: Final = TopicPartition("before", 0)
"""Partition whose records have a different topic and partition, as changed by a transform."""

_TRIES: Final = 3
"""Attempts to write a batch. By the last one, a writer that knew an older offset must have read the stored offset."""


def _records() -> list[Record]:
    return [
        Record(topic="t", partition=0, offset=n, original=Original("t", 0, n), value=f"v{n}", value_schema=STRING)
        for n in range(10)
    ]


class SinkOffsetsSuite(ConnectorSuite):
    """Tests of the records that a sink stores, and of its offsets. A sink without offsets must deliver at least once.

    Attributes:
        records: the records to write, three or more, each with an offset in partition 0 of topic `t`.
        exactly_once: whether the sink must store offsets with its data. A sink whose `open` returns offsets must deliver
            exactly once in any case.

    Override `stored` so that the suite can compare the contents of the external system.
    """

    records: ClassVar[Sequence[Record]] = _records()
    exactly_once: ClassVar[bool] = False

    def stored(self, properties: Mapping[str, str]) -> list[Any] | None:
        """Return the contents of the external system, one comparable entry per record, in order; None to skip comparison."""
        return None

    def test_exactly_once_is_shown_by_what_is_stored(self, request: Any) -> None:
        """Without `stored`, the suite cannot detect lost and duplicate records."""
        if not self.exactly_once:
            return
        with self._life(request) as life:
            life.write(life.following(self.records))
            life.commit()
            assert life.frame or self.stored(self.example(request)) is not None, (
                f"`exactly_once` requires `stored`, but {type(self).__name__}.stored returns None: override it to return a "
                "list of the contents of the external system, with one entry per record, initially empty"
            )

    def test_the_next_life_begins_where_the_last_commit_ended(self, request: Any) -> None:
        """With exactly-once delivery, a smaller offset would duplicate records, and a greater offset would lose some."""
        for cut in (slice(0, 1), slice(1, 4), slice(4, None)):
            with self._life(request) as life:
                if life.frame:
                    return
                some = life.following(self.records[cut])
                life.write([*some[:1], *some[2:]])  # a transform dropped the second: offsets have gaps
                life.commit()
                again = life.reopen()
            with self._life(request) as other:
                assert other.opened == again, (
                    f"`open` returns {dict(again)} after a commit, but {dict(other.opened)} after the next task start: "
                    "read the offsets from the external system, not from memory"
                )
                if not self._stores_offsets(other):
                    return
                _agree(other, life)
                other.commit(dropped=2)
                other.reopen()
                _agree(other, life, dropped=2)

    def test_a_batch_that_failed_comes_again_from_where_the_sink_stands(self, request: Any) -> None:
        """After `close` and `open`, no record is lost, and with exactly-once delivery none is duplicated."""
        self._fail(request, SinkLife.reopen)

    def test_a_task_that_failed_comes_again_from_where_the_sink_stands(self, request: Any) -> None:
        """No record is lost after `close`, `stop` and a restart without a `commit`.

        With exactly-once delivery, none is duplicated.
        """
        self._fail(request, SinkLife.stop)

    def test_a_task_that_was_killed_comes_again_from_where_the_sink_stands(self, request: Any) -> None:
        """Correctness must not depend on `close` and `stop`, which a killed process does not call."""
        self._fail(request, SinkLife.kill, committed=True)

    def test_what_is_stored_is_not_stored_again_by_a_late_writer(self, request: Any) -> None:
        """A `write` that stores offsets with the records skips records before the stored offset."""
        with self._life(request, T0, T1) as life:
            if life.frame:
                return
            before = self._count(request)
            first, second, rest = self._thirds(life.following(self.records))
            late = life.writer()
            life.write_batches([sink_batch(first)], late)
            life.commit()
            begun = life.reopen().get(T0)
            life.lose(second)
            reached = life.reopen().get(T0)
            if begun is None or reached is None or reached <= begun:
                return  # `commit` stores offsets, and never receives messages of a late writer; or no offsets are stored
            aside = placed(rest[1:], T1, life.written.get(T1))
            both, overlap = [*first, *second], [*second[-1:], *rest[:1]]
            again: Sequence[Sequence[Record]]
            for again in ([second], [both], [overlap], [aside, second]):
                for writer in (late, life.writer()):
                    _write_late(life, writer, [sink_batch(records) for records in again])
                    life.messages.clear()
                    ends = dict(life.written)
                    at = life.reopen().get(T0, 0)
                    assert at >= reached, f"a late writer decreases the stored offset from {reached} to {at}"
                    lost = {of: end for of, end in ends.items() if life.opened.get(of, 0) < end}
                    assert not lost, (
                        f"`write` accepted records up to {lost}, of which some were stored before, but `open` returns "
                        f"{dict(life.opened)}: the others are lost; skip only records before the stored offset"
                    )
                    there = [r for r in [*both, *rest[:1]] if offset_of(r) < at]
                    there += [r for r in aside if offset_of(r) < life.opened.get(T1, 0)]
                    if before is not None:
                        found = (self._count(request) or 0) - before
                        assert found == len(there), (
                            f"{found} records are stored after a late writer wrote some of them again, not {len(there)}, "
                            f"although `open` returns {dict(life.opened)}: skip records before the stored offset, and "
                            "store the others with the offset after them"
                        )

    def test_offsets_are_those_that_records_had_before_transforms(self, request: Any) -> None:
        """A transform may rename topics. Store offsets under `Record.original`, or `original_topic` of a batch."""
        first, second, rest = self._thirds(self.records)
        with self._life(request) as life:
            if life.frame:
                return
            life.write(life.following(first))
            life.commit()
        with self._life(request, T0, _BEFORE) as life:
            if not self._stores_offsets(life):
                return
            renamed = [r.replace(partition=3) for r in life.following(rest, _BEFORE)]
            life.write_batches([sink_batch(life.following(second)), sink_batch(renamed)])
            life.commit()
        with self._life(request, T0, _BEFORE) as other:
            _agree(other, life, "a transform renamed the topic `before` to `t`, and ")

    def test_each_partition_has_its_own_offset(self, request: Any) -> None:
        """Each partition continues at its own offset, even if it is added later, or is the only one that is opened."""
        first, second, rest = self._thirds(self.records)
        with self._life(request) as life:
            if life.frame:
                return
            life.write(life.following(first))
            life.commit()
        with self._life(request) as life:
            if not self._stores_offsets(life):
                return
            life.add(T1)
            life.write_batches([sink_batch(life.following(second)), sink_batch(_moved(life.following(rest, T1)))])
            life.commit()
        with self._life(request, T0, T1) as other:
            _agree(other, life)
        with self._life(request, T1) as alone:
            alone.write(_moved(alone.following(second, T1)))
            alone.commit()
        for of, before in ((T0, life), (T1, alone)):
            with self._life(request, of) as last:
                _agree(last, before)

    def _fail(self, request: Any, end: Callable[[SinkLife], Any], *, committed: bool = False) -> None:
        """Write a batch, commit the previous batch before or after that, and end the task or the batch with `end`."""
        with self._life(request) as life:
            if life.frame:
                return
            before = self._count(request)
            first, second, _ = self._thirds(records := life.following(self.records))
            life.write(first)
            if committed:
                life.commit()
            reached = life.lose(second)
            if not committed:
                life.commit()
            end(life)
            with self._life(request) if life.ended else nullcontext(life) as other:
                once = self._go_on(other, life, records, reached)
        found = self._count(request)
        if before is None or found is None:
            return
        assert found >= before + len(records), f"{before + len(records) - found} of {len(records)} records are lost"
        assert found == before + len(records) or not once, (
            f"{found - before - len(records)} records are stored twice: store the offsets that `open` returns in one "
            "transaction with the records, and roll back uncommitted records"
        )

    def _go_on(self, life: SinkLife, ended: SinkLife, records: Sequence[Record], reached: int) -> bool:
        """Write the remaining records like the runtime.

        Return whether they started at the offset that `open` returned, instead of the last committed offset.
        """
        committed = min(ended.committed[T0], ended.allowed.get(T0, offset_of(records[0])))
        at = committed
        if at_sink := self._stores_offsets(life):
            at = life.opened.get(T0, offset_of(records[0]))
            assert committed <= at <= reached, (
                f"`open` returns {at}, but offset {committed} is committed and records up to {reached} were written"
            )
        rest = [r for r in records if offset_of(r) >= at]
        for some in (rest[:1], rest[1:]):
            life.write(some)
        life.commit()
        return at_sink

    def _life(self, request: Any, *partitions: TopicPartition, name: str = "suite") -> SinkLife:
        return SinkLife(self.plugin, self.example(request), name, partitions or (T0,))

    def _count(self, request: Any) -> int | None:
        found = self.stored(self.example(request))
        return None if found is None else len(found)

    def _stores_offsets(self, life: SinkLife) -> bool:
        """Return whether `open` returned offsets after records were stored."""
        assert life.opened or not self.exactly_once, (
            "`open` returns no offsets although records were committed; return the stored offsets, or unset `exactly_once`"
        )
        return bool(life.opened)

    def _thirds(self, records: Sequence[Record]) -> tuple[Sequence[Record], Sequence[Record], Sequence[Record]]:
        assert len(records) > 2, "set three or more `records` in the suite"
        a, b = len(records) // 3, 2 * len(records) // 3
        return records[:a], records[a:b], records[b:]


def _agree(life: SinkLife, before: SinkLife, context: str = "", dropped: int = 0) -> None:
    """Check that `open` returned the offsets of the last commit, for each partition of this start."""
    for of in life.partitions:
        end = before.committed.get(of)
        if end is None:
            continue
        at, least = life.opened.get(of), min(end, before.allowed.get(of, 0))
        message = f"{context}`open` returns {at} for {of.topic}-{of.partition}, but the committed offset is {end}"
        assert at is not None or not least, message
        assert at is None or at >= least, f"{message}: records are duplicated"
        assert at is None or at <= end + dropped, f"{message}: records are lost"


def _write_late(life: SinkLife, writer: Writer, batches: Sequence[RecordBatch]) -> None:
    """Write batches of which some or all records are stored; retry if `write` requests it, like the runtime."""
    for _ in range(_TRIES):
        try:
            life.write_batches(batches, writer)
        except RetriableError as e:
            refused = e
        except AssertionError:
            raise
        except Exception as e:
            raise AssertionError(
                f"`write` rejects a batch with records before the stored offset with {type(e).__name__}, which fails the "
                "task; skip these records, and store the others"
            ) from e
        else:
            return
    raise AssertionError(
        f"`write` rejects a batch with records before the stored offset {_TRIES} times with RetriableError ({refused}), so "
        "the same batch would be retried forever; skip these records, and store the others"
    ) from refused


def _moved(records: Sequence[Record]) -> list[Record]:
    """Return records with their original partition, as if no transform had changed it. Omit records without an original."""
    return [r.replace(partition=r.original.partition) for r in records if r.original is not None]
