"""The number of tasks that autoscaling chooses: it follows the lag, and does not alternate."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock_model.resources.autoscaling import Autoscaling
from penstock_operator.connector.decide.autoscaling.load import TaskLoad
from penstock_operator.connector.decide.autoscaling.scaling_decision import choose_number
from penstock_operator.connector.model.autoscaling import AutoscaledTasks, AutoscalingDecision
from penstock_operator.reasons import Reason

NOW = 1_800_000_000.0
TERMS = Autoscaling(target_lag_seconds=60, min=1, max=8)


def load(
    task: int = 0, *, behind: float = 0.0, busy: float = 1.0, partitions: int = 4, speed: float = 100.0
) -> TaskLoad:
    """A task that writes `speed` records per second at most, and needs `behind` seconds for its lag."""
    return TaskLoad(task, round(behind * speed), speed * busy, busy, partitions)


def before(tasks: int, **more: object) -> AutoscaledTasks:
    return replace(AutoscaledTasks(tasks, tasks_max=1), **more)  # type: ignore[arg-type]


def chosen(
    *loads: TaskLoad, terms: Autoscaling = TERMS, persisted: AutoscaledTasks | None = None
) -> AutoscalingDecision:
    return choose_number(loads, terms, persisted or before(len(loads)), NOW)


def after_waiting(*loads: TaskLoad, terms: Autoscaling = TERMS, tasks: int | None = None) -> tuple[int, str]:
    """The number and the reason, when the load has been like this for long."""
    persisted = before(tasks or len(loads), high_since=NOW - 9000, high_lag=0, low_since=NOW - 9000)
    found = chosen(*loads, terms=terms, persisted=persisted)
    assert found.persisted is not None
    assert found.condition is not None
    return found.persisted.tasks, found.condition.reason


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        pytest.param([load(behind=61)], (2, Reason.AUTOSCALED), id="a little behind: one more"),
        pytest.param([load(behind=9000)], (2, Reason.AUTOSCALED), id="far behind: twice as many, at most"),
        pytest.param([load(n, behind=90) for n in range(4)], (6, Reason.AUTOSCALED), id="in proportion"),
        pytest.param([load(n, behind=9000) for n in range(5)], (8, Reason.AUTOSCALED), id="up to the maximum"),
        pytest.param([load(n, behind=9000) for n in range(8)], (8, Reason.AT_MAXIMUM), id="not more"),
        pytest.param(
            [load(0, behind=9000, partitions=2), load(1, behind=5, partitions=1)],
            (3, Reason.AUTOSCALED),
            id="never more than partitions",
        ),
        pytest.param(
            [load(n, behind=9000, partitions=1) for n in range(3)],
            (3, Reason.MORE_TASKS_DO_NOT_HELP),
            id="one partition each",
        ),
        pytest.param(
            [load(0, behind=9000, partitions=1), load(1, behind=1, busy=0.6, partitions=3)],
            (2, Reason.MORE_TASKS_DO_NOT_HELP),
            id="the lag is in one partition",
        ),
        pytest.param(
            [load(behind=9000, busy=0.2)], (1, Reason.MORE_TASKS_DO_NOT_HELP), id="it waits for something else"
        ),
        pytest.param([load(behind=50)], (1, Reason.ON_TARGET), id="within the target"),
        pytest.param([load(n, busy=0.3) for n in range(3)], (2, Reason.AUTOSCALED), id="little to do: one less"),
        pytest.param([load(n, busy=0.6) for n in range(3)], (3, Reason.ON_TARGET), id="one less would be too busy"),
        pytest.param(
            [load(0, busy=0.9), load(1, busy=0.0), load(2, busy=0.0)],
            (3, Reason.ON_TARGET),
            id="one task is busy alone, and may get more partitions",
        ),
        pytest.param(
            [load(0, busy=0.1, behind=40), load(1, busy=0.1)], (2, Reason.ON_TARGET), id="not well below the target"
        ),
        pytest.param([load(busy=0.0)], (1, Reason.ON_TARGET), id="never below the minimum"),
        pytest.param(
            [load(n, busy=0.9, partitions=1 if n < 2 else 0) for n in range(5)],
            (2, Reason.AUTOSCALED),
            id="tasks without partitions go",
        ),
    ],
)
def test_number_follows_a_load_that_lasts(loads: list[TaskLoad], expected: tuple[int, str]) -> None:
    assert after_waiting(*loads) == expected


def test_plugin_that_creates_fewer_tasks_than_requested_gets_no_more() -> None:
    assert after_waiting(load(behind=9000), tasks=3) == (3, Reason.MORE_TASKS_DO_NOT_HELP)


def test_lag_must_be_too_high_for_the_whole_wait() -> None:
    first = chosen(load(behind=90))
    assert first.persisted == before(1, high_since=NOW, high_lag=9000)
    assert first.requeue_after == 120
    (dip,) = [choose_number([load(behind=9)], TERMS, first.persisted, NOW + 60)]
    assert dip.persisted == before(1)
    again = choose_number([load(behind=90)], TERMS, before(1), NOW + 120)
    assert again.persisted is not None
    assert again.persisted.high_since == NOW + 120


def test_lag_that_shrinks_quickly_restarts_no_task() -> None:
    waited = before(1, high_since=NOW - 120, high_lag=30_000)
    shrinks = chosen(load(behind=150), persisted=waited)
    assert shrinks.persisted == waited
    assert shrinks.condition is not None
    assert shrinks.condition.reason == Reason.LAG_ABOVE_TARGET
    slowly = chosen(load(behind=290), persisted=waited)
    assert slowly.persisted is not None
    assert slowly.persisted.tasks == 2


def test_change_names_the_numbers_and_the_cause() -> None:
    found = chosen(load(0, behind=5), load(1, behind=300), persisted=before(2, high_since=NOW - 500, high_lag=1))
    assert found.persisted is not None
    assert found.persisted.message == "2 -> 4 tasks: task 1 is about 5 min behind, and the target is 60 s"
    assert found.persisted.last_scale_time == NOW
    assert found.requeue_after == 0.0


def test_each_change_to_fewer_tasks_that_must_be_undone_doubles_the_wait_for_the_next() -> None:
    lowered = before(1, lowered=True, last_scale_time=NOW - 300, high_since=NOW - 120, high_lag=0)
    undone = chosen(load(behind=300), persisted=lowered).persisted
    assert undone is not None
    assert (undone.tasks, undone.undone) == (2, 1)
    idle = [load(n, busy=0.1) for n in range(2)]
    assert chosen(*idle, persisted=undone).requeue_after == 2 * 600
    long_ago = replace(lowered, undone=3, last_scale_time=NOW - 9000)
    later = chosen(load(behind=300), persisted=long_ago).persisted
    assert later is not None
    assert later.undone == 0


@pytest.mark.parametrize(("down", "up"), [(60, 120), (60, 600), (120, 1200), (600, 120), (600, 3600)])
def test_number_does_not_alternate_whatever_the_waits_are(down: int, up: int) -> None:
    terms = Autoscaling(target_lag_seconds=60, max=4, scale_up_after_seconds=up, scale_down_after_seconds=down)
    state, now, changed = AutoscaledTasks(2, tasks_max=2), NOW, []
    while now < NOW + 10 * 3600:
        # Two tasks seem to have room for the work of one less, but one task falls behind.
        loads = [load(behind=1000)] if state.tasks == 1 else [load(n, busy=0.34) for n in range(state.tasks)]
        found = choose_number(loads, terms, state, now).persisted
        assert found is not None
        now += 240 if found.tasks != state.tasks else 60  # all tasks restart
        changed += [found] if found.tasks != state.tasks else []
        state = found
    assert state.undone == max(each.undone for each in changed) >= 1
    waits = [down * 2**n for n in range(6)]
    most = 2 * (len(waits) + 10 * 3600 // (waits[-1] + up))
    assert len(changed) <= most


# A whole sink, by the minute


@dataclass
class Sink:
    """A sink of which each task writes `speed` records per second, and which pauses when its number changes."""

    arriving: Callable[[float], float]
    terms: Autoscaling = TERMS
    speed: float = 100.0
    partitions: int = 16
    lag: float = 0.0
    state: AutoscaledTasks = field(default_factory=lambda: AutoscaledTasks(1, tasks_max=1))
    measured_until: float = 0.0

    def run(self, minutes: int) -> Iterator[tuple[int, float]]:
        """Yield the number of tasks and the seconds that they are behind, for each minute."""
        for minute in range(minutes):
            now, count = minute * 60.0, self.state.tasks
            written = min(self.lag + self.arriving(minute) * 60, count * self.speed * 60)
            if now < self.measured_until:  # they restart, for all of this minute
                written = 0.0
            self.lag += self.arriving(minute) * 60 - written
            if now > self.measured_until:
                self._decide(now, count, written)
            yield self.state.tasks, self.lag / (count * self.speed)

    def _decide(self, now: float, count: int, written: float) -> None:
        busy = written / (count * self.speed * 60)
        each = [self.partitions // count + (n < self.partitions % count) for n in range(count)]
        share = [p / self.partitions for p in each]
        loads = [
            TaskLoad(n, round(self.lag * share[n]), written / 60 * share[n], min(1.0, busy), each[n])
            for n in range(count)
        ]
        if any(load.lag and not load.rate for load in loads):
            return
        found = choose_number(loads, self.terms, self.state, NOW + now)
        assert found.persisted is not None
        if found.persisted.tasks != count:
            self.measured_until = now + 120
        self.state = found.persisted


def changes(numbers: list[int]) -> int:
    return sum(a != b for a, b in pairwise(numbers))


def test_more_records_get_enough_tasks_within_minutes_and_fewer_records_give_them_back() -> None:
    sink = Sink(lambda minute: 430.0 if 60 <= minute < 300 else 20.0)
    found = list(sink.run(600))
    numbers = [n for n, _ in found]
    assert set(numbers[:60]) == {1}
    assert all(behind <= 60 for _, behind in found[120:300])
    assert 5 <= numbers[299] <= 8
    assert numbers[-1] == 1
    assert changes(numbers) <= 3 + 7


def test_steady_flow_settles_on_one_number() -> None:
    for rate in (50.0, 95.0, 170.0, 260.0, 333.0, 555.0):
        numbers = [n for n, _ in Sink(lambda minute, rate=rate: rate).run(24 * 60)]  # type: ignore[misc]
        assert changes(numbers[12 * 60 :]) == 0, rate
        assert numbers[-1] >= math.ceil(rate / 100)


def test_waves_that_are_shorter_than_the_wait_change_nothing() -> None:
    sink = Sink(lambda minute: 250.0 if minute % 8 < 4 else 20.0, state=AutoscaledTasks(4, tasks_max=1))
    assert {n for n, _ in sink.run(600)} <= {3, 4}


@given(st.lists(st.floats(0, 1000), min_size=8, max_size=8), st.integers(2, 40))
@settings(max_examples=60, deadline=None)
def test_any_flow_keeps_the_number_within_its_limits_and_changes_it_seldom(rates: list[float], period: int) -> None:
    sink = Sink(lambda minute: rates[int(minute) // period % 8])
    numbers = [n for n, _ in sink.run(12 * 60)]
    assert set(numbers) <= set(range(1, 9))
    lowered = [minute for minute in range(1, len(numbers)) if numbers[minute] < numbers[minute - 1]]
    assert all(numbers[m - 1] - numbers[m] == 1 for m in lowered)
    assert all(b - a >= 10 for a, b in pairwise(lowered))
