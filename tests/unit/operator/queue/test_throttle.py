"""A throttle handles the first event of a burst immediately, then one per interval, and never loses the last."""

from penstock_operator.key import Key
from penstock_operator.queue.throttle import Throttle

A, B = Key("shop", "a"), Key("shop", "b")


def test_the_first_has_its_turn_together_and_all_that_follow_share_the_next_ones() -> None:
    throttle = Throttle(10.0)
    turns = [at + throttle.delay(A, float(at)) for at in range(100, 160)]
    assert sorted({*turns}) == [100.0, 110.0, 120.0, 130.0, 140.0, 150.0, 160.0]
    assert all(turn >= at for turn, at in zip(turns, range(100, 160), strict=True))


def test_what_comes_within_the_gathering_time_shares_the_turn_and_later_bursts_keep_their_pace() -> None:
    throttle = Throttle(60.0, gathered=5.0)
    turns = [at + offset + throttle.delay(A, at + offset) for at in (0.0, 60.0, 120.0) for offset in (0.0, 0.5, 3.0)]
    assert sorted({*turns}) == [5.0, 65.0, 125.0]


def test_after_a_pause_the_next_has_its_turn_immediately_and_each_key_has_its_own() -> None:
    throttle = Throttle(10.0)
    assert (throttle.delay(A, 100.0), throttle.delay(B, 101.0)) == (0.0, 0.0)
    assert throttle.delay(A, 104.0) == 6.0
    assert throttle.delay(A, 125.0) == 0.0
    throttle.forget(A)
    assert throttle.delay(A, 126.0) == 0.0
