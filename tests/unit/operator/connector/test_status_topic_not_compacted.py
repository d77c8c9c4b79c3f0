"""A status topic that loses records: no task is ended for a restart or a change, which are done afterwards."""

from typing import Any

import pytest

from .world.world import World

FAULT = "Kafka deletes records of topic connect-status"


@pytest.fixture
def world() -> World:
    world = World()
    world.settle()
    world.topic.policy_fault = FAULT
    return world


def asks_for_a_restart(world: World) -> None:
    world.annotations["penstock.dev/restart"] = "1"


def asks_for_a_restart_of_a_task(world: World) -> None:
    world.annotations["penstock.dev/restart-tasks"] = "1 0"


def changes_its_configuration(world: World) -> None:
    world.change(config={"file": "/data/other.txt", "topic": "orders"})


def changes_its_template(world: World) -> None:
    world.change(template={"resources": {"limits": {"memory": "700Mi"}}})


def changes_the_release(world: World) -> None:
    world.values = {"images": {"runtime": "runtime:2"}}


@pytest.mark.parametrize(
    "ask", [asks_for_a_restart, asks_for_a_restart_of_a_task, changes_its_configuration, changes_its_template]
)
def test_no_task_ends_before_the_topic_is_compacted(world: World, ask: Any) -> None:
    before = set(world.pods)
    ask(world)
    world.settle()
    assert {n for n in world.pods if "-plan-" not in n} == before
    assert world.condition("Ready").startswith("True Running")
    assert world.condition("UpdatePending") == (
        f"True StatusTopicNotCompacted: no task is restarted until the status topic is compacted: {FAULT}"
    )
    world.topic.policy_fault = None
    world.settle()
    assert not before & set(world.pods), "what was asked for is done"
    assert world.condition("UpdatePending") == "absent"
    assert world.condition("Ready").startswith("True Running")


@pytest.mark.parametrize(
    "ask", [asks_for_a_restart, changes_its_configuration, changes_its_template, changes_the_release]
)
def test_a_connector_that_waits_for_the_topic_is_not_reconciled_again_and_again(world: World, ask: Any) -> None:
    ask(world)
    world.settle()
    assert world.condition("UpdatePending").startswith("True StatusTopicNotCompacted")
    before = world.wakes
    for _ in range(3):
        world.reconcile()
    assert world.wakes == before


def test_a_task_that_is_lost_meanwhile_is_replaced_as_it_was() -> None:
    world = World(spec={"tasksMax": 2})
    world.settle()
    world.topic.policy_fault = FAULT
    changes_its_configuration(world)
    world.settle()
    plan = world.status["operatorState"]["plan"]["hash"]
    world.end("orders-in-0-1", 137)
    world.settle()
    assert (world.task(0).incarnation, world.task(1).incarnation) == (2, 1)
    assert world.status["tasks"][0]["state"] == "Running"
    assert world.status["operatorState"]["plan"]["hash"] == plan
    assert world.condition("UpdatePending").startswith("True StatusTopicNotCompacted")


def test_a_connector_without_a_living_task_is_corrected_and_restarted_immediately(world: World) -> None:
    world.change(restart={"maxRestarts": 0})
    world.settle()
    world.end("orders-in-0-1", 1, message="bad record")
    world.settle()
    assert world.status["tasks"][0]["state"] == "Failed"
    plan = world.status["operatorState"]["plan"]["hash"]
    changes_its_configuration(world)
    world.settle()
    assert world.condition("UpdatePending") == "absent"
    assert world.condition("Ready").startswith("True Running")
    assert world.status["operatorState"]["plan"]["hash"] != plan
    world.end("orders-in-0-2", 1, message="bad record")
    world.settle()
    asks_for_a_restart_of_a_task(world)
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_a_connector_of_which_nothing_is_asked_has_no_update_pending(world: World) -> None:
    world.reconcile()
    assert world.condition("UpdatePending") == "absent"


def test_it_may_be_stopped_and_deleted(world: World) -> None:
    world.change(state="Stopped")
    world.settle()
    assert world.pods == {}
