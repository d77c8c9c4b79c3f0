"""Job pods of a release: so many at once, and no namespace has all of them."""

from collections.abc import Mapping, Sequence

import pytest

from penstock_operator.job_slots import JobSlots, granted
from penstock_operator.key import Key

A, B = Key("shop", "a"), Key("shop", "b")


def keys(text: str) -> list[Key]:
    """`s1 s2 b1`: connectors of namespaces s and b."""
    return [Key(word[0], word[1:]) for word in text.split()]


@pytest.mark.parametrize(
    ("most", "held", "waiting", "turn"),
    [
        pytest.param(3, {}, "", "", id="nobody-waits"),
        pytest.param(3, {"s": 3}, "s1 b1", "", id="none-is-free"),
        pytest.param(3, {"s": 5}, "b1", "", id="more-are-taken-than-there-are"),
        pytest.param(4, {}, "s1 s2 s3 s4 s5", "s1 s2 s3", id="a-namespace-alone-leaves-one"),
        pytest.param(4, {"s": 3}, "s4 b1", "b1", id="the-last-is-for-a-namespace-without-one"),
        pytest.param(4, {"s": 3, "b": 1}, "s4 b2", "", id="full"),
        pytest.param(4, {"s": 2, "b": 1}, "s4 b2", "", id="the-last-is-kept-for-a-third"),
        pytest.param(6, {"s": 3}, "s4 s5 b1 b2", "b1 b2", id="who-holds-fewer-comes-first"),
        pytest.param(9, {"s": 3}, "s4 s5 b1", "b1 s4 s5", id="who-holds-more-gets-what-is-left"),
        pytest.param(4, {}, "s1 s2 b1 b2 c1", "s1 b1 c1", id="in-turn"),
        pytest.param(1, {}, "s1 s2", "s1", id="a-single-slot-is-anybodys"),
    ],
)
def test_a_free_slot_goes_to_the_namespace_that_holds_the_fewest(
    most: int, held: Mapping[str, int], waiting: str, turn: str
) -> None:
    assert list(granted(most, held, keys(waiting))) == keys(turn)


def test_slots_are_bounded_and_given_back() -> None:
    slots = JobSlots(3)
    assert slots.take("shop/a-plan-1", A)
    assert slots.take("shop/a-plan-1", A)
    assert slots.take("shop/b-plan-1", B)
    assert not slots.take("shop/a-prepare-1", A)
    slots.living(A, frozenset())
    assert len(slots) == 1
    with pytest.raises(ZeroDivisionError), slots.making("shop/a-plan-2", A):
        raise ZeroDivisionError
    assert len(slots) == 1


def test_who_waits_for_a_slot_is_woken_when_there_is_one_in_the_order_of_waiting() -> None:
    woken: list[Key] = []
    slots = JobSlots(1, woken.append)
    assert slots.take("shop/a-plan-1", A)
    slots.wait(B)
    slots.wait(A)
    slots.wait(B)
    assert woken == []
    slots.give_back("shop/a-plan-1")
    assert woken == [B]
    assert slots.take("shop/b-plan-1", B)
    slots.living(B, frozenset())
    assert woken == [B, A]


def test_who_was_woken_is_not_overtaken_until_it_withdraws() -> None:
    woken: list[Key] = []
    slots = JobSlots(1, woken.append)
    assert slots.take("shop/a-plan-1", A)
    slots.wait(B)
    slots.give_back("shop/a-plan-1")
    assert not slots.take("shop/a-plan-2", A)
    slots.wait(A)
    slots.withdraw(B)
    assert woken == [B, A]
    assert slots.take("shop/a-plan-2", A)


def test_pods_of_an_operator_before_this_one_count() -> None:
    slots = JobSlots(2)
    slots.adopt({"shop/a-plan-1": A, "shop/b-plan-1": B, "other/c-plan-1": Key("other", "c")})
    assert len(slots) == 3
    assert not slots.room(Key("third", "d"))
    slots.living(A, frozenset(("shop/a-plan-1",)))
    assert len(slots) == 3
    slots.living(A, frozenset())
    slots.living(B, frozenset())
    assert slots.room(Key("third", "d"))


def test_ten_pods_of_one_namespace_that_never_start_keep_nobody_else_from_planning() -> None:
    slots = JobSlots(10)
    stuck = [Key("stuck", str(n)) for n in range(12)]
    assert sum(slots.take(f"stuck/{k.name}", k) for k in stuck) == 9
    turns: Sequence[Key] = [Key("shop", str(n)) for n in range(20)]
    for key in turns:  # one after the other
        assert slots.take(f"shop/{key.name}", key)
        slots.give_back(f"shop/{key.name}")


def test_thousands_that_wait_in_one_namespace_cost_little_and_hold_up_nobody() -> None:
    woken: list[Key] = []
    slots = JobSlots(10, woken.append)
    for number in range(9):
        assert slots.take(f"shop/{number}", Key("shop", f"held-{number}"))
    for _ in range(3):  # in the square of their number this would take minutes
        for number in range(5_000):
            slots.wait(Key("shop", str(number)))
            assert not slots.room(Key("shop", str(number)))
    other = Key("stock", "a")
    slots.wait(other)
    assert woken == [other]
    assert slots.take("stock/a", other)
    slots.give_back("shop/0")
    slots.give_back("shop/1")
    assert woken == [other, Key("shop", "0")]
    for number in range(5_000):
        slots.withdraw(Key("shop", str(number)))
    assert slots.room(A)


def test_who_waits_for_an_own_edit_goes_before_the_release_and_no_more_than_three_times_in_a_row() -> None:
    slots = JobSlots(1)
    assert slots.take("shop/a-plan-1", A)
    old, own = keys("r0 r1 r2"), keys("o0 o1 o2 o3 o4 o5")
    for key in old:
        slots.wait(key, urgent=False)
    for key in own:
        slots.wait(key)
    slots.give_back("shop/a-plan-1")
    turns = []
    for _ in range(9):
        waiting = [k for k in (*old, *own) if k not in turns]
        taken = next(k for k in waiting if slots.take(f"pod-{k.name}", k, urgent=k in own))
        slots.give_back(f"pod-{taken.name}")
        turns.append(taken)
    assert turns == keys("o0 o1 o2 r0 o3 o4 o5 r1 r2")


def test_own_edits_that_never_waited_do_not_starve_the_release() -> None:
    slots = JobSlots(1)
    release = Key("shop", "release")
    slots.wait(release, urgent=False)
    for number in range(3):
        assert slots.take(f"pod-{number}", Key("shop", str(number)))
        slots.give_back(f"pod-{number}")
    assert not slots.take("pod-3", Key("shop", "3"))
    assert slots.take("pod-release", release, urgent=False)


def test_an_own_edit_of_one_that_waits_for_the_release_keeps_its_place_among_own_edits() -> None:
    slots = JobSlots(1)
    assert slots.take("shop/a-plan-1", A)
    for key in keys("r0 r1"):
        slots.wait(key, urgent=False)
    slots.wait(Key("r", "1"))
    slots.give_back("shop/a-plan-1")
    assert not slots.room(Key("r", "0"), urgent=False)
    assert slots.take("r/1", Key("r", "1"))
    slots.give_back("r/1")
    assert slots.take("r/0", Key("r", "0"), urgent=False)
    slots.withdraw(Key("r", "0"))
    assert len(slots) == 1


def test_namespaces_share_slots_evenly_however_urgent_one_is() -> None:
    slots = JobSlots(3)
    for name in ("a", "b"):
        assert slots.take(f"shop/{name}", Key("shop", name))
    slots.wait(Key("stock", "r"), urgent=False)
    assert not slots.take("shop/c", Key("shop", "c"))
    assert slots.take("stock/r", Key("stock", "r"), urgent=False)
