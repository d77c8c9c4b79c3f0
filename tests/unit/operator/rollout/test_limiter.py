"""How many Connectors are restarted at once, when the rollout stops, and whom it wakes."""

from dataclasses import dataclass, field

import pytest

from penstock_operator.key import Key
from penstock_operator.rollout.limiter import RolloutLimiter
from penstock_operator.rollout.progress import Phase, Progress, RolloutRestart, progress_of, progress_of_status
from penstock_operator.settings import Rollout

RESTING, WAITING, FAILED = Progress(), Progress(waits=True), Progress(Phase.FAILED)
LIMITS = Rollout()
NOW = 1_800_000_000.0


@dataclass
class Release:
    """RolloutLimiter, and the Connectors of a release that ask for them."""

    limits: Rollout = LIMITS
    now: float = NOW
    woken: list[tuple[Key, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.limiter = RolloutLimiter(self.limits, lambda: self.now, lambda key, delay: self.woken.append((key, delay)))

    def begin(self, *namespaces: tuple[str, int]) -> list[Key]:
        """So many Connectors in each namespace, all at rest."""
        keys = [Key(name, f"c{n}") for name, count in namespaces for n in range(count)]
        self.limiter.load([(k, RESTING) for k in keys])
        return keys

    def restart(self, key: Key, *, fails: bool = True) -> None:
        self.limiter.update(key, Progress(Phase.RESTARTING, self.now + 600, fails=fails))

    def called(self) -> list[Key]:
        """Who was woken since, to take a place."""
        found = [k for k, delay in self.woken if delay == 0.0]
        self.woken.clear()
        return found


@pytest.mark.parametrize(
    ("most", "count", "at_once"),
    [
        ("10%", 1, 1),
        ("10%", 9, 1),
        ("10%", 10, 1),
        ("10%", 25, 2),
        ("10%", 4_000, 400),
        ("100%", 3, 3),
        (5, 1_000, 5),
    ],
)
def test_so_many_together_of_so_many(most: str | int, count: int, at_once: int) -> None:
    release = Release(Rollout(max_unavailable=most))
    release.begin(("shop", count))
    assert release.limiter.limit == at_once


def test_one_after_the_other_gets_the_place_in_the_order_in_which_they_waited() -> None:
    release = Release()
    keys = release.begin(("shop", 5))
    assert release.limiter.permission(keys[0]).granted
    release.restart(keys[0])
    for key in keys[1:]:
        assert release.limiter.permission(key).reason == "RolloutQueued"
        release.limiter.update(key, WAITING)
    assert release.called() == []
    release.limiter.update(keys[0], RESTING)
    assert release.called() == [keys[1]]
    assert release.limiter.permission(keys[1]).granted
    assert not release.limiter.permission(keys[2]).granted, "the place is kept for who was woken"


def test_who_has_a_place_keeps_it_when_it_is_asked_once_more() -> None:
    release = Release()
    keys = release.begin(("shop", 5))
    release.restart(keys[0])
    assert release.limiter.permission(keys[0]).granted


@pytest.mark.parametrize("end", ["put", "drop", "missed"])
def test_who_was_woken_and_needs_no_place_leaves_it_to_the_next(end: str) -> None:
    release = Release()
    keys = release.begin(("shop", 4))
    release.restart(keys[0])
    for key in keys[1:]:
        release.limiter.update(key, WAITING)
    release.limiter.forget(keys[0])
    assert release.called() == [keys[1]]
    if end == "put":
        release.limiter.update(keys[1], RESTING)
    elif end == "drop":
        release.limiter.forget(keys[1])
    else:
        release.limiter.revert(keys[1])
    assert release.called() == [keys[2]]


def test_a_connector_whose_restart_cannot_be_written_down_holds_no_place() -> None:
    release = Release()
    keys = release.begin(("shop", 3))
    release.restart(keys[0])
    release.limiter.update(keys[1], WAITING)
    release.limiter.revert(keys[0])
    assert release.called() == [keys[1]]
    assert release.limiter.figures().restarting == 0


def test_before_all_statuses_were_read_there_is_no_place_and_then_those_that_wait_are_woken() -> None:
    release = Release()
    first = Key("shop", "c0")
    assert not release.limiter.permission(first).granted
    release.limiter.update(first, WAITING)
    release.limiter.load([(first, RESTING), (Key("shop", "c1"), RESTING)])
    assert release.called() == [first]
    assert release.limiter.permission(first).granted


def test_a_restart_that_an_operator_finds_when_it_begins_holds_its_place() -> None:
    release = Release()
    release.limiter.load(
        [(Key("shop", "c0"), Progress(Phase.RESTARTING, NOW + 300, fails=True)), (Key("shop", "c1"), RESTING)]
    )
    assert not release.limiter.permission(Key("shop", "c1")).granted


def test_a_connector_that_is_deleted_while_statuses_are_read_holds_nothing() -> None:
    release = Release()
    gone = Key("shop", "c0")
    release.limiter.forget(gone)
    release.limiter.load([(gone, Progress(Phase.RESTARTING, NOW + 300, fails=True)), (Key("shop", "c1"), RESTING)])
    assert release.limiter.permission(Key("shop", "c1")).granted


def test_one_connector_that_does_not_get_ready_does_not_hold_up_the_others_for_ever() -> None:
    release = Release()
    keys = release.begin(("shop", 5))
    release.restart(keys[0])
    release.now += 599
    assert not release.limiter.permission(keys[1]).granted
    release.now += 1
    assert release.limiter.permission(keys[1]).granted
    assert release.limiter.figures().failed == 1


def test_a_second_one_stops_its_namespace_and_says_who() -> None:
    release = Release()
    keys = release.begin(("shop", 5), ("billing", 5))
    release.restart(keys[9])
    release.limiter.update(keys[2], WAITING)
    release.limiter.update(keys[0], FAILED)
    release.limiter.update(keys[1], FAILED)
    permission = release.limiter.permission(keys[2])
    assert permission.reason == "RolloutStopped"
    assert "stopped in this namespace: c0, c1 were Ready before" in permission.message
    assert keys[2] in [k for k, _ in release.woken], "who waits is to say so"
    release.limiter.update(keys[9], RESTING)
    assert release.called() == [keys[2]], "only to say so: it gets no place"
    assert release.limiter.permission(Key("billing", "c0")).granted
    figures = release.limiter.figures()
    assert (figures.stopped, figures.stopped_namespaces) == (True, 1)


def test_one_tenant_however_many_of_its_connectors_fail_stops_nobody_else() -> None:
    release = Release()
    keys = release.begin(("bad", 50), *((f"team-{n}", 5) for n in range(10)))
    for key in keys[:50]:
        release.limiter.update(key, FAILED)
    assert all(release.limiter.permission(k).granted for k in keys[50:])
    assert not release.limiter.permission(keys[0]).granted


def test_failures_in_several_namespaces_stop_the_whole_release_until_they_are_mended() -> None:
    release = Release()
    keys = release.begin(("a", 5), ("b", 5), ("c", 5))
    release.restart(keys[11])
    release.limiter.update(keys[10], WAITING)
    release.limiter.update(keys[0], FAILED)
    release.limiter.update(keys[5], FAILED)
    release.limiter.update(keys[11], RESTING)
    permission = release.limiter.permission(keys[10])
    assert permission.reason == "RolloutStopped"
    assert "Connectors of 2 namespaces" in permission.message
    assert "c0" not in permission.message, "names of other tenants are not told"
    release.woken.clear()
    release.limiter.update(keys[5], RESTING)
    assert keys[10] in [k for k, _ in release.woken]
    assert release.limiter.permission(keys[10]).granted


def test_namespaces_take_turns_and_one_that_stopped_is_passed_over() -> None:
    release = Release(Rollout(max_unavailable=1))
    keys = release.begin(("a", 9), ("b", 9), ("bad", 9))
    release.restart(keys[8])
    for key in (*keys[:3], *keys[9:11], *keys[18:20]):
        release.limiter.update(key, WAITING)
    release.limiter.update(keys[25], FAILED)
    release.limiter.update(keys[26], FAILED)
    release.woken.clear()
    order = []
    last = keys[8]
    for _ in range(5):
        release.limiter.update(last, RESTING)
        (last,) = release.called()
        order.append(last)
    assert order == [Key("a", "c0"), Key("b", "c0"), Key("a", "c1"), Key("b", "c1"), Key("a", "c2")]


def test_thousands_cost_no_more_for_each_than_a_few() -> None:
    release = Release()
    keys = release.begin(*((f"team-{n}", 100) for n in range(50)))
    for key in keys:
        if release.limiter.permission(key).granted:
            release.restart(key)
        else:
            release.limiter.update(key, WAITING)
    restarted = 500
    for key in keys[:500]:
        release.limiter.update(key, RESTING)
    while woken := release.called():
        for key in woken:
            assert release.limiter.permission(key).granted
            release.restart(key)
            release.limiter.update(key, RESTING)
            restarted += 1
        for key in keys[:500]:
            release.limiter.update(key, RESTING)
    assert restarted == 5_000
    assert release.limiter.figures().waiting == 0


@pytest.mark.parametrize(
    ("record", "ready_since", "replaced", "after", "expected"),
    [
        (None, None, False, 0, Progress()),
        (RolloutRestart("r", NOW, True), None, False, 1, Progress(Phase.RESTARTING, NOW + 600, fails=True)),
        (RolloutRestart("r", NOW, True), None, True, 599, Progress(Phase.RESTARTING, NOW + 600, fails=True)),
        (RolloutRestart("r", NOW, True), None, True, 600, Progress(Phase.FAILED)),
        (RolloutRestart("r", NOW, True), NOW + 5, True, 6, Progress(Phase.RESTARTING, NOW + 15)),
        (RolloutRestart("r", NOW, True), NOW + 5, True, 15, Progress()),
        (RolloutRestart("r", NOW, True), NOW + 700, True, 701, Progress(Phase.RESTARTING, NOW + 710)),
        (RolloutRestart("r", NOW, False), None, False, 1, Progress(Phase.RESTARTING, NOW + 60)),
        (RolloutRestart("r", NOW, False), None, True, 1, Progress()),
        (RolloutRestart("r", NOW, False), None, False, 60, Progress()),
    ],
)
def test_what_a_restart_takes(
    record: RolloutRestart | None, ready_since: float | None, replaced: bool, after: float, expected: Progress
) -> None:
    assert progress_of(record, ready_since=ready_since, replaced=replaced, now=NOW + after, limits=LIMITS) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"status": {}}, Progress()),
        (
            {
                "status": {
                    "operatorState": {"rollout": {"release": "r", "since": "2027-01-15T08:00:00Z", "wasReady": True}}
                }
            },
            Progress(Phase.RESTARTING, NOW + 600, fails=True),
        ),
        (
            {
                "status": {
                    "operatorState": {
                        "rollout": {"release": "before", "since": "2027-01-15T08:00:00Z", "wasReady": True}
                    }
                }
            },
            Progress(),
        ),
        (
            {
                "status": {
                    "operatorState": {"rollout": {"release": "r", "since": "2027-01-15T07:00:00Z", "wasReady": True}},
                    "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2027-01-15T07:00:00Z"}],
                }
            },
            Progress(Phase.FAILED),
        ),
        (
            {
                "spec": {"state": "Paused"},
                "status": {
                    "operatorState": {"rollout": {"release": "r", "since": "2027-01-15T07:00:00Z", "wasReady": True}}
                },
            },
            Progress(),
        ),
        ({"spec": {"state": "Stopped"}}, None),
        ({"metadata": {"deletionTimestamp": "2027-01-15T07:00:00Z"}}, None),
        ({}, Progress()),
    ],
)
def test_what_a_status_says_that_a_connector_takes(body: dict[str, object], expected: Progress | None) -> None:
    assert progress_of_status({"metadata": {}, **body}, "r", NOW, LIMITS) == expected
