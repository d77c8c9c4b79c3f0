"""The suite of transforms."""

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

from penstock import _returned as returned
from penstock.batch import RecordBatch
from penstock.fields import Fields
from penstock.plugin import Transform
from penstock.record import Record
from penstock.testing._comparison import exactly, misfit
from penstock.testing._harness import checked
from penstock.testing._making import fresh, make, parsed
from penstock.testing._plugins import PluginSuite

__all__ = ["TransformSuite"]


class TransformSuite(PluginSuite):
    """Tests of a transform.

    Attributes:
        records: some that it changes, some that it drops, some that it fails on, some that it does not change.
        side: `key` to test its `$Key` form.
    """

    records: ClassVar[Sequence[Record]]
    side: ClassVar[str] = "value"

    def configured(self, request: Any) -> Transform:
        """A new transform with the example configuration."""
        transform: Transform = make(self.plugin)
        transform.side = self.side
        transform.configure(parsed(self.plugin, self.example(request)))
        return transform

    def test_records_and_their_values_are_left_as_they_are(self, request: Any) -> None:
        """A record may be needed again: after an error, or for the dead letter queue."""
        transform = self.configured(request)
        records = fresh(self.records)
        before = exactly(records)
        for record in records:
            _outcome(transform, record)
        assert exactly(records) == before, "`apply` changed a record, or a value in one"

    def test_the_same_record_becomes_the_same_again(self, request: Any) -> None:
        """The result of `apply` does not depend on the records before."""
        transform, other = self.configured(request), self.configured(request)
        forward = [_outcome(transform, record) for record in fresh(self.records)]
        backward = [_outcome(other, record) for record in reversed(fresh(self.records))]
        assert forward == backward[::-1]

    def test_some_of_the_records_do_not_fail(self, request: Any) -> None:
        """Of a transform that fails for all of `records`, the other tests could say nothing."""
        transform, errors = self.configured(request), list[Exception]()
        for record in fresh(self.records):
            try:
                transform.apply(record)
            except Exception as e:  # noqa: BLE001 (any exception is a record's failure)
                errors.append(e)
        assert self.records, "the suite needs some `records`"
        if len(errors) == len(self.records):
            raise AssertionError(
                f"`apply` fails for all `records`, for the first by a {type(errors[0]).__name__}: {errors[0]}"
            ) from errors[0]

    def test_a_record_or_none_comes_out(self, request: Any) -> None:
        """And of a form for one side, as `Shout$Key`, a record whose other side is what it was."""
        transform = self.configured(request)
        for record in fresh(self.records):
            found = _outcome(transform, record, raw=True)
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
            found = _outcome(transform, record, raw=True)
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
        expected = [_outcome(transform, record) for record in RecordBatch.of(records).records()]
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
                assert [_outcome(transform, record) for record in batch.records()] == expected
            else:
                assert exactly(batch) == before, "`apply_batch` changed a batch that is not its own"
            return
        found = returned.batch(found, returned.name(transform, "apply_batch"), before=batch)
        kept = [(p, e) for p, (kind, e) in zip(positions, expected, strict=True) if kind == "record"]
        assert not any(kind == "failed" for kind, _ in expected), (
            f"`apply` fails where `apply_batch` does not: {records}"
        )
        assert list(found.positions) == [p for p, _ in kept], "positions of the records that are left"
        assert [exactly(record) for record in found.records()] == [e for _, e in kept]
        assert owned or exactly(batch) == before, "`apply_batch` changed a batch that is not its own"

    def test_it_closes(self, request: Any) -> None:
        """After `configure`, with and without records."""
        self.configured(request).close()


def _outcome(transform: Transform, record: Record, *, raw: bool = False) -> Any:
    """The outcome for one record: a record, dropped, or failed with a type of exception."""
    try:
        found = transform.apply(record)
    except Exception as e:  # noqa: BLE001 (any exception is a record's failure)
        return ("failed", type(e).__name__)
    if raw:
        return found
    return ("dropped", None) if found is None else ("record", exactly(found))


def _misfits(record: Record) -> str | None:
    return misfit(record.key_schema, record.key, "the key") or misfit(record.value_schema, record.value)
