"""Pauses between tries."""

from penstock_model.backoff import ExponentialBackoff


def test_pauses_double_up_to_the_longest() -> None:
    backoff = ExponentialBackoff(first=0.5, longest=60.0)
    assert [backoff.pause(n) for n in range(1, 10)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]


def test_no_number_of_failures_overflows() -> None:
    assert ExponentialBackoff(first=0.5, longest=60.0).pause(1_000_000) == 60.0


def test_chance_shortens_a_pause_by_the_jitter_at_most() -> None:
    backoff = ExponentialBackoff(first=0.5, longest=60.0, jitter=0.25)
    assert (backoff.pause(1, 0.0), backoff.pause(1, 1.0)) == (0.375, 0.5)
