"""The exported lag of a sink task is current or absent."""

from collections.abc import Mapping

import pytest

from penstock.sink import TopicPartition
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.plugins.plugin_metrics import MetricsByPlace
from penstock_runtime.task.lag import LagWatch
from penstock_runtime.task.metrics import TaskMetrics

LAG, AGE = "kafka_connect_sink_task_lag", "kafka_connect_sink_task_lag_age_seconds"
OF_PARTITION = "penstock_sink_task_partition_lag"
A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)


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
    return {s.name: s.value for metric in watch.collect() for s in metric.samples if s.name != OF_PARTITION}


def by_partition(watch: LagWatch) -> dict[tuple[str, str], float]:
    samples = [s for metric in watch.collect() for s in metric.samples if s.name == OF_PARTITION]
    return {(s.labels["topic"], s.labels["partition"]): s.value for s in samples}


def test_no_lag_is_exported_before_it_is_known(watch: LagWatch) -> None:
    assert exported(watch) == {}


def test_lag_is_exported_with_its_age_until_it_is_a_minute_old(watch: LagWatch, clock: Clock) -> None:
    watch.report({A: 7})
    clock.now += 59
    assert exported(watch) == {LAG: 7, AGE: 59}
    clock.now += 1
    assert exported(watch) == {AGE: 60}


def test_lag_reported_while_kafka_does_not_answer_is_ignored(watch: LagWatch, clock: Clock) -> None:
    watch.report({A: 7})
    watch._is_lost = lambda: True
    clock.now += 30
    watch.report({A: 0})
    assert exported(watch) == {LAG: 7, AGE: 30}


class AtOffset:
    """A task that has written everything up to an offset of one partition."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.partitions = [A]

    def lag_to(self, ends: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return {A: ends[A] - self.offset}


def test_lag_of_a_slow_sink_counts_to_the_end_of_the_topic_and_not_to_that_of_the_last_fetch(
    watch: LagWatch, clock: Clock
) -> None:
    watch._task = task = AtOffset(100)
    watch.report({A: 50})
    assert exported(watch)[LAG] == 50
    assert not watch.is_due
    clock.now += 10
    watch.report({A: 50})
    assert watch.is_due
    watch.measured({A: 900})
    assert exported(watch)[LAG] == 800
    task.offset = 120
    watch.report({A: 30})
    assert exported(watch)[LAG] == 780
    assert not watch.is_due


def test_a_task_without_lag_asks_for_no_end_offsets_while_its_loop_reports(watch: LagWatch, clock: Clock) -> None:
    watch._task = AtOffset(100)
    for _ in range(5):
        clock.now += 9
        watch.report({A: 0})
        assert not watch.is_due


def test_lag_of_each_partition_is_exported_until_it_is_outdated(watch: LagWatch, clock: Clock) -> None:
    watch.report({A: 7, B: 0})
    assert by_partition(watch) == {("orders", "0"): 7, ("orders", "1"): 0}
    assert exported(watch)[LAG] == 7
    clock.now += 60
    assert by_partition(watch) == {}


def test_only_the_partitions_with_the_largest_lag_are_exported(watch: LagWatch) -> None:
    watch.report({TopicPartition("orders", n): n for n in range(1_000)})
    found = by_partition(watch)
    assert (len(found), min(found.values())) == (100, 900)
    assert exported(watch)[LAG] == sum(range(1_000))


def test_growth_of_lag_during_a_pause_does_not_count(watch: LagWatch, clock: Clock) -> None:
    reported: list[str | None] = []
    watch.on_lag = lambda records, growth: reported.append(growth)

    def grow(minutes: int) -> None:
        for _ in range(minutes * 6):
            clock.now += 10
            watch.report({A: int(clock.now)})

    grow(15)
    assert reported[-1] is not None
    watch.is_paused = True
    grow(30)
    watch.is_paused = False
    grow(9)
    assert set(reported[15 * 6 :]) == {None}
    grow(6)
    assert reported[-1] is not None


def test_the_state_of_the_task_decides_whether_its_lag_may_grow() -> None:
    spec = TaskSpec(connector="c", task=0, tasks=1, kind="sink", config={}, plugins={}, worker={})
    metrics = TaskMetrics(spec, MetricsByPlace())
    for state in (State.PAUSED, State.RUNNING, State.PAUSED):
        metrics.state(state)
        assert metrics.lag_watch.is_paused is (state is State.PAUSED)
