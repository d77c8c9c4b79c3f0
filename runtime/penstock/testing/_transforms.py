"""Suite of transforms."""

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

from penstock import _returned as returned
from penstock.batch import RecordBatch
from penstock.errors import ConnectError
from penstock.fields import Fields
from penstock.plugin import Transform
from penstock.record import Record
from penstock.testing._comparison import exactly, misfit
from penstock.testing._harness import checked
from penstock.testing._making import fresh
from penstock.testing._outcomes import configured, outcome, outcomes_elsewhere
from penstock.testing._plugins import PluginSuite

__all__ = ["TransformSuite"]


class TransformSuite(PluginSuite):
    """Tests of a transform.

    Attributes:
        records: records that it changes, drops, fails on and does not change.
        side: `key` to test its `$Key` form.
        fails_by: exceptions for invalid records; any other exception is considered a bug of the transform.
        drops_all: whether it drops every record, such as a transform that is used with a predicate.
    """

    records: ClassVar[Sequence[Record]] = ()
    side: ClassVar[str] = "value"
    fails_by: ClassVar[tuple[type[Exception], ...]] = (ConnectError,)
    drops_all: ClassVar[bool] = False

    def configured(self, request: Any) -> Transform:
        """Return a new transform with the example configuration."""
        return configured(self.plugin, self.example(request), self.side)

    def test_records_and_their_values_are_left_as_they_are(self, request: Any) -> None:
        """A record may be needed again: after an error, or for the dead letter queue."""
        transform = self.configured(request)
        records = fresh(self.records)
        before = exactly(records)
        for record in records:
            outcome(transform, record)
        assert exactly(records) == before, "`apply` changed a record, or a value in one"

    def test_the_same_record_becomes_the_same_again(self, request: Any) -> None:
        """The result of `apply` does not depend on the records before."""
        transform, other = self.configured(request), self.configured(request)
        forward = [outcome(transform, record) for record in fresh(self.records)]
        backward = [outcome(other, record) for record in reversed(fresh(self.records))]
        self._same(
            forward,
            backward[::-1],
            "by another object, after other records. What it becomes is to depend on the record and the configuration "
            "alone, and not on a clock, on chance or on the records before",
        )

    def test_a_record_becomes_the_same_in_another_process(self, request: Any) -> None:
        """`hash` and the order of sets differ between processes; a repeated record is often given to another process."""
        transform = self.configured(request)
        here = [outcome(transform, record) for record in fresh(self.records)]
        there = outcomes_elsewhere(self.plugin, self.example(request), self.side, self.records)
        # A record that fails in only one of them may need resources that a fixture has prepared.
        pairs = [(a, a if "failed" in (a[0], b[0]) else b) for a, b in zip(here, there, strict=False)]
        self._same(
            [a for a, _ in pairs],
            [b for _, b in pairs],
            "in another process. `hash` of a text, the order of a set and `id` are others there: use `hashlib`, `sorted`",
        )

    def test_some_of_the_records_do_not_fail(self, request: Any) -> None:
        """For a transform that fails for all `records`, the other tests would be meaningless."""
        transform, errors = self.configured(request), list[Exception]()
        for record in fresh(self.records):
            try:
                transform.apply(record)
            except Exception as e:  # noqa: BLE001 (any exception is a record's failure)
                errors.append(e)
        assert self.records, "the suite needs some `records`"
        if len(errors) == len(self.records):
            raise AssertionError(
                f"`apply` fails for all `records`, for the first with a {type(errors[0]).__name__}: {errors[0]}"
            ) from errors[0]

    def test_a_record_that_fails_fails_by_a_data_error(self, request: Any) -> None:
        """Any other exception indicates a bug, unless it is listed in `fails_by`."""
        transform = self.configured(request)
        for record in fresh(self.records):
            try:
                transform.apply(record)
            except self.fails_by:
                continue
            except Exception as e:
                raise AssertionError(
                    f"`apply` fails by a {type(e).__name__}: {e}. That is taken for a mistake of the transform. Where the "
                    "record is wrong, raise a DataError that says what is, or name this exception in `fails_by` of the "
                    f"suite. The record is {record}"
                ) from e

    def test_some_of_the_records_come_out(self, request: Any) -> None:
        """If a transform drops all records, a `return` may be missing."""
        transform = self.configured(request)
        found = [outcome(transform, record)[0] for record in fresh(self.records)]
        assert self.drops_all or "record" in found or "dropped" not in found, (
            "`apply` returns None for all `records`, so that all are dropped: return the record, or add one that it "
            "keeps; if it is to drop all, set `drops_all = True` in the suite"
        )

    def test_a_record_or_none_comes_out(self, request: Any) -> None:
        """The form for one side, such as `Shout$Key`, must not change the other side of a record."""
        transform = self.configured(request)
        for record in fresh(self.records):
            found = outcome(transform, record, raw=True)
            if isinstance(found, tuple) and found[:1] == ("failed",):
                continue
            made = checked(transform, found)
            if made is not None and transform.variants:
                names = ("value", "value_schema") if self.side == "key" else ("key", "key_schema")
                for name in names:
                    assert exactly(getattr(made, name)) == exactly(getattr(record, name)), (
                        f"the form for the {self.side} has changed the {name} of {record}"
                    )

    def test_values_fit_their_schemas(self, request: Any) -> None:
        """A record whose values fit their schemas becomes one whose values fit theirs."""
        transform = self.configured(request)
        for record in fresh(self.records):
            if _misfits(record):
                continue
            found = outcome(transform, record, raw=True)
            if isinstance(found, Record):
                assert (wrong := _misfits(found)) is None, f"{wrong}, of {record}"

    def test_the_batch_form_gives_what_the_record_form_gives(self, request: Any) -> None:
        """For all records, single ones and pairs; owned or not, as columns or not, with gaps in the positions."""
        transform = self.configured(request)
        if not transform.has_batch_form:
            return
        count = len(self.records)
        spans = {(0, count)} | {(i, min(count, i + n)) for i in range(count) for n in (1, 2)}
        for start, end in sorted(spans):
            for owned, columns in ((False, False), (True, False), (False, True), (True, True)):
                self._batch_agrees(transform, fresh(self.records[start:end]), owned=owned, columns=columns)

    def _batch_agrees(self, transform: Transform, records: list[Record], *, owned: bool, columns: bool) -> None:
        # A batch has offsets only if every record has one. So compare with its records, not with those it was made of.
        expected = [outcome(transform, record) for record in RecordBatch.of(records).records()]
        given = [r.replace(value=copy.deepcopy(r.value)) for r in records] if owned else records
        positions = range(100, 100 + 3 * len(records), 3)
        batch = RecordBatch.of(given, positions=positions).replace(owned=owned)
        if columns:
            fields = Fields.of(batch.value or [])
            if fields is None:
                return
            batch = batch.replace(value=fields)
        before = exactly(batch)
        try:
            found = transform.apply_batch(batch)
        except Exception:  # noqa: BLE001 (any exception is a record's failure)
            assert any(kind == "failed" for kind, _ in expected), (
                f"`apply_batch` fails where `apply` does not: {records}"
            )
            if owned:  # the runtime gives the same batch to `apply`, record by record
                again = [outcome(transform, record) for record in batch.records()]
                assert again == expected, (
                    f"`apply_batch` fails, as it is to, and has changed the batch before, so that `apply` gives {again} for "
                    f"it then, and not {expected}"
                )
            else:
                assert exactly(batch) == before, "`apply_batch` changed a batch that is not its own"
            return
        found = returned.batch(found, returned.name(transform, "apply_batch"), before=batch)
        kept = [(p, e) for p, (kind, e) in zip(positions, expected, strict=True) if kind == "record"]
        assert not any(kind == "failed" for kind, _ in expected), (
            f"`apply` fails where `apply_batch` does not: {records}"
        )
        left, wanted = ([positions.index(p) for p in of] for of in (found.positions, [p for p, _ in kept]))
        assert left == wanted, (
            f"`apply_batch` keeps the records {left} of {records}, and `apply` keeps {wanted}: drop rows by `batch.take`"
        )
        for record, (position, single) in zip(found.records(), kept, strict=True):
            assert exactly(record) == single, (
                f"`apply_batch` gives {record} where `apply` gives {single}, for {records[positions.index(position)]}"
            )
        assert owned or exactly(batch) == before, "`apply_batch` changed a batch that is not its own"

    def _same(self, one: Sequence[Any], other: Sequence[Any], how: str) -> None:
        """Check that two sequences of outcomes for the same records are equal."""
        for record, a, b in zip(self.records, one, other, strict=False):
            assert a == b, f"{record} becomes {a}, and {b} {how}"

    def test_it_closes(self, request: Any) -> None:
        """After `configure`, with and without records."""
        self.configured(request).close()


def _misfits(record: Record) -> str | None:
    return misfit(record.key_schema, record.key, "the key") or misfit(record.value_schema, record.value)
