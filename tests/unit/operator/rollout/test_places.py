"""How many Connectors are restarted at once, when the rollout stops, and whom it wakes."""

from dataclasses import dataclass, field

import pytest

from penstock_operator.queue.key import Key
from penstock_operator.rollout.places import Places
from penstock_operator.rollout.share import Phase, Record, Share, of_status, share
from penstock_operator.settings import Rollout

RESTING, WAITING, FAILED = Share(), Share(waits=True), Share(Phase.FAILED)
LIMITS = Rollout()
NOW = 1_800_000_000.0


@dataclass
class Release:
    """Places, and the Connectors of a release that ask for them."""

    limits: Rollout = LIMITS
    now: float = NOW
    woken: list[tuple[Key, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.places = Places(self.limits, lambda: self.now, lambda key, delay: self.woken.append((key, delay)))

    def begin(self, *namespaces: tuple[str, int]) -> list[Key]:
        """So many Connectors in each namespace, all at rest."""
        keys = [Key(name, f"c{n}") for name, count in namespaces for n in range(count)]
        self.places.load([(k, RESTING) for k in keys])
        return keys

    def restart(self, key: Key, *, fails: bool = True) -> None:
        self.places.put(key, Share(Phase.RESTARTING, self.now + 600, fails=fails))

    def called(self) -> list[Key]:
        """Who was woken since, to take a place."""
        found = [k for k, delay in self.woken if delay == 0.0]
        self.woken.clear()
        return found


@pytest.mark.parametrize(("most", "count", "at_once"), [
    ("10%", 1, 1), ("10%", 9, 1), ("10%", 10, 1), ("10%", 25, 2), ("10%", 4_000, 400), ("100%", 3, 3), (5, 1_000, 5),
])  # fmt: skip
def test_so_many_at_once_of_so_many(most: str | int, count: int, at_once: int) -> None:
    release = Release(Rollout(max_unavailable=most))
    release.begin(("shop", count))
    assert release.places.most == at_once


def test_one_after_the_other_gets_the_place_in_the_order_in_which_they_waited() -> None:
    release = Release()
    keys = release.begin(("shop", 5))
    assert release.places.look(keys[0]).free
    release.restart(keys[0])
    for key in keys[1:]:
        assert release.places.look(key).reason == "RolloutQueued"
        release.places.put(key, WAITING)
    assert release.called() == []
    release.places.put(keys[0], RESTING)
    assert release.called() == [keys[1]]
    assert release.places.look(keys[1]).free
    assert not release.places.look(keys[2]).free, "the place is kept for who was woken"


def test_who_has_a_place_keeps_it_when_it_is_asked_once_more() -> None:
    release = Release()
    keys = release.begin(("shop", 5))
    release.restart(keys[0])
    assert release.places.look(keys[0]).free


@pytest.mark.parametrize("end", ["put", "drop", "missed"])
def test_who_was_woken_and_needs_no_place_leaves_it_to_the_next(end: str) -> None:
    release = Release()
    keys = release.begin(("shop", 4))
    release.restart(keys[0])
    for key in keys[1:]:
        release.places.put(key, WAITING)
    release.places.drop(keys[0])
    assert release.called() == [keys[1]]
    if end == "put":
        release.places.put(keys[1], RESTING)
    elif end == "drop":
        release.places.drop(keys[1])
    else:
        release.places.missed(keys[1])
    assert release.called() == [keys[2]]


def test_a_connector_whose_restart_cannot_be_written_down_holds_no_place() -> None:
    release = Release()
    keys = release.begin(("shop", 3))
    release.restart(keys[0])
    release.places.put(keys[1], WAITING)
    release.places.missed(keys[0])
    assert release.called() == [keys[1]]
    assert release.places.figures().restarting == 0


def test_before_all_statuses_were_read_there_is_no_place_and_then_those_that_wait_are_woken() -> None:
    release = Release()
    first = Key("shop", "c0")
    assert not release.places.look(first).free
    release.places.put(first, WAITING)
    release.places.load([(first, RESTING), (Key("shop", "c1"), RESTING)])
    assert release.called() == [first]
    assert release.places.look(first).free


def test_a_restart_that_an_operator_finds_when_it_begins_holds_its_place() -> None:
    release = Release()
    release.places.load(
        [(Key("shop", "c0"), Share(Phase.RESTARTING, NOW + 300, fails=True)), (Key("shop", "c1"), RESTING)]
    )
    assert not release.places.look(Key("shop", "c1")).free


def test_a_connector_that_is_deleted_while_statuses_are_read_holds_nothing() -> None:
    release = Release()
    gone = Key("shop", "c0")
    release.places.drop(gone)
    release.places.load([(gone, Share(Phase.RESTARTING, NOW + 300, fails=True)), (Key("shop", "c1"), RESTING)])
    assert release.places.look(Key("shop", "c1")).free


def test_one_connector_that_does_not_get_ready_does_not_hold_up_the_others_for_ever() -> None:
    release = Release()
    keys = release.begin(("shop", 5))
    release.restart(keys[0])
    release.now += 599
    assert not release.places.look(keys[1]).free
    release.now += 1
    assert release.places.look(keys[1]).free
    assert release.places.figures().failed == 1


def test_a_second_one_stops_its_namespace_and_says_who() -> None:
    release = Release()
    keys = release.begin(("shop", 5), ("billing", 5))
    release.restart(keys[9])
    release.places.put(keys[2], WAITING)
    release.places.put(keys[0], FAILED)
    release.places.put(keys[1], FAILED)
    place = release.places.look(keys[2])
    assert place.reason == "RolloutStopped"
    assert "stopped in this namespace: c0, c1 were Ready before" in place.message
    assert keys[2] in [k for k, _ in release.woken], "who waits is to say so"
    release.places.put(keys[9], RESTING)
    assert release.called() == [keys[2]], "only to say so: it gets no place"
    assert release.places.look(Key("billing", "c0")).free
    figures = release.places.figures()
    assert (figures.stopped, figures.stopped_namespaces) == (True, 1)


def test_one_tenant_however_many_of_its_connectors_fail_stops_nobody_else() -> None:
    release = Release()
    keys = release.begin(("bad", 50), *((f"team-{n}", 5) for n in range(10)))
    for key in keys[:50]:
        release.places.put(key, FAILED)
    assert all(release.places.look(k).free for k in keys[50:])
    assert not release.places.look(keys[0]).free


def test_failures_in_several_namespaces_stop_the_whole_release_until_they_are_mended() -> None:
    release = Release()
    keys = release.begin(("a", 5), ("b", 5), ("c", 5))
    release.restart(keys[11])
    release.places.put(keys[10], WAITING)
    release.places.put(keys[0], FAILED)
    release.places.put(keys[5], FAILED)
    release.places.put(keys[11], RESTING)
    place = release.places.look(keys[10])
    assert place.reason == "RolloutStopped"
    assert "Connectors of 2 namespaces" in place.message
    assert "c0" not in place.message, "names of other tenants are not told"
    release.woken.clear()
    release.places.put(keys[5], RESTING)
    assert keys[10] in [k for k, _ in release.woken]
    assert release.places.look(keys[10]).free


def test_namespaces_take_turns_and_one_that_stopped_is_passed_over() -> None:
    release = Release(Rollout(max_unavailable=1))
    keys = release.begin(("a", 9), ("b", 9), ("bad", 9))
    release.restart(keys[8])
    for key in (*keys[:3], *keys[9:11], *keys[18:20]):
        release.places.put(key, WAITING)
    release.places.put(keys[25], FAILED)
    release.places.put(keys[26], FAILED)
    release.woken.clear()
    order = []
    last = keys[8]
    for _ in range(5):
        release.places.put(last, RESTING)
        (last,) = release.called()
        order.append(last)
    assert order == [Key("a", "c0"), Key("b", "c0"), Key("a", "c1"), Key("b", "c1"), Key("a", "c2")]


def test_thousands_cost_no_more_for_each_than_a_few() -> None:
    release = Release()
    keys = release.begin(*((f"team-{n}", 100) for n in range(50)))
    for key in keys:
        if release.places.look(key).free:
            release.restart(key)
        else:
            release.places.put(key, WAITING)
    restarted = 500
    for key in keys[:500]:
        release.places.put(key, RESTING)
    while woken := release.called():
        for key in woken:
            assert release.places.look(key).free
            release.restart(key)
            release.places.put(key, RESTING)
            restarted += 1
        for key in keys[:500]:
            release.places.put(key, RESTING)
    assert restarted == 5_000
    assert release.places.figures().waiting == 0


@pytest.mark.parametrize(("record", "ready_since", "replaced", "after", "expected"), [
    (None, None, False, 0, Share()),
    (Record("r", NOW, True), None, False, 1, Share(Phase.RESTARTING, NOW + 600, fails=True)),
    (Record("r", NOW, True), None, True, 599, Share(Phase.RESTARTING, NOW + 600, fails=True)),
    (Record("r", NOW, True), None, True, 600, Share(Phase.FAILED)),
    (Record("r", NOW, True), NOW + 5, True, 6, Share(Phase.RESTARTING, NOW + 15)),
    (Record("r", NOW, True), NOW + 5, True, 15, Share()),
    (Record("r", NOW, True), NOW + 700, True, 701, Share(Phase.RESTARTING, NOW + 710)),
    (Record("r", NOW, False), None, False, 1, Share(Phase.RESTARTING, NOW + 60)),
    (Record("r", NOW, False), None, True, 1, Share()),
    (Record("r", NOW, False), None, False, 60, Share()),
])  # fmt: skip
def test_what_a_restart_takes(
    record: Record | None, ready_since: float | None, replaced: bool, after: float, expected: Share
) -> None:
    assert share(record, ready_since=ready_since, replaced=replaced, now=NOW + after, limits=LIMITS) == expected


@pytest.mark.parametrize(("body", "expected"), [
    ({"status": {}}, Share()),
    ({"status": {"rollout": {"release": "r", "since": "2027-01-15T08:00:00Z", "wasReady": True}}},
     Share(Phase.RESTARTING, NOW + 600, fails=True)),
    ({"status": {"rollout": {"release": "before", "since": "2027-01-15T08:00:00Z", "wasReady": True}}}, Share()),
    ({"status": {"rollout": {"release": "r", "since": "2027-01-15T07:00:00Z", "wasReady": True},
                 "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2027-01-15T07:00:00Z"}]}},
     Share(Phase.FAILED)),
    ({"spec": {"state": "Paused"},
      "status": {"rollout": {"release": "r", "since": "2027-01-15T07:00:00Z", "wasReady": True}}}, Share()),
    ({"spec": {"state": "Stopped"}}, None),
    ({"metadata": {"deletionTimestamp": "2027-01-15T07:00:00Z"}}, None),
    ({}, Share()),
])  # fmt: skip
def test_what_a_status_says_that_a_connector_takes(body: dict[str, object], expected: Share | None) -> None:
    assert of_status({"metadata": {}, **body}, "r", NOW, LIMITS) == expected
