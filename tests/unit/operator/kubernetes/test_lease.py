"""The Lease of a release: one holder at a time, by whatever clock."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from penstock_operator.errors import Conflict, Unavailable
from penstock_operator.kubernetes.election import LeaseLost
from penstock_operator.kubernetes.kinds import Kind
from penstock_operator.kubernetes.lease import Lease


class Server:
    """As much of an API server as a Lease needs."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] | None = None
        self.away = False
        self.before_write: Callable[[], object] = lambda: None
        self._version = 0

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        if self.away:
            raise Unavailable("nobody answers")
        return self.kept

    def create(self, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
        self._let_others_act()
        return None if self.kept is not None else self._keep(manifest)

    def replace(self, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
        self._let_others_act()
        if self.kept is None:
            return None
        if manifest["metadata"]["resourceVersion"] != self.kept["metadata"]["resourceVersion"]:
            raise Conflict("changed meanwhile")
        return self._keep(manifest)

    def _let_others_act(self) -> None:
        act, self.before_write = self.before_write, lambda: None
        act()

    def _keep(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        self._version += 1
        self.kept = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(self._version)}}
        return self.kept


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lease(server: Server, clock: Clock) -> Callable[[str], Lease]:
    return lambda identity: Lease(server, "ns", "penstock", identity, clock=clock)  # type: ignore[arg-type]


Make = Callable[[str], Lease]


def test_the_first_takes_it_and_the_second_waits(server: Server, lease: Make) -> None:
    first, second = lease("first"), lease("second")
    assert first.attempt()
    assert first.is_held
    assert not second.attempt()
    assert (second.is_held, second.holder) == (False, "first")
    assert server.kept is not None
    assert server.kept["spec"]["leaseTransitions"] == 0


def test_a_holder_that_nobody_asks_writes_nothing(server: Server, lease: Make, clock: Clock) -> None:
    first = lease("first")
    first.attempt()
    assert server.kept is not None
    version = server.kept["metadata"]["resourceVersion"]
    for _ in range(100):
        clock.now += 5
        assert first.attempt()
        assert first.is_held
    assert server.kept["metadata"]["resourceVersion"] == version


def test_a_holder_that_lives_answers_who_asks_and_keeps_it(server: Server, lease: Make, clock: Clock) -> None:
    first, second = lease("first"), lease("second")
    first.attempt()
    for _ in range(20):
        assert not second.attempt()
        clock.now += 5
        assert first.attempt()
    assert first.is_held


def test_the_second_takes_over_when_the_first_does_not_answer(server: Server, lease: Make, clock: Clock) -> None:
    first, second = lease("first"), lease("second")
    first.attempt()
    clock.now += 14
    assert not second.attempt()  # asks
    clock.now += 15
    assert not second.attempt()
    clock.now += 1.1
    assert not first.is_held
    assert second.attempt()
    assert server.kept is not None
    assert server.kept["spec"]["leaseTransitions"] == 1


def test_an_answer_restarts_the_time(lease: Make, clock: Clock) -> None:
    first, second = lease("first"), lease("second")
    first.attempt()
    second.attempt()
    clock.now += 14
    first.attempt()
    clock.now += 2
    assert not second.attempt()  # sees the answer
    clock.now += 5
    assert not second.attempt()  # asks again
    clock.now += 15
    assert not second.attempt()
    clock.now += 1.1
    assert second.attempt()


def test_a_holder_whose_answer_does_not_arrive_holds_on_no_longer(server: Server, lease: Make, clock: Clock) -> None:
    first, second = lease("first"), lease("second")
    first.attempt()
    second.attempt()
    clock.now += 10
    server.before_write = lambda: server.replace(server.kept or {})  # somebody else writes: a conflict
    assert not first.attempt()
    clock.now += 5
    assert not first.is_held


def test_a_holder_that_was_taken_over_is_informed_and_holds_nothing(lease: Make, clock: Clock) -> None:
    first, second = lease("first"), lease("second")
    first.attempt()
    second.attempt()
    clock.now += 17
    assert not first.is_held
    assert second.attempt()
    with pytest.raises(LeaseLost, match="is now held by second"):
        first.attempt()


def test_a_holder_that_was_cut_off_continues_when_nobody_took_it(server: Server, lease: Make, clock: Clock) -> None:
    first = lease("first")
    first.attempt()
    server.away = True
    clock.now += 60
    with pytest.raises(Unavailable):
        first.attempt()
    assert not first.is_held
    server.away = False
    assert first.attempt()
    assert first.is_held


def test_of_two_that_take_it_together_one_gets_it(server: Server, lease: Make, clock: Clock) -> None:
    first, second = lease("first"), lease("second")
    server.before_write = lambda: second.attempt()
    assert not first.attempt()
    assert second.is_held
    second.release()
    server.before_write = lambda: second.attempt()
    assert not first.attempt()
    assert second.is_held


def test_one_that_was_given_back_is_free_immediately(lease: Make) -> None:
    first, second = lease("first"), lease("second")
    first.attempt()
    first.release()
    assert not first.is_held
    assert second.attempt()


def test_one_that_is_challenged_while_it_is_given_back_is_free_immediately(server: Server, lease: Make) -> None:
    first, second = lease("first"), lease("second")
    first.attempt()
    server.before_write = lambda: second.attempt()
    first.release()
    assert server.kept is not None
    assert server.kept["spec"]["holderIdentity"] == ""
    assert second.attempt()


def test_the_same_identity_takes_its_own_again_immediately(lease: Make) -> None:
    lease("pod_uid").attempt()
    assert lease("pod_uid").attempt()


def test_giving_back_what_is_not_held_changes_nothing(server: Server, lease: Make, clock: Clock) -> None:
    first, second = lease("first"), lease("second")
    first.attempt()
    second.release()
    assert server.kept is not None
    assert server.kept["spec"]["holderIdentity"] == "first"


def test_its_time_counts_from_before_it_was_asked_for(server: Server, lease: Make, clock: Clock) -> None:
    first = lease("first")

    def slow() -> None:
        clock.now += 10

    server.before_write = slow
    assert first.attempt()
    clock.now += 5
    assert not first.is_held


def test_two_that_wait_do_not_keep_each_other_from_taking_over(lease: Make, clock: Clock) -> None:
    first, second, third = lease("first"), lease("second"), lease("third")
    first.attempt()
    begun = clock.now
    while not (second.attempt() or third.attempt()):
        clock.now += 2
        assert clock.now - begun < 30
    assert second.is_held is not third.is_held


def test_of_two_that_wait_the_other_takes_over_when_the_one_that_asked_is_gone(lease: Make, clock: Clock) -> None:
    first, second, third = lease("first"), lease("second"), lease("third")
    first.attempt()
    second.attempt()  # asks, and is heard of no more
    third.attempt()
    clock.now += 16.1
    assert third.attempt()


def test_an_operator_that_waits_is_on_standby_as_soon_as_the_holder_has_answered(lease: Make, clock: Clock) -> None:
    first, second = lease("first"), lease("second")
    first.attempt()
    second.attempt()
    assert not second.is_standby
    clock.now += 5
    first.attempt()
    second.attempt()
    assert (first.is_standby, second.is_standby) == (False, True)
    clock.now += 5
    second.attempt()  # asks again
    clock.now += 16.1
    assert second.attempt()
    assert not second.is_standby


def test_a_lease_that_was_deleted_is_taken_only_when_nobody_can_hold_it(
    server: Server, lease: Make, clock: Clock
) -> None:
    first, second = lease("first"), lease("second")
    first.attempt()
    second.attempt()
    first.attempt()
    server.kept = None
    assert not second.attempt()
    assert first.attempt()  # it makes it anew, within its time
    assert not second.attempt()
    server.kept = None
    second.attempt()
    clock.now += 16.1
    assert not first.is_held
    assert second.attempt()


def test_a_write_is_allowed_only_for_as_long_as_the_lease_covers_it(lease: Make, clock: Clock) -> None:
    first = lease("first")
    with pytest.raises(Unavailable, match="does not hold the Lease"):
        first.check()
    first.attempt()
    first.check(14.0)
    clock.now += 12
    first.check()
    with pytest.raises(Unavailable):
        first.check(5.0)


def test_one_that_was_frozen_writes_nothing_when_another_has_taken_over(lease: Make, clock: Clock) -> None:
    first, second, third = lease("first"), lease("second"), lease("third")
    first.attempt()
    while not (second.attempt() or third.attempt()):
        clock.now += 2
    with pytest.raises(Unavailable):  # whatever thread of it runs first
        first.check()
    with pytest.raises(LeaseLost):
        first.attempt()
