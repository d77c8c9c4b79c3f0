"""The plots of the last hour say what the tasks reported, and take a bounded amount of memory."""

from typing import Any

import pytest

from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import Report
from penstock_operator.web.history import History
from penstock_web.source import Measurement

NOW = 1_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def report(at: float | None, delivered: int | None = None, **fields: Any) -> Report:
    given = {
        "connector": "shop.orders",
        "connector_uid": "u1",
        "pod_uid": "p1",
        "task": 0,
        "epoch": PlanEpoch(generation=1, plan="x"),
        "incarnation": 1,
        "state": "RUNNING",
        "acted": 1,
        "since": int((NOW - 600) * 1000),
        "figures_at": None if at is None else int(at * 1000),
        "delivered": delivered,
        "progress": "none" if at is None else "steady",
    }
    return Report(**{**given, **fields})


@pytest.fixture
def changes() -> list[int]:
    return []


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def history(changes: list[int], clock: Clock) -> History:
    return History(lambda: changes.append(1), clock)


def test_the_rate_is_that_between_two_reports(history: History, changes: list[int]) -> None:
    history.put(report(NOW - 120, 1_000))
    assert history.of("u1") == ()
    history.put(report(NOW - 60, 1_600, lag=7))
    history.put(report(NOW, 1_600, lag=0))
    assert history.of("u1") == (Measurement(NOW - 60, 0, 10.0, 7), Measurement(NOW, 0, 0.0, 0))
    assert len(changes) == 2


def test_a_report_of_another_state_with_the_same_figures_is_no_measurement(history: History) -> None:
    history.put(report(NOW - 60, 0))
    history.put(report(NOW, 60))
    history.put(report(NOW, 60, state="PAUSED"))
    assert len(history.of("u1")) == 1


def test_an_incarnation_counts_from_nothing_since_it_began_to_run(history: History) -> None:
    history.put(report(NOW - 120, 5_000))
    history.put(report(None, incarnation=2, since=int((NOW - 60) * 1000)))
    assert history.of("u1") == ()
    history.put(report(NOW, 600, incarnation=2))
    assert history.of("u1") == (Measurement(NOW, 0, 10.0, None),)


@pytest.mark.parametrize("change", [{"incarnation": 2}, {"pod_uid": "p2"}])
def test_two_incarnations_have_no_rate_between_them(history: History, change: dict[str, Any]) -> None:
    history.put(report(NOW - 60, 100))
    history.put(report(NOW, 6_100, **change))
    assert history.of("u1") == ()


def test_tasks_are_merged_by_time(history: History) -> None:
    for task, at in ((1, NOW - 119), (0, NOW - 120), (1, NOW - 59), (0, NOW - 60), (0, NOW)):
        history.put(report(at, 0, task=task))
    assert [(m.at - NOW, m.task) for m in history.of("u1")] == [(-60, 0), (-59, 1), (0, 0)]


def test_only_the_last_hour_is_shown(history: History, clock: Clock) -> None:
    history.put(report(NOW - 60, 0))
    history.put(report(NOW, 60))
    clock.now = NOW + 3_500
    assert len(history.of("u1")) == 1
    clock.now = NOW + 3_700
    assert history.of("u1") == ()


def test_the_same_object_is_returned_until_something_changes(history: History) -> None:
    history.put(report(NOW - 60, 0))
    history.put(report(NOW - 30, 60))
    before = history.of("u1")
    assert history.of("u1") is before
    history.put(report(NOW, 60))
    assert history.of("u1") is not before


def test_sixty_measurements_of_a_task_are_kept(history: History, clock: Clock) -> None:
    for n in range(200):
        clock.now = NOW + n
        history.put(report(NOW + n, n))
    assert [m.at for m in history.of("u1")] == [NOW + n for n in range(140, 200)]


def test_too_many_tasks_have_no_history_until_others_have_ended(
    history: History, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock_operator.web.history._MOST_TASKS", 2)
    for uid in ("u1", "u2", "u3"):
        history.put(report(NOW - 60, 0, connector_uid=uid))
        history.put(report(NOW, 60, connector_uid=uid))
    assert [len(history.of(uid)) for uid in ("u1", "u2", "u3")] == [1, 1, 0]
    history.forget("u1")
    history.put(report(NOW - 60, 0, connector_uid="u3"))
    history.put(report(NOW, 60, connector_uid="u3"))
    assert [len(history.of(uid)) for uid in ("u1", "u2", "u3")] == [0, 1, 1]
    clock.now = NOW + 4_000
    history.put(report(clock.now, 0, connector_uid="u4"))
    assert set(history._tasks) == {"u4"}


def test_a_time_that_cannot_be_is_ignored(history: History) -> None:
    history.put(report(NOW + 1_000_000, 0))
    history.put(report(NOW - 1_000_000, 0))
    assert history._tasks == {}


def test_records_of_the_topic_are_read_and_old_ones_are_not_parsed(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.put_record(report(NOW - 60, 0).to_value())
    history.put_record(report(NOW, 60).to_value())
    history.put_record(b"no JSON")
    history.put_record(b'{"since":1}')
    history.put_record(b'{"since":999999999999999}')
    assert len(history.of("u1")) == 1
    old = report(NOW - 4_000, 0, since=int((NOW - 9_000) * 1000)).to_value()
    monkeypatch.setattr(Report, "of", lambda value: pytest.fail("parsed"))
    history.put_record(old)


def test_a_topic_that_is_read_again_brings_nothing_twice(history: History) -> None:
    records = [report(NOW - 120, 0).to_value(), report(NOW - 60, 60).to_value(), report(NOW, 60).to_value()]
    for record in (*records, *records):
        history.put_record(record)
    assert [m.at for m in history.of("u1")] == [NOW - 60, NOW]
