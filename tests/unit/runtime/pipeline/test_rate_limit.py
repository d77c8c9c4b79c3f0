"""Rate limit of a task (`spec.limits`)."""

from penstock.source import Limits
from penstock_model.resources.task_settings import RateLimits
from penstock_runtime.pipeline.rate_limit import RateLimit


class Clock:
    """Clock that is set by the test."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_a_limit_batches_keep_their_size_and_nothing_waits() -> None:
    limit = RateLimit(RateLimits())
    limit.used(10**9, 10**12, 0.0)
    assert (limit.is_set, limit.wait_seconds(), limit.batch(Limits(5_000, 1 << 20))) == (
        False,
        0.0,
        Limits(5_000, 1 << 20),
    )


def test_the_rate_is_met_over_many_batches_of_any_size() -> None:
    clock = Clock()
    limit, moved = RateLimit(RateLimits(records_per_second=100), clock), 0
    for records in (1, 25, 400, 3, 25) * 20:
        clock.now += limit.wait_seconds()
        limit.used(records, 0, 0.0)
        moved += records
    seconds = clock.now - 100.0
    assert 100 * seconds <= moved <= 100 * (seconds + 1) + 400  # the last batch, and the credit of a second


def test_an_idle_task_catches_up_for_one_second_only() -> None:
    clock = Clock()
    limit = RateLimit(RateLimits(records_per_second=100), clock)
    clock.now += 3600
    limit.used(100, 0, 0.0)
    assert limit.wait_seconds() == 0.0
    limit.used(100, 0, 0.0)
    assert limit.wait_seconds() == 1.0


def test_the_stricter_of_records_and_bytes_counts_and_a_large_record_still_moves() -> None:
    clock = Clock()
    limit = RateLimit(RateLimits(records_per_second=1_000, bytes_per_second=100), clock)
    assert limit.batch(Limits(5_000, 1 << 20)) == Limits(250, 25)
    limit.used(1, 1_100, 0.0)
    assert limit.wait_seconds() == 10.0


def test_a_batch_holds_at_least_one_record() -> None:
    limit = RateLimit(RateLimits(records_per_second=1, bytes_per_second=1))
    assert limit.batch(Limits(5_000, 1 << 20)) == Limits(1, 1)


def test_batches_that_take_long_are_large_enough_for_the_rate() -> None:
    clock = Clock()
    limit, most = RateLimit(RateLimits(records_per_second=500), clock), Limits(5_000, 1 << 20)
    moved, begun = 0, clock.now
    for _ in range(50):
        clock.now += limit.wait_seconds()
        records = limit.batch(most).records
        clock.now += 1.0  # that long takes each batch
        limit.used(records, 0, 1.0)
        moved += records
    assert 450 < moved / (clock.now - begun) <= 520
