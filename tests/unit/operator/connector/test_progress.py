"""When a task last delivered a record, and completed its loop: idle and stuck connectors are told apart by the status."""

import pytest

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
    assert "lastRecord" not in world.status
    deliver(world, 0, MINUTE)
    deliver(world, 1, MINUTE - 600)
    world.settle()
    assert world.status["lastRecord"] == world.status["tasks"][0]["lastRecord"] == AT
    assert world.status["tasks"][1]["lastRecord"] == "2026-09-21T14:04:00Z"


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
    assert world.status["lastRecord"] == AT
    world.change(state="Stopped")
    world.settle()
    assert world.status["lastRecord"] == AT


def test_the_last_complete_loop_is_shown_while_the_task_is_hindered_and_not_otherwise(world: World) -> None:
    world.report(world.task(0), trouble="the table is locked", last_loop=MINUTE * 1000)
    world.settle()
    assert (world.status["tasks"][0]["lastLoop"], world.status["tasks"][0]["reason"]) == (AT, "Hindered")
    world.report(world.task(0))
    world.settle()
    assert "lastLoop" not in world.status["tasks"][0]
