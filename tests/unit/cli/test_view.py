"""What `penstock run` shows of its tasks: the truth of now, and of the past only that it is past."""

import io
import json
import time
from typing import Any, cast

import pytest
from rich.console import Console

from penstock_cli.child import Child
from penstock_cli.supervisor import Task
from penstock_cli.view import Lines, Table
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.resources.connector import Restart
from penstock_model.resources.task_restart import RestartDecision, RestartHistory, TaskEnd

LONG = "Connect to ipv4#127.0.0.1:9092 failed: " + "because " * 30 + "(_TRANSPORT)"


@pytest.fixture
def task() -> Task:
    spec = TaskSpec.model_validate(
        {
            "kind": "source",
            "connector": "orders",
            "task": 0,
            "tasks": 1,
            "config": {},
            "worker": {},
            "plugins": {"connector": {"alias": "X", "reference": "x:X", "version": "1"}},
        }
    )
    made = Task(spec, Restart())
    made.begin(cast("Child", object()))
    made.event({"event": "state", "state": "RUNNING"})
    return made


def lines(*moments: Any) -> list[dict[str, Any]]:
    stream = io.StringIO()
    view = Lines(stream)
    for moment in moments:
        view.show([moment()])
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def drawn(task: Task, width: int = 120) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, height=40, force_terminal=True, color_system=None)
    with Table("t", io.StringIO(), console) as table:
        table.show([task], last=True)
    return stream.getvalue()


def told(task: Task, **event: Any) -> Any:
    def moment() -> Task:
        task.event(event)
        return task

    return moment


def test_a_trouble_is_shown_with_the_state_while_it_lasts(task: Task) -> None:
    task.event({"event": "progress", "trouble": "Waiting for topics that do not exist, or that may not be read: t"})
    assert "RUNNING, waiting" in drawn(task)
    assert "orders-0: Waiting for topics that do not exist, or that may not be read: t" in drawn(task)
    task.event({"event": "progress", "trouble": None})
    assert "aiting" not in drawn(task)


def test_the_view_names_spark_and_its_workers_while_the_session_is_up(task: Task) -> None:
    found = lines(
        told(task, event="progress", spark_workers=None),
        told(task, event="progress", spark_workers=2, written=1000),
        told(task, event="progress", spark_workers=None),
    )
    assert [line.get("sparkWorkers") for line in found] == [None, 2, None]
    assert found[1]["message"].endswith(", Spark: 2 workers")
    task.event({"event": "progress", "spark_workers": 2})
    assert "RUNNING, Spark: 2 workers" in drawn(task)
    task.finish(TaskEnd.LOST, RestartDecision(0.0, RestartHistory(), "lost"))
    assert "Spark" not in drawn(task)


def test_a_task_whose_kafka_is_unavailable_does_not_look_as_if_it_ran(task: Task) -> None:
    task.event({"event": "progress", "trouble": LONG})
    assert "RUNNING, Kafka unreachable" in drawn(task)


def test_a_long_error_is_shown_whole_in_the_terminals_width(task: Task) -> None:
    task.event({"event": "progress", "trouble": LONG})
    narrow, wide = drawn(task, 80), drawn(task, 200)
    for shown in (narrow, wide):
        assert " ".join(LONG.split()) in " ".join(shown.split())
    assert len(wide.splitlines()) < len(narrow.splitlines())


def test_a_long_error_is_complete_in_the_lines(task: Task) -> None:
    (line,) = lines(told(task, event="progress", trouble=LONG))
    assert line["error"] == LONG
    assert (line["level"], line["state"]) == ("warning", "RUNNING")


def test_an_end_that_was_overcome_is_marked_as_past_and_forgotten_after_some_minutes(task: Task) -> None:
    task.error, task.erred = "the process was lost (signal 9)", time.monotonic() - 12
    assert "12 s ago, resolved: the process was lost (signal 9)" in drawn(task)
    (line,) = lines(lambda: task)
    assert "error" not in line
    task.erred = time.monotonic() - 3600
    assert "lost" not in drawn(task)


def test_one_failure_is_one_line_that_says_why_and_what_follows(task: Task) -> None:
    def ended() -> Task:
        task.finish(TaskEnd.FAILED, RestartDecision(10.0, RestartHistory(failures=1), "failed; restart 1 of 10"))
        return task

    found = lines(
        lambda: task,
        told(task, event="failed", message="no such file"),
        told(task, event="state", state="FAILED"),
        ended,
        ended,
    )
    assert [line["state"] for line in found] == ["RUNNING", "FAILED"]
    assert found[-1]["message"] == ("orders-0 is FAILED: no such file; restart 1 of 10; starting again in 10 s")
    assert found[-1]["level"] == "error"


def test_a_client_that_repeats_itself_gets_one_line(task: Task) -> None:
    away = [
        "Connect to ipv4#127.0.0.1:9092 failed (after 0ms in state CONNECT) (_TRANSPORT)",
        "1/1 brokers are down (_ALL_BROKERS_DOWN)",
        "Connect to ipv4#127.0.0.1:9092 failed (after 7ms in state CONNECT) (_TRANSPORT)",
    ]
    assert len(lines(*(told(task, event="progress", trouble=text) for text in away))) == 1


def test_the_lines_of_a_table_go_to_the_log(task: Task) -> None:
    log = io.StringIO()
    with Table("t", log, Console(file=io.StringIO())) as table:
        table.show([task])
    assert json.loads(log.getvalue())["state"] == "RUNNING"
