"""Test suite for predicates."""

from collections.abc import Sequence
from typing import Any, ClassVar

from penstock.batch import RecordBatch
from penstock.plugin import Predicate
from penstock.record import Record
from penstock.testing._comparison import exactly
from penstock.testing._making import fresh, make, parsed
from penstock.testing._plugins import PluginSuite

__all__ = ["PredicateSuite"]


class PredicateSuite(PluginSuite):
    """Tests of a predicate.

    Attributes:
        records: records of which some match and some do not.
    """

    records: ClassVar[Sequence[Record]] = ()

    def configured(self, request: Any) -> Predicate:
        """Return a new predicate with the example configuration."""
        predicate: Predicate = make(self.plugin)
        predicate.configure(parsed(self.plugin, self.example(request)))
        return predicate

    def test_it_says_yes_and_no_and_leaves_records_alone(self, request: Any) -> None:
        """The results are booleans, and the same every time."""
        assert self.records, "set `records` in the suite"
        predicate = self.configured(request)
        records = fresh(self.records)
        before = exactly(records)
        answers = [predicate.test(record) for record in records]
        assert all(type(answer) is bool for answer in answers), f"`test` must return booleans, not {answers}"
        assert set(answers) == {True, False}, "`records` needs records that match and records that do not"
        backwards = self.configured(request)
        assert [predicate.test(record) for record in records] == answers, (
            "`test` returns different results for the same record"
        )
        assert [backwards.test(record) for record in records[::-1]] == answers[::-1], (
            "the result of `test` depends on the records before it"
        )
        assert exactly(records) == before, "`test` modified a record"
        predicate.close()

    def test_the_batch_form_answers_as_the_record_form(self, request: Any) -> None:
        """`test_batch` agrees with `test` for every range of the records."""
        predicate = self.configured(request)
        count = len(self.records)
        for start in range(count):
            for end in range(start + 1, count + 1):
                records = fresh(self.records[start:end])
                batch = RecordBatch.of(records)
                before = exactly(batch)
                result = predicate.test_batch(batch)
                answers = [result] * len(records) if isinstance(result, bool) else result
                single = [predicate.test(record) for record in records]
                assert exactly(answers) == exactly(single), (
                    f"`test_batch` returns {answers} where `test` returns {single}, for {records}"
                )
                assert exactly(batch) == before, "`test_batch` modified the batch"
