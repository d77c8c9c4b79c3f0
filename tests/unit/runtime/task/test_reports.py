"""What a task tells of itself, to the status topic and to whoever else wants to know."""

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from penstock_kafka.records import Entry
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.task.metrics import TaskMetrics
from penstock_runtime.task.reports import ParentPipe, TaskReports


class Written:
    """A status topic."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def write(self, entries: Sequence[Entry], *, timeout: float) -> None:
        self.states += [json.loads(value)["state"] for _, value in entries if value is not None]


def test_a_state_that_is_told_again_is_written_once() -> None:
    written = Written()
    reports = TaskReports(
        connector="c",
        task=0,
        generation=1,
        version="1",
        worker_id="w",
        records=written,
        track_topics=True,
        metrics=cast("TaskMetrics", SimpleNamespace(state=lambda state: None)),
        parent=ParentPipe(None),
    )
    for state in (State.PAUSED, State.PAUSED, State.RUNNING, State.PAUSED, State.UNASSIGNED):
        reports.state(state)
    assert written.states == ["PAUSED", "RUNNING", "PAUSED", "UNASSIGNED"]
