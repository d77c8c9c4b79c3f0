"""A lag that grows is in the status, and the connector is Ready all the same."""

from .world.world import World

GROWS = "the lag grew in 10 minutes from 100 to 4555 records"


def test_a_lag_that_grows_is_a_condition_of_a_connector_that_is_ready() -> None:
    world = World({"tasksMax": 2})
    world.settle()
    assert world.condition("Lagging") == "absent"
    world.report(world.task(1), lagging=GROWS)
    world.reconcile()
    assert world.condition("Lagging") == f"True LagGrows: task 1: {GROWS}"
    assert world.condition("Ready").startswith("True Running")
    world.report(world.task(1))
    world.reconcile()
    assert world.condition("Lagging") == "absent"


def test_what_a_task_reported_of_its_lag_does_not_outlive_its_pod() -> None:
    world = World()
    world.settle()
    world.report(world.task(0), lagging=GROWS)
    world.reconcile()
    world.end("orders-in-0-1", 137)
    world.reconcile()
    assert world.condition("Lagging") == "absent"
