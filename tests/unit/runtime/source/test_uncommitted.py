"""Ends of transactions of several batches, and of batches that a source does not end."""

from penstock import Limits, SourcePartition
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.source.transaction_boundary import PollBatchBoundary, TransactionBoundary
from penstock_runtime.source.uncommitted import Uncommitted

LIMITS = Limits(100, 1_000)
P = SourcePartition({"p": 1})


def uncommitted(records: int, size: int = 0, begun: float = 10.0) -> Uncommitted:
    made = Uncommitted()
    made.add({P: {"n": records}}, Summary(read=records, bytes=size), begun=begun, seconds=1.0)
    return made


def test_nothing_is_committed_where_nothing_was_delivered() -> None:
    assert not TransactionBoundary(0.0, LIMITS).is_reached(Uncommitted(), 1e9)


def test_the_interval_begins_with_the_first_batch() -> None:
    boundary, batches = TransactionBoundary(5.0, LIMITS), uncommitted(1)
    batches.add({P: {"n": 2}}, Summary(read=1), begun=14.0, seconds=1.0)
    assert not boundary.is_reached(batches, 14.9)
    assert boundary.is_reached(batches, 15.0)
    assert batches.offsets == {P: {"n": 2}}
    assert (batches.summary.read, batches.seconds, batches.batches) == (2, 2.0, 2)


def test_batch_without_offsets_is_committed() -> None:
    batches = Uncommitted()
    batches.add({}, Summary(read=1), begun=1.0, seconds=0.1)
    assert TransactionBoundary(0.0, LIMITS).is_reached(batches, 1.0)


def test_records_or_bytes_of_sixteen_batches_end_the_transaction_early() -> None:
    boundary = TransactionBoundary(1e6, LIMITS)
    assert not boundary.is_reached(uncommitted(1_599, 15_999), 11.0)
    assert boundary.is_reached(uncommitted(1_600), 11.0)
    assert boundary.is_reached(uncommitted(1, 16_000), 11.0)


def test_batch_beyond_its_limits_ends_at_twice_as_much_or_at_the_deadline() -> None:
    now = [0.0]
    bound = PollBatchBoundary(LIMITS, deadline=30.0, clock=lambda: now[0])
    assert not bound.is_reached(Summary(read=199, bytes=1_999), has_offsets=True)
    assert bound.is_reached(Summary(read=200), has_offsets=True)
    assert bound.is_reached(Summary(bytes=2_000), has_offsets=True)
    now[0] = 30.0
    assert bound.is_reached(Summary(read=1), has_offsets=True)


def test_batch_does_not_end_early_after_a_portion_without_offsets() -> None:
    bound = PollBatchBoundary(LIMITS, deadline=0.0, clock=lambda: 1.0)
    assert not bound.is_reached(Summary(read=1), has_offsets=False)
    assert not bound.is_reached(Summary(read=1_000), has_offsets=True)
