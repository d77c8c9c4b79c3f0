"""A restart that is asked for together with a change: what begins with the new plan has been restarted."""

import pytest

from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.pod_status import JobPod

from .world.plugins import good, tasks_of
from .world.world import World


def running(**spec: object) -> World:
    world = World(spec={"tasksMax": 2, **spec})
    world.settle()
    return world


@pytest.mark.parametrize(
    "asked",
    [
        {"restart-tasks": "now 0,1"},
        {"restart": "now"},
        {"restart": "now", "restart-tasks": "now 0,1"},
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        {"config": {"file": "/data/b"}},
        {"template": {"nodeSelector": {"disk": "fast"}}},
        {"config": {"file": "/data/b"}, "template": {"nodeSelector": {"disk": "fast"}}},
    ],
)
def test_a_restart_and_a_change_in_one_apply_restart_each_task_once(
    asked: dict[str, str], change: dict[str, object]
) -> None:
    world = running()
    world.annotations = {f"penstock.dev/{k}": v for k, v in asked.items()}
    world.change(**change)
    world.settle()
    assert sorted(world.lives[2:]) == ["orders-in-0-2", "orders-in-1-2"]
    assert world.condition("Ready").startswith("True Running")
    assert {h["result"] for h in world.status["restartActions"]} == {"Succeeded"}


def test_a_failed_task_is_restarted_once_and_with_the_new_configuration() -> None:
    world = running(restart={"policy": "Never"})
    world.end("orders-in-1-1", 1, message="bad")
    world.settle()
    world.annotations = {"penstock.dev/restart-failed": "now"}
    world.change(config={"file": "/data/b"})
    world.settle()
    assert sorted(world.lives[2:]) == ["orders-in-0-2", "orders-in-1-2"]
    assert world.condition("Ready").startswith("True Running")


def first_differs(connector: Connector) -> JobAnswer | list[str]:
    """A plugin whose first task alone depends on the file."""
    plan = tasks_of(connector.spec.tasks_max)
    first = plan.tasks[0].model_copy(update={"config": dict(connector.spec.config)})
    plan = plan.model_copy(update={"tasks": (first, *plan.tasks[1:])})
    return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=plan)


def test_a_task_that_the_change_does_not_affect_is_restarted_nevertheless() -> None:
    world = World(spec={"tasksMax": 3}, plugin=first_differs)
    world.settle()
    world.annotations = {"penstock.dev/restart-tasks": "now 0,1"}
    world.change(config={"file": "/data/b"})
    world.settle()
    assert sorted(world.lives[3:]) == ["orders-in-0-2", "orders-in-1-2"]
    assert world.condition("Ready").startswith("True Running")


def test_a_restart_with_a_change_that_is_refused_is_carried_out_with_the_last_good_configuration() -> None:
    world = running()
    world.plugin = lambda connector: ["file"]
    world.annotations = {"penstock.dev/restart-tasks": "now 1"}
    world.change(config={"file": "/wrong"})
    world.settle()
    assert world.lives[2:] == ["orders-in-1-2"]
    assert world.condition("Ready").startswith("False ConfigInvalid")
    world.plugin = good
    world.change(config={"file": "/data/b"})
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_a_restart_waits_for_no_plan_that_does_not_come() -> None:
    world = running()
    world.plugin = lambda connector: JobAnswer(id="", action=Action.PLAN, outcome=Outcome.UNAVAILABLE, message="away")
    world.annotations = {"penstock.dev/restart-tasks": "now 1"}
    world.change(config={"file": "/data/b"})
    world.settle(seconds=60)
    assert world.lives[2:] == ["orders-in-1-2"]


@pytest.mark.parametrize("kill", range(10))
def test_a_restart_that_waits_is_not_forgotten_by_an_operator_that_is_killed(kill: int) -> None:
    world = running()
    world.annotations = {"penstock.dev/restart-tasks": "now 1"}
    world.change(config={"file": "/data/b"})
    world.kill_after = world.writes + kill
    world.settle()
    assert sorted(world.lives[2:]) == ["orders-in-0-2", "orders-in-1-2"]


@pytest.mark.parametrize("kill", range(10))
def test_a_second_restart_of_all_tasks_is_carried_out_by_the_next_operator(kill: int) -> None:
    world = running()
    world.annotations = {"penstock.dev/restart": "first"}
    world.settle()
    world.annotations = {"penstock.dev/restart": "second"}
    world.kill_after = world.writes + kill
    world.settle()
    assert sorted(world.lives[2:]) == ["orders-in-0-2", "orders-in-0-3", "orders-in-1-2", "orders-in-1-3"]
    assert [(a["token"], a["result"]) for a in world.status["restartActions"]] == [
        ("first", "Succeeded"),
        ("second", "Succeeded"),
    ]


def test_a_restart_that_waits_ends_no_pod_where_no_other_one_can_be_made() -> None:
    world = running()
    world.plugin = lambda connector: JobAnswer(id="", action=Action.PLAN, outcome=Outcome.UNAVAILABLE, message="away")
    world.annotations = {"penstock.dev/restart-tasks": "now 1"}
    world.change(config={"file": "/data/b"})
    world.reconcile()
    world.change(template={"nodeSelector": "wrong"})
    world.settle(seconds=60)
    assert world.lives == ["orders-in-0-1", "orders-in-1-1"]
    assert all(p.leaving is None for p in world.pods.values())
    world.plugin = good
    world.change(template={})
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert sorted(world.lives[2:]) == ["orders-in-0-2", "orders-in-1-2"]


def test_no_job_pod_is_made_for_a_plan_that_a_restart_has_made_another() -> None:
    world = running()
    world.annotations = {"penstock.dev/restart": "now"}
    world.change(config={"file": "/data/b"})
    names = set()
    for _ in range(60):
        world.reconcile()
        names |= {p.name for p in world.pods.values() if isinstance(p, JobPod) and p.action == Action.PLAN}
        world.tick()
    assert len(names) == 1
