"""How long to wait, and how much to take."""

import pytest

from penstock import Limits
from penstock_runtime.engine.pace import Appetite, Pace

MOST = Limits(500_000, 64 << 20)


def test_waits_grow_from_2_to_50_milliseconds_and_begin_anew_with_a_record() -> None:
    pace = Pace()
    waits = [pace.wait() for _ in range(20)]
    assert waits[0] == 0.002
    assert waits == sorted(waits)
    assert waits[-1] == 0.05
    pace.found()
    assert pace.wait() == 0.002


def after(*batches: tuple[int, int, float], most: Limits = MOST) -> Appetite:
    appetite = Appetite(most, seconds=5.0)
    for records, size, seconds in batches:
        appetite.done(records, size, seconds)
    return appetite


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


def test_a_backlog_begins_at_128_000_records() -> None:
    appetite = Appetite(MOST, seconds=5.0)
    while not appetite.backlog:
        assert appetite.limits.records < 128_000
        appetite.done(appetite.limits.records, 0, 0.1)
    assert appetite.limits.records == 128_000


def test_a_batch_that_failed_is_followed_by_a_smaller_one() -> None:
    appetite = after((2_000, 0, 0.1), (8_000, 0, 0.1))
    appetite.failed()
    assert appetite.limits.records == 8_000
    for _ in range(5):
        appetite.failed()
    assert appetite.limits.records == 2_000
