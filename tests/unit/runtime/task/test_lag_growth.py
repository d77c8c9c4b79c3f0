"""A lag that grows for ten minutes is detected, and one that fluctuates is not."""

from collections.abc import Callable

import pytest

from penstock_runtime.task.lag_growth import LagGrowth


def after(minutes: float, lag_at: Callable[[float], float], *, growth: LagGrowth | None = None) -> LagGrowth:
    found = growth or LagGrowth()
    for second in range(0, int(minutes * 60) + 1, 10):
        found.add(int(lag_at(float(second))), float(second))
    return found


def test_a_lag_that_grows_for_ten_minutes_is_described() -> None:
    assert after(10, lambda s: 10 * s).text is None
    assert after(13, lambda s: 10 * s).text == "the lag grew in 10 minutes from 0 to 6000 records"


@pytest.mark.parametrize(
    "lag_at",
    [
        lambda s: 0,
        lambda s: 5000,
        lambda s: 100_000 - s,
        lambda s: s % 60 * 100,  # caught up each minute
        lambda s: min(500, s),
        lambda s: 3 if s > 600 else 0,
    ],
    ids=["none", "constant", "falling", "bursts", "grew once", "a burst at the end"],
)
def test_fluctuating_lag_is_not_growth(lag_at: Callable[[float], float]) -> None:
    assert after(20, lag_at).text is None


def test_a_lag_that_falls_again_grows_no_longer() -> None:
    assert after(30, lambda s: 10 * s if s < 1_000 else 10_000 - (s - 1_000)).text is None


def test_gap_without_measurements_resets_growth() -> None:
    found = after(9, lambda s: 10 * s)
    found.add(50_000, 9 * 60 + 400.0)
    assert found.text is None
