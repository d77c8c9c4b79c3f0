"""Room in a namespace's quota: executors of one Connector after the other make it for the pods of another one."""

import pytest

from penstock_operator.connector.quota_room import QuotaRoom
from penstock_operator.key import Key

A, B, C, ELSEWHERE = (Key(n, c) for n, c in (("shop", "a"), ("shop", "b"), ("shop", "c"), ("other", "d")))


@pytest.fixture
def room() -> QuotaRoom:
    """Two Connectors with executors in the namespace, and one in another namespace."""
    made = QuotaRoom()
    for key, executors in ((B, 2), (C, 3), (ELSEWHERE, 9)):
        made.update(key, None, executors, 0)
    return made


def test_the_connector_with_most_executors_makes_room_and_then_the_next_one(room: QuotaRoom) -> None:
    assert sorted(room.update(A, "a-0-1", 0, 100)) == [B, C]
    assert [room.pod_without(k, 101) for k in (A, B, C, ELSEWHERE)] == [None, "a-0-1", "a-0-1", None]
    assert [room.gives(k, 101) for k in (A, B, C, ELSEWHERE)] == [False, False, True, False]
    room.update(C, None, 0, 105)
    assert [room.gives(k, 106) for k in (B, C)] == [True, False]
    assert room.pod_without(C, 106) == "a-0-1", "it does not take the room again"


def test_all_may_have_executors_again_once_the_pod_is_created(room: QuotaRoom) -> None:
    room.update(A, "a-0-1", 0, 100)
    assert room.update(A, "a-0-1", 0, 102) == ()
    assert sorted(room.update(A, None, 0, 104)) == [B, C]
    assert room.pod_without(B, 104) is None
    assert not room.gives(C, 104)


def test_a_pod_for_which_there_is_no_room_without_executors_either_keeps_nobody_from_having_them(
    room: QuotaRoom,
) -> None:
    room.update(A, "a-0-1", 0, 100)
    assert room.pod_without(B, 159) == "a-0-1"
    assert room.pod_without(B, 161) is None
    assert sorted(room.update(A, "a-0-1", 0, 161)) == [B, C]
    assert room.update(A, "a-0-1", 0, 400) == ()
    assert sorted(room.update(A, "a-0-1", 0, 705)) == [B, C], "after ten minutes they make room again"
    assert room.gives(C, 705)


def test_each_of_the_pods_of_a_connector_has_its_own_time(room: QuotaRoom) -> None:
    room.update(A, "a-0-1", 0, 100)
    assert sorted(room.update(A, "a-1-1", 0, 155)) == [B, C]
    assert room.pod_without(B, 161) == "a-1-1"
    assert room.gives(C, 161)


def test_a_connector_makes_room_for_its_own_pods_first(room: QuotaRoom) -> None:
    room.update(B, "b-plan", 2, 100)
    assert not room.gives(C, 101)
    room.update(B, "b-plan", 0, 105)
    assert room.gives(C, 106)


def test_a_connector_that_is_gone_asks_for_nothing(room: QuotaRoom) -> None:
    room.update(A, "a-0-1", 0, 100)
    assert sorted(room.forget(A, 101)) == [B, C]
    assert room.pod_without(B, 101) is None
