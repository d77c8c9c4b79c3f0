"""Operators of a release under any order of events: never two of them act, and one does within half a minute."""

from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock_operator.kubernetes.election import Election, LeaseLost, Move

POLL: Final = 2.0
"""Seconds between two attempts of an operator, at most (`composition`: 5 of one that holds it)."""
BOUND: Final = 30.0
NUMBER: Final = 3


class Store:
    """What an API server does with one object: every write has another version, and must name the one it was made from."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] | None = None
        self._version = 0

    def write(self, manifest: dict[str, Any]) -> dict[str, Any] | None:
        before = None if self.kept is None else self.kept["metadata"]["resourceVersion"]
        if manifest["metadata"].get("resourceVersion") != before:
            return None
        self._version += 1
        self.kept = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(self._version)}}
        return self.kept


@dataclass
class Process:
    """An operator: each of its steps (ask, be answered, write, be answered) may be as late as it likes.

    Attributes:
        skew: what its clock shows more than others'; any clock of a machine of its own.
        rate: seconds of its clock in a second.
    """

    name: str
    store: Store
    skew: float
    rate: float
    election: Election = field(init=False)
    asked: float | None = None
    reading: tuple[dict[str, Any] | None] | None = None
    move: Move | None = None
    answer: tuple[dict[str, Any] | None] | None = None
    lost: bool = False

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Start anew, under another name: as a pod does."""
        self.name += "'"
        self.election = Election("ns", "penstock", self.name)
        self.asked = self.reading = self.move = self.answer = None
        self.lost = False

    def clock(self, now: float) -> float:
        return self.skew + now * self.rate

    def holds(self, now: float) -> bool:
        """Whether any thread of it would write now."""
        until = self.election.held_until
        return not self.lost and until is not None and self.clock(now) < until

    def step(self, now: float, *, answer_lost: bool = False) -> None:
        """The next one of an attempt."""
        mine = self.clock(now)
        if self.lost:
            self.begin()
        elif self.asked is None:
            self.asked = mine
        elif self.reading is None:
            self.reading = (self.store.kept,)
        elif self.move is None:
            try:
                self.move = self.election.look(self.reading[0], now=mine)
            except LeaseLost:
                self.lost = True
        elif self.answer is None:
            written = None if self.move.manifest is None else self.store.write(self.move.manifest)
            self.answer = (written,)
            if answer_lost and self.move.manifest is not None:
                self.asked = self.reading = self.move = self.answer = None
        else:
            self.election.wrote(self.move, self.answer[0], asked=self.asked, now=mine)
            self.asked = self.reading = self.move = self.answer = None

    def attempt(self, now: float) -> None:
        """All of them at once."""
        self.step(now)
        while self.asked is not None and not self.lost:
            self.step(now)


# Mostly small pauses, so that answers and time-outs meet; now and then one as long as a Lease holds, or longer.
PAUSES = st.sampled_from([0.0, 0.0, 0.5, 2.0, 5.0, 12.0, 14.9, 14.9, 15.5, 16.5, 40.0])
ACTS = st.sampled_from([*["attempt"] * 5, *["step"] * 4, "lose", "kill", "annotate"])
EVENTS = st.lists(st.tuples(st.integers(0, NUMBER - 1), ACTS, PAUSES), min_size=10, max_size=60)
SKEWS = st.lists(st.sampled_from([0.0, -1e6, 1e9, 17.0]), min_size=NUMBER, max_size=NUMBER)
RATES = st.lists(st.floats(0.98, 1.02), min_size=NUMBER, max_size=NUMBER)


def never_two(processes: list[Process], now: float) -> None:
    holders = [p.name for p in processes if p.holds(now)]
    assert len(holders) <= 1, holders


@settings(deadline=None, max_examples=600)
@given(EVENTS, SKEWS, RATES)
def test_never_two_hold_the_lease_and_one_does_within_a_bound(
    events: list[tuple[int, str, float]], skews: list[float], rates: list[float]
) -> None:
    store, now = Store(), 100.0
    processes = [Process(f"operator-{n}", store, skews[n], rates[n]) for n in range(NUMBER)]
    for number, event, pause in events:
        now += pause
        process = processes[number]
        never_two(processes, now)
        match event:
            case "attempt":
                process.attempt(now)
            case "kill":
                process.begin()
            case "annotate" if store.kept is not None:
                store.write(dict(store.kept))
            case _:
                process.step(now, answer_lost=event == "lose")
        never_two(processes, now)
    leaders(processes, now)


def leaders(processes: list[Process], now: float) -> None:
    """From now on all goes well: somebody leads within the bound, and goes on."""
    end = now + BOUND + 15.0
    led: float | None = None
    while now < end:
        for process in processes:
            process.attempt(now)
            never_two(processes, now)
        if led is None and any(p.holds(now) for p in processes):
            led = now
        assert led is None or any(p.holds(now) for p in processes)
        now += POLL
    assert led is not None
    assert led <= end - 15.0


@pytest.mark.parametrize("dead", [{0}, {0, 1}, {0, 2}], ids=["the leader", "and a standby", "and the other"])
@pytest.mark.parametrize("phase", [0.0, 0.5, 1.0, 3.5, 5.0, 6.5, 8.0])
def test_those_that_are_left_take_over_within_half_a_minute(dead: set[int], phase: float) -> None:
    store, now = Store(), 0.0
    processes = [Process(f"operator-{n}", store, 1e6 * n, 1.0) for n in range(NUMBER)]
    while now < 100.0 + phase:
        for number, process in enumerate(processes):
            if (now + 0.3 * number) % (5.0 if number == 0 else POLL) < 0.25:
                process.attempt(now)
        now += 0.25
    assert processes[0].holds(now)
    begun, left = now, [p for n, p in enumerate(processes) if n not in dead]
    while not any(p.holds(now) for p in left):
        for number, process in enumerate(left):
            if (now + 0.3 * number) % POLL < 0.25:
                process.attempt(now)
        now += 0.25
        assert now - begun < BOUND


@pytest.mark.parametrize(
    ("holder", "cause"), [("operator-2", "is now held by operator-2"), ("", "was released by another client")]
)
def test_leader_without_its_lease_says_who_has_it_and_exits(holder: str, cause: str) -> None:
    election = Election("shop", "penstock", "operator-1")
    move = election.look(None, now=0.0)
    assert election.wrote(move, {"metadata": {"resourceVersion": "1"}}, asked=0.0, now=0.0)
    with pytest.raises(LeaseLost) as lost:
        election.look({"metadata": {"resourceVersion": "2"}, "spec": {"holderIdentity": holder}}, now=1.0)
    assert str(lost.value) == f"cannot remain leader: the Lease shop/penstock {cause}; this process exits"
