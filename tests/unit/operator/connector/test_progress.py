"""When a task last delivered a record, and completed its loop: idle and stuck connectors are told apart by the status."""

from typing import Any

import pytest

from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import Report
from penstock_model.resources.connector import Restart
from penstock_operator.connector.decide.task_observation import TaskObservation
from penstock_operator.connector.decide.task_step import step
from penstock_operator.connector.model.persisted_state import PersistedTask
from penstock_operator.connector.model.pod_status import Phase, TaskPod

from .world.world import World

MINUTE = 1_790_000_040
AT = "2026-09-21T14:14:00Z"


@pytest.fixture
def world() -> World:
    world = World(spec={"tasksMax": 2})
    world.settle()
    return world


def deliver(world: World, task: int, at: int) -> None:
    world.report(world.task(task), last_record=at * 1000)


def test_the_last_record_of_each_task_and_of_the_connector_is_in_the_status(world: World) -> None:
    assert "lastRecordTime" not in world.status
    deliver(world, 0, MINUTE)
    deliver(world, 1, MINUTE - 600)
    world.settle()
    assert world.status["lastRecordTime"] == world.status["tasks"][0]["lastRecordTime"] == AT
    assert world.status["tasks"][1]["lastRecordTime"] == "2026-09-21T14:04:00Z"


def test_a_status_is_written_once_for_a_minute_of_all_tasks_and_never_while_nothing_comes(world: World) -> None:
    writes = world.status_writes
    deliver(world, 0, MINUTE)
    deliver(world, 1, MINUTE)
    world.settle()
    assert world.status_writes == writes + 1
    for _ in range(5):
        world.advance(60)
        world.settle()
    assert world.status_writes == writes + 1


def test_the_last_record_outlives_restarts_and_a_stop(world: World) -> None:
    deliver(world, 0, MINUTE)
    world.settle()
    world.annotations = {"penstock.dev/restart": "again"}
    world.settle()
    assert world.status["lastRecordTime"] == AT
    world.change(state="Stopped")
    world.settle()
    assert world.status["lastRecordTime"] == AT


def test_the_last_complete_loop_is_shown_while_the_task_is_hindered_and_not_otherwise(world: World) -> None:
    world.report(world.task(0), trouble="the table is locked", last_loop=MINUTE * 1000)
    world.settle()
    assert (world.status["tasks"][0]["lastLoopTime"], world.status["tasks"][0]["reason"]) == (AT, "Hindered")
    world.report(world.task(0))
    world.settle()
    assert "lastLoopTime" not in world.status["tasks"][0]


# Ready only once it works

PENDING = "it has started; its first records are pending"


def reported(persisted: PersistedTask, progress: str, trouble: str | None = None) -> PersistedTask:
    """The task after a report that it runs."""
    pod = TaskPod(
        name="a-0-1",
        uid="u",
        owner="uid",
        role="task",
        phase=Phase.RUNNING,
        created=MINUTE,
        started=MINUTE,
        task=0,
        incarnation=persisted.incarnation,
        pod_hash="h",
        generation=1,
        image="runtime:1",
        node="n",
    )
    report: dict[str, Any] = {"progress": progress, "trouble": trouble}
    return step(
        TaskObservation(
            connector="a",
            persisted=persisted,
            pods=[pod],
            report=Report(
                connector="a",
                connector_uid="uid",
                pod_uid="u",
                task=0,
                epoch=PlanEpoch(generation=1, plan="p"),
                incarnation=persisted.incarnation,
                state="RUNNING",
                acted=1,
                since=MINUTE * 1000,
                **report,
            ),
            pod_hash="h",
            generation_to_report=1,
            policy=Restart(),
            restart_requested=False,
            refusal=None,
            node_timeout=30,
            now=MINUTE + 1,
        )
    ).persisted


def begun(state: str = "Pending", incarnation: int = 1, **more: Any) -> PersistedTask:
    return PersistedTask(0, state, MINUTE, incarnation, pod="a-0-1", pod_uid="u", pod_hash="h", **more)


PLANNED = begun("Restarting", 2, reason="SpecChanged")


@pytest.mark.parametrize(
    ("before", "progress", "state"),
    [
        (begun(), "none", "Pending"),
        (begun(), "loop", "Pending"),
        (begun(), "steady", "Running"),
        (PLANNED, "none", "Restarting"),
        (PLANNED, "loop", "Running"),
        (begun(incarnation=3, failures=1), "loop", "Pending"),
        (begun(incarnation=3, failures=1), "steady", "Running"),
        (begun(incarnation=3, losses=1), "loop", "Pending"),
        (begun(incarnation=3, unavailable=1), "loop", "Pending"),
    ],
)
def test_a_task_runs_once_it_has_shown_that_it_works_and_lives_on_unless_its_restart_was_planned(
    before: PersistedTask, progress: str, state: str
) -> None:
    after = reported(before, progress)
    assert (after.state, after.message) == (state, "" if state == "Running" else PENDING)


def test_what_hinders_a_task_before_its_first_round_is_its_message() -> None:
    after = reported(begun(), "none", "Waiting for topics that do not exist: a")
    assert (after.reason, after.message) == ("Hindered", "Waiting for topics that do not exist: a")
    passing = reported(after, "none")  # the trouble is over, and nothing has moved yet
    assert passing.message == PENDING


def test_a_task_that_fails_at_its_first_record_again_and_again_is_never_ready(world: World) -> None:
    world.end("orders-in-0-1", 1, message="bad record")
    for incarnation in range(2, 6):
        name = f"orders-in-0-{incarnation}"
        while name not in world.pods:
            world.advance(5)
            world.reconcile()
            assert world.condition("Ready").startswith("False")
        world.start(name)
        for progress in ("none", "loop"):
            world.report(world.task(0), progress=progress)
            world.reconcile()
            assert world.condition("Ready").startswith("False")
            assert "bad record" in world.condition("Ready")
        world.end(name, 1, message="bad record")
        world.reconcile()
