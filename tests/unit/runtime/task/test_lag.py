"""The lag of a sink's task: true or absent."""

import pytest

from penstock_runtime.task.lag import LagWatch

LAG, AGE = "kafka_connect_sink_task_lag", "kafka_connect_sink_task_lag_age_seconds"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> LagWatch:
    return LagWatch({"connector": "c", "task": "0"}, clock)


def exported(watch: LagWatch) -> dict[str, float]:
    return {s.name: s.value for metric in watch.collect() for s in metric.samples}


def test_no_lag_is_exported_before_it_is_known(watch: LagWatch) -> None:
    assert exported(watch) == {}


def test_a_lag_has_its_age_and_goes_when_it_is_a_minute_old(watch: LagWatch, clock: Clock) -> None:
    watch.report(7)
    clock.now += 59
    assert exported(watch) == {LAG: 7, AGE: 59}
    clock.now += 1
    assert exported(watch) == {AGE: 60}


def test_what_the_loop_reports_while_kafka_does_not_answer_is_no_lag(watch: LagWatch, clock: Clock) -> None:
    watch.report(7)
    watch._is_lost = lambda: True
    clock.now += 30
    watch.report(0)
    assert exported(watch) == {LAG: 7, AGE: 30}
