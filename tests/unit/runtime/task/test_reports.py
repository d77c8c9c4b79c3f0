"""Reports of a task to the status topic, the metrics and the operator."""

import json
from collections.abc import Callable, Collection, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from penstock_kafka.records import Entry
from penstock_model.contracts.status_snapshot import topic_mark
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.spark.executors_wanted import ExecutorsState
from penstock_runtime.task.metrics import TaskMetrics
from penstock_runtime.task.reports import ParentPipe, TaskReports


class Listener:
    """What the operator would read."""

    def __init__(self) -> None:
        self.troubles: list[str | None] = []

    def state(self, state: State, *, message: str | None = None, trace: str | None = None) -> None: ...

    def trouble(self, text: str | None) -> None:
        self.troubles.append(text)

    def lag(self, records: int, growth: str | None) -> None: ...

    def partitions(self, number: int) -> None: ...

    def waited(self, seconds: float) -> None: ...

    def ask(self, asked: str) -> None: ...

    def executors(self, state: ExecutorsState) -> None: ...

    def batch(self, read: int, delivered: int) -> None: ...

    def looped(self, *, proven: bool) -> None: ...


class Written:
    """A status topic."""

    def __init__(self) -> None:
        self.states: list[str] = []
        self.topics: list[str] = []

    def write(self, entries: Sequence[Entry], *, timeout: float) -> None:
        records = [json.loads(value) for _, value in entries if value is not None]
        self.states += [r["state"] for r in records if "state" in r]
        self.topics += [r["topic"]["name"] for r in records if "topic" in r]


def reports_to(
    written: Written,
    *,
    track: bool = True,
    recorded: Callable[[], Collection[bytes]] = tuple,
    listener: Listener | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> TaskReports:
    metrics = SimpleNamespace(
        state=lambda state: None,
        batch=lambda summary, seconds, on_spark: None,
        lag_watch=SimpleNamespace(),
    )
    return TaskReports(
        connector="c",
        task=0,
        generation=1,
        version="1",
        worker_id="w",
        records=written,
        track_topics=track,
        metrics=cast("TaskMetrics", metrics),
        parent=ParentPipe(None),
        recorded=recorded,
        listener=listener,
        clock=clock,
    )


def test_repeated_state_is_written_once() -> None:
    written = Written()
    reports = reports_to(written)
    for state in (State.PAUSED, State.PAUSED, State.RUNNING, State.PAUSED, State.UNASSIGNED):
        reports.state(state)
    assert written.states == ["PAUSED", "RUNNING", "PAUSED", "UNASSIGNED"]


def test_topic_is_recorded_once_and_not_if_the_connector_has_it_already() -> None:
    written, asked = Written(), []

    def recorded() -> Collection[bytes]:
        asked.append(1)
        return {topic_mark("before")}

    reports = reports_to(written, recorded=recorded)
    assert asked == []
    for topics in (["before"], ["new", "before"], ["new"], ["later", "new"]):
        reports.active(topics)
    assert written.topics == ["new", "later"]
    assert asked == [1]


def test_no_topic_is_recorded_while_topics_are_not_tracked() -> None:
    written = Written()
    reports_to(written, track=False, recorded=lambda: pytest.fail("nobody needs to know")).active(["t"])
    assert written.topics == []


def test_running_task_that_skips_all_records_is_hindered_until_one_is_delivered() -> None:
    now, listener = [0.0], Listener()
    reports = reports_to(Written(), listener=listener, clock=lambda: now[0])
    reports.state(State.RUNNING)
    reports.batch(
        Summary(read=20, failures=20, cause="TRANSFORMATION (Cast): DataException"), seconds=0.1, on_spark=False
    )
    for _ in range(2):
        reports.trouble(None)  # the loop meets nothing
    assert reports.is_hindered
    reports.trouble("Kafka does not answer")
    reports.batch(Summary(read=1), seconds=0.1, on_spark=False)
    reports.trouble(None)
    first, *rest = listener.troubles
    assert first is not None
    assert "the last 20 failed" in first
    assert rest == ["Kafka does not answer", None]
    assert not reports.is_hindered


def test_paused_task_is_not_hindered_by_earlier_records() -> None:
    reports = reports_to(Written())
    reports.state(State.RUNNING)
    reports.batch(Summary(read=20, failures=20, cause="x"), seconds=0.1, on_spark=False)
    reports.state(State.PAUSED)
    reports.trouble(None)
    assert not reports.is_hindered
