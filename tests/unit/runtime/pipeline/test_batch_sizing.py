"""Pauses of idle sources, and sizes of batches and puts."""

import pytest

from penstock import Limits
from penstock_runtime.pipeline.batch_sizing import AdaptiveBatchSize, IdleBackoff, PutSize
from penstock_runtime.spark.backlog import is_sources_backlog

MOST = Limits(500_000, 64 << 20)


def test_waits_grow_from_2_to_100_milliseconds_and_restart_with_a_record() -> None:
    idle = IdleBackoff()
    waits = [idle.wait() for _ in range(20)]
    assert waits[0] == 0.002
    assert waits == sorted(waits)
    assert waits[-1] == 0.1
    idle.reset()
    assert idle.wait() == 0.002


def test_a_record_waits_for_a_tenth_of_a_second_at_most_where_one_comes_every_ten_seconds() -> None:
    idle = IdleBackoff()
    quiet = 0.0
    while quiet < 10:
        wait = idle.wait()
        assert wait <= 0.1
        quiet += wait


def test_a_source_that_is_quiet_for_a_minute_is_asked_twice_a_second() -> None:
    idle = IdleBackoff()
    quiet, longest = 0.0, 0.0
    while quiet < 60:
        longest = idle.wait()
        assert longest <= max(0.1, quiet / 99)
        quiet += longest
    assert longest == 0.5


def test_a_record_that_was_gathered_is_not_followed_by_the_shortest_wait() -> None:
    """It has been quiet for the time of the gathering already."""
    idle = IdleBackoff()
    idle.reset(0.08)
    assert idle.wait() == 0.04


def after(*batches: tuple[int, int, float], most: Limits = MOST) -> AdaptiveBatchSize:
    batch_size = AdaptiveBatchSize(most, seconds=5.0)
    for records, size, seconds in batches:
        batch_size.done(records, size, seconds)
    return batch_size


@pytest.mark.parametrize(
    ("batches", "records"),
    [
        pytest.param([], 2_000, id="begins small"),
        pytest.param([(10, 1_000, 0.01)] * 5, 2_000, id="stays small for a trickle"),
        pytest.param([(1_000, 1_000, 0.01)], 8_000, id="grows by four when half of it was used"),
        pytest.param([(10, 200_000, 0.01)], 8_000, id="likewise when half of the bytes were"),
        pytest.param([(2_000, 0, 0.1), (8_000, 0, 0.1), (32_000, 0, 0.1)], 128_000, id="grows on"),
        pytest.param([(2_000, 0, 0.1)] * 1 + [(8_000, 0, 6.0)], 2_000, id="shrinks after a batch that took too long"),
        pytest.param([(2_000, 0, 0.1)] * 1 + [(8_000, 0, 3.0)], 8_000, id="does not grow after one that was slow"),
        pytest.param([(2_000, 0, 0.1), (100, 0, 0.1)], 2_000, id="shrinks when an eighth was not used"),
        pytest.param([(2_000, 0, 0.1), (2_000, 0, 0.1)], 8_000, id="stays in between"),
    ],
)
def test_limits_follow_the_load(batches: list[tuple[int, int, float]], records: int) -> None:
    assert after(*batches).limits.records == records


def test_limits_never_pass_the_connectors_own() -> None:
    full = [(10**6, 10**9, 0.1)] * 12
    assert after(*full).limits == MOST
    assert after(*full, most=Limits(1_500, 1_000)).limits == Limits(1_500, 1_000)


def test_backlog_begins_at_128_000_records() -> None:
    batch_size = AdaptiveBatchSize(MOST, seconds=5.0)
    while not is_sources_backlog(batch_size, ()):
        assert batch_size.limits.records < 128_000
        batch_size.done(batch_size.limits.records, 0, 0.1)
    assert batch_size.limits.records == 128_000


def test_a_batch_that_failed_is_followed_by_a_smaller_one() -> None:
    batch_size = after((2_000, 0, 0.1), (8_000, 0, 0.1))
    before = batch_size.limits
    batch_size.failed()
    assert (batch_size.limits.records, batch_size.limits.bytes) == (8_000, before.bytes // 4)
    for _ in range(5):
        batch_size.failed()
    assert batch_size.limits.records == 2_000


def grown(cost: float, by_itself: float = 0.0, puts: int = 60, most: int = 5_000) -> PutSize:
    """What is known of a sink that takes `by_itself` seconds for each put and `cost` for each record."""
    size = PutSize(MOST, most, seconds=5.0, longest=300.0)
    for _ in range(puts):
        records = size.put().records
        size.wrote(records, records * 100, by_itself + records * cost)
    return size


@pytest.mark.parametrize(
    ("cost", "by_itself", "least", "most"),
    [
        pytest.param(1e-6, 0.0, 5_000, 5_000, id="a fast sink gets all that a poll may hold"),
        pytest.param(0.01, 0.0, 100, 150, id="a slow one what it writes in a quarter of a batch"),
        pytest.param(0.2, 0.0, 5, 7, id="a very slow one"),
        pytest.param(1e-6, 6.0, 5_000, 5_000, id="one that takes long for each put gets large ones"),
        pytest.param(60.0, 0.0, 1, 1, id="one record may be too much"),
    ],
)
def test_a_put_is_as_large_as_its_records_cost(cost: float, by_itself: float, least: int, most: int) -> None:
    assert least <= grown(cost, by_itself).put().records <= most


def test_a_trickle_does_not_make_puts_small() -> None:
    size = grown(1e-6)
    for _ in range(50):
        size.wrote(1, 100, 0.05)
    assert size.put().records == 5_000
    assert size.batch(2, staged=True).records == 500_000


@pytest.mark.parametrize(
    ("size", "records"),
    [
        pytest.param(grown(1e-6), 1_000, id="half of the smallest batch of a source"),
        pytest.param(grown(0.01), 63, id="half of what a slow sink is given at once"),
        pytest.param(grown(60.0), 1, id="one record where that is all that it is given"),
        pytest.param(PutSize(MOST, 5_000, seconds=5.0, record_bytes=32_768), 4, id="half of its bytes"),
        pytest.param(PutSize(Limits(4, 4 << 20), 5_000, seconds=5.0, record_bytes=1.0), 5, id="half of a first put"),
    ],
)
def test_half_a_small_batch_is_not_a_low_rate(size: PutSize, records: int) -> None:
    assert size.is_trickle(0)
    assert size.is_trickle(records - 1)
    assert not size.is_trickle(records)


def test_a_sink_that_becomes_slow_gets_less_and_one_that_recovers_gets_more() -> None:
    size = grown(1e-6)
    for _ in range(8):
        records = size.put().records
        size.wrote(records, records, records * 0.01)
    assert size.put().records < 200
    for _ in range(8):
        records = size.put().records
        size.wrote(records, records, records * 1e-6)
    assert size.put().records == 5_000


def test_a_batch_starts_from_the_rate_and_the_record_size_that_the_driver_has_measured() -> None:
    size = grown(0.001)
    assert 9_500 <= size.batch(2, staged=True).records <= 10_500
    assert size.record_bytes == 100
    assert size.batch(2, staged=False).records >= 10_000  # it ends by time


def test_a_lost_worker_quarters_puts_and_batches_and_a_batch_that_succeeds_takes_that_back() -> None:
    size = grown(1e-6)
    size.lost()
    size.lost()
    assert (size.put().records, size.put().bytes) == (312, MOST.bytes // 16)
    size.learn([size], 100, 100, 0.1)
    assert size.put().records == 1_250


def test_batches_stay_small_while_single_records_are_isolated() -> None:
    batch_size = AdaptiveBatchSize(MOST, seconds=5.0)
    for _ in range(20):
        batch_size.done(1, 10, 0.1)
        batch_size.failed()
    assert batch_size.limits.records == 2_000
    for _ in range(20):
        batch_size.done(1, 10, 0.1)
        batch_size.failed(isolating=True)
    assert batch_size.limits == Limits(1, 256)
    batch_size.failed()  # for another reason
    assert batch_size.limits == Limits(1, 256)
    while batch_size.limits.records < 2_000:
        before = batch_size.limits
        batch_size.done(before.records, 0, 60.0)  # slow: no reason to stay small
        assert batch_size.limits.records > before.records
