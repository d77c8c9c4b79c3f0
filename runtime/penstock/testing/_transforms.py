"""Test suite for transforms."""

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
        records: records that the transform changes, drops, rejects and does not change.
        side: `key` to test its `$Key` form.
        fails_by: exceptions for invalid records; any other exception is considered a bug in the transform.
        drops_all: whether it drops every record, as a filter that is used with a predicate does.
    """

    records: ClassVar[Sequence[Record]] = ()
    side: ClassVar[str] = "value"
    fails_by: ClassVar[tuple[type[Exception], ...]] = (ConnectError,)
    drops_all: ClassVar[bool] = False

    def configured(self, request: Any) -> Transform:
        """Return a new transform with the example configuration."""
        return configured(self.plugin, self.example(request), self.side)

    def test_records_and_their_values_are_left_as_they_are(self, request: Any) -> None:
        """A record may be needed again after an error, or for the dead letter queue."""
        transform = self.configured(request)
        records = fresh(self.records)
        before = exactly(records)
        for record in records:
            outcome(transform, record)
        assert exactly(records) == before, "`apply` modified a record or its values"

    def test_the_same_record_becomes_the_same_again(self, request: Any) -> None:
        """The result of `apply` does not depend on the records before."""
        transform, other = self.configured(request), self.configured(request)
        forward = [outcome(transform, record) for record in fresh(self.records)]
        backward = [outcome(other, record) for record in reversed(fresh(self.records))]
        self._same(
            forward,
            backward[::-1],
            "from another object that transformed other records before: the result must depend only on the record and the "
            "configuration, not on a clock, random numbers or previous records",
        )

    def test_a_record_becomes_the_same_in_another_process(self, request: Any) -> None:
        """`hash` and the order of sets differ between processes, and a record is often retried in another process."""
        transform = self.configured(request)
        here = [outcome(transform, record) for record in fresh(self.records)]
        there = outcomes_elsewhere(self.plugin, self.example(request), self.side, self.records)
        # A record that fails in only one process may need resources of a fixture.
        pairs = [(a, a if "failed" in (a[0], b[0]) else b) for a, b in zip(here, there, strict=False)]
        self._same(
            [a for a, _ in pairs],
            [b for _, b in pairs],
            "in another process, where `hash` of a string, the order of a set and `id` differ: use `hashlib` and `sorted`",
        )

    def test_some_of_the_records_do_not_fail(self, request: Any) -> None:
        """If `apply` fails for all `records`, the other tests are meaningless."""
        transform, errors = self.configured(request), list[Exception]()
        for record in fresh(self.records):
            try:
                transform.apply(record)
            except Exception as e:  # noqa: BLE001 (any exception is a record's failure)
                errors.append(e)
        assert self.records, "set `records` in the suite"
        if len(errors) == len(self.records):
            raise AssertionError(
                f"`apply` fails for all `records`; for the first with {type(errors[0]).__name__}: {errors[0]}"
            ) from errors[0]

    def test_a_record_that_fails_fails_by_a_data_error(self, request: Any) -> None:
        """Any exception that `fails_by` does not list is considered a bug."""
        transform = self.configured(request)
        for record in fresh(self.records):
            try:
                transform.apply(record)
            except self.fails_by:
                continue
            except Exception as e:
                raise AssertionError(
                    f"`apply` fails with {type(e).__name__}: {e}. This is considered a bug in the transform. If the record "
                    "is invalid, raise a DataError that explains why, or add this exception to `fails_by` of the suite. "
                    f"The record is {record}"
                ) from e

    def test_some_of_the_records_come_out(self, request: Any) -> None:
        """A transform that drops all records may lack a `return`."""
        transform = self.configured(request)
        found = [outcome(transform, record)[0] for record in fresh(self.records)]
        assert self.drops_all or "record" in found or "dropped" not in found, (
            "`apply` returns None for all `records`, which drops them: return the record, or add a record that is not "
            "dropped; if the transform should drop all records, set `drops_all = True` in the suite"
        )

    def test_a_record_or_none_comes_out(self, request: Any) -> None:
        """The variant for one side, such as `Shout$Key`, does not change the other side of a record."""
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
                        f"the variant for the {self.side} changed the {name} of {record}"
                    )

    def test_values_fit_their_schemas(self, request: Any) -> None:
        """If the values of a record match their schemas, those of the transformed record do, too."""
        transform = self.configured(request)
        for record in fresh(self.records):
            if _misfits(record):
                continue
            found = outcome(transform, record, raw=True)
            if isinstance(found, Record):
                assert (wrong := _misfits(found)) is None, f"`apply` returned an invalid record for {record}: {wrong}"

    def test_the_batch_form_gives_what_the_record_form_gives(self, request: Any) -> None:
        """`apply_batch` agrees with `apply` for all records together, for single records and for two adjacent ones.

        They are owned or not, stored as columns or not, and have gaps in their positions.
        """
        transform = self.configured(request)
        if not transform.has_batch_form:
            return
        count = len(self.records)
        spans = {(0, count)} | {(i, min(count, i + n)) for i in range(count) for n in (1, 2)}
        for start, end in sorted(spans):
            for owned, columns in ((False, False), (True, False), (False, True), (True, True)):
                self._batch_agrees(transform, fresh(self.records[start:end]), owned=owned, columns=columns)

    def _batch_agrees(self, transform: Transform, records: list[Record], *, owned: bool, columns: bool) -> None:
        # A batch has offsets only if every record has one, so compare with its records, not with `records`.
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
            if owned:  # the runtime passes the records of the same batch to `apply`
                again = [outcome(transform, record) for record in batch.records()]
                assert again == expected, (
                    f"`apply_batch` modified the batch before it failed, so that `apply` returns {again}, not {expected}"
                )
            else:
                assert exactly(batch) == before, "`apply_batch` modified a batch that is not owned"
            return
        found = returned.batch(found, returned.name(transform, "apply_batch"), before=batch)
        kept = [(p, e) for p, (kind, e) in zip(positions, expected, strict=True) if kind == "record"]
        assert not any(kind == "failed" for kind, _ in expected), (
            f"`apply` fails where `apply_batch` does not: {records}"
        )
        left, wanted = ([positions.index(p) for p in of] for of in (found.positions, [p for p, _ in kept]))
        assert left == wanted, (
            f"`apply_batch` keeps the rows {left} of {records}, but `apply` keeps {wanted}: drop rows with `batch.take`"
        )
        for record, (position, single) in zip(found.records(), kept, strict=True):
            assert exactly(record) == single, (
                f"`apply_batch` returns {record} where `apply` returns {single}, for {records[positions.index(position)]}"
            )
        assert owned or exactly(batch) == before, "`apply_batch` modified a batch that is not owned"

    def _same(self, one: Sequence[Any], other: Sequence[Any], how: str) -> None:
        """Check that two sequences of outcomes for the same records are equal."""
        for record, a, b in zip(self.records, one, other, strict=False):
            assert a == b, f"{record} becomes {a}, but {b} {how}"

    def test_it_closes(self, request: Any) -> None:
        """`close` succeeds after `configure`."""
        self.configured(request).close()


def _misfits(record: Record) -> str | None:
    return misfit(record.key_schema, record.key, "the key") or misfit(record.value_schema, record.value)
