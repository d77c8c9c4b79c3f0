"""Autoscaling: the number of tasks follows the reported lag, and the Connector's spec stays as it was written."""

from contextlib import suppress
from typing import Any

import pytest

from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.resources.connector import Connector
from penstock_operator.connector.render.metrics import figures, undecided
from penstock_operator.kubernetes.kinds import CONNECTOR
from penstock_operator.reasons import Reason

from .world.cluster import KEY
from .world.plugins import tasks_of
from .world.world import Killed, World

TERMS: dict[str, Any] = {"targetLagSeconds": 60, "max": 6}
BEHIND: dict[str, Any] = {"lag": 60_000, "read_rate": 100.0, "busy": 100}
IDLE: dict[str, Any] = {"lag": 0, "read_rate": 0.0, "busy": 0}


def sink(connector: Connector) -> JobAnswer | list[str]:
    """A sink with as many tasks as it may have."""
    answer = tasks_of(connector.spec.tasks_max, **connector.spec.config)
    tasks = tuple(TaskSpec.model_validate({**t.model_dump(), "kind": "sink"}) for t in answer.tasks)
    plan = answer.model_copy(update={"kind": "sink", "tasks": tasks})
    return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=plan)


def make(terms: dict[str, Any] | None = None, **spec: Any) -> World:
    world = World({"autoscaling": {**TERMS, **(terms or {})}, **spec}, plugin=sink)
    world.settle()
    return world


def count(world: World) -> int:
    return len({p.task for p in world.facts().pods.tasks if p.leaving is None and p.ended is None})


def loaded(world: World, partitions: int = 12, **load: Any) -> None:
    """All tasks report this load."""
    tasks = count(world)
    for n in range(tasks):
        share = partitions // tasks + (n < partitions % tasks)
        world.report(world.task(n), figures_at=int(world.now * 1000), partitions=share, **load)


def lasts(world: World, minutes: int, **load: Any) -> None:
    """This load is reported each minute, and the operator does what follows."""
    for _ in range(minutes):
        loaded(world, **load)
        world.settle(0)
        world.advance(60)


def test_sink_that_is_behind_gets_more_tasks_and_an_idle_one_gives_them_back() -> None:
    world = make()
    assert count(world) == 1
    assert world.condition("Autoscaling").startswith("True Measuring")
    lasts(world, 1, **IDLE)
    assert world.condition("Autoscaling").startswith("True OnTarget")
    lasts(world, 3, **BEHIND)
    assert count(world) == 2
    lasts(world, 3, **BEHIND)
    assert count(world) == 4
    assert world.condition("Ready").startswith("True Running")
    assert world.status["autoscaling"]["tasks"] == 4
    lasts(world, 13, **IDLE)
    assert count(world) == 3
    lasts(world, 40, **IDLE)
    assert count(world) == 1
    reported = [e for e in world.events if e.reason == Reason.AUTOSCALED]
    assert [e.message.split(":")[0] for e in reported] == [
        "1 -> 2 tasks",
        "2 -> 4 tasks",
        "4 -> 3 tasks",
        "3 -> 2 tasks",
        "2 -> 1 tasks",
    ]
    assert world.status["autoscaling"]["message"] == reported[-1].message
    assert {e.type for e in reported} == {"Normal"}


def test_spec_stays_as_its_author_wrote_it() -> None:
    world = make(tasksMax=2)
    lasts(world, 3, **BEHIND)
    assert count(world) == 4
    document = world.server.get(CONNECTOR, *KEY)
    assert document is not None
    assert document["spec"]["tasksMax"] == 2
    assert document["metadata"]["generation"] == 1


def test_number_begins_with_tasks_max_and_a_change_of_it_sets_the_number() -> None:
    world = make(tasksMax=3)
    assert count(world) == 3
    lasts(world, 3, **BEHIND)
    assert count(world) == 6
    world.change(tasksMax=2)
    world.settle()
    assert count(world) == 2
    assert world.status["autoscaling"] == {"tasks": 2}


@pytest.mark.parametrize(("terms", "expected"), [({"min": 3}, 3), ({"max": 2}, 2)])
def test_changed_limits_apply_immediately(terms: dict[str, Any], expected: int) -> None:
    world = make(tasksMax=1 if "min" in terms else 4)
    world.change(autoscaling={**TERMS, **terms})
    world.settle()
    assert count(world) == expected


def test_without_autoscaling_tasks_max_applies_again() -> None:
    world = make()
    lasts(world, 3, **BEHIND)
    assert count(world) == 2
    del world.spec["autoscaling"]
    world.settle()
    assert count(world) == 1
    assert world.condition("Autoscaling") == "absent"
    assert "autoscaling" not in world.status
    assert figures(world.facts(), world.decide()).desired_tasks is None


def test_connector_without_autoscaling_ignores_the_lag() -> None:
    world = World({"tasksMax": 1}, plugin=sink)
    world.settle()
    lasts(world, 30, **BEHIND)
    assert count(world) == 1
    assert world.condition("Autoscaling") == "absent"


def test_source_keeps_tasks_max_and_says_that_its_lag_is_not_known() -> None:
    world = World({"tasksMax": 2, "autoscaling": TERMS})
    world.settle()
    lasts(world, 30, **BEHIND)
    assert count(world) == 2
    assert world.condition("Autoscaling").startswith("False LagUnknown: the lag of a source is unknown")
    assert world.condition("Ready").startswith("True Running")


def test_status_is_written_only_when_something_changes() -> None:
    world = make()
    lasts(world, 2, **IDLE)
    before = world.status_writes
    lasts(world, 30, lag=10, read_rate=50.0, busy=60)
    assert world.status_writes == before


def test_load_of_an_earlier_pod_does_not_count() -> None:
    world = make()
    lasts(world, 2, **BEHIND)
    world.end("orders-in-0-1", 137)
    world.settle()
    assert world.condition("Autoscaling").startswith(
        "True Measuring: the number of tasks does not change: task 0 has not reported"
    )
    lasts(world, 2, **BEHIND)
    assert count(world) == 1
    lasts(world, 2, **BEHIND)
    assert count(world) == 2


def test_figures_that_are_out_of_date_do_not_count_but_an_idle_task_needs_no_new_ones() -> None:
    world = make(tasksMax=2)
    loaded(world, **BEHIND)
    world.advance(301)
    world.settle()
    assert world.condition("Autoscaling").startswith("True Measuring")
    assert count(world) == 2
    loaded(world, **IDLE)
    world.settle(300)
    assert count(world) == 2
    world.settle(600)
    assert count(world) == 1


@pytest.mark.parametrize("state", ["Paused", "Stopped"])
def test_number_stays_while_the_connector_should_not_run(state: str) -> None:
    world = make(tasksMax=2, state=state)
    for _ in range(30):
        if state == "Paused":
            loaded(world, **BEHIND)
        world.settle(0)
        world.advance(60)
    assert world.status["autoscaling"]["tasks"] == 2
    assert world.condition("Autoscaling").startswith("False Held")
    world.change(state="Running")
    world.settle()
    lasts(world, 3, **BEHIND)
    assert count(world) == 4


def test_number_stays_while_a_task_is_hindered() -> None:
    world = make()
    for _ in range(30):
        loaded(world, **BEHIND, trouble="the database does not answer")
        world.settle(0)
        world.advance(60)
    assert count(world) == 1
    assert (
        world.condition("Autoscaling") == "False Held: the number of tasks does not change: the Connector is not Ready"
    )


def test_number_stays_while_the_status_topic_cannot_be_read_and_so_does_the_condition() -> None:
    world = make(tasksMax=2)
    lasts(world, 2, **IDLE)
    before = world.condition("Autoscaling")
    world.topic.caught_up = False
    world.advance(3600)
    world.settle()
    assert world.condition("Autoscaling") == before
    assert count(world) == 2


def test_number_stays_while_a_release_is_rolled_out_and_changes_afterwards() -> None:
    world = make()
    lasts(world, 2, **IDLE)
    world.values = {"images": {"runtime": "runtime:2"}}
    world.settle(0)
    assert world.task(0).incarnation == 2
    for _ in range(3):
        loaded(world, **BEHIND)
        world.settle(0)
        world.advance(60)
    assert count(world) == 1
    assert world.condition("Autoscaling").endswith("the release was just rolled out to the Connector")
    lasts(world, 20, **BEHIND)
    assert count(world) > 1


def test_executors_that_start_come_first() -> None:
    world = make(spark={"executors": {"max": 2}})
    for _ in range(30):
        loaded(world, **BEHIND, executors_wanted=2, executors=0)
        world.reconcile()
        world.advance(60)
    assert count(world) == 1


def test_limits_in_the_wrong_order_are_refused_with_the_field() -> None:
    world = World({"autoscaling": {"targetLagSeconds": 60, "min": 3, "max": 2}}, plugin=sink)
    world.settle()
    assert "spec.autoscaling.min: must not be greater than max" in world.condition("ConfigValid")


def test_limits_that_are_refused_change_no_number() -> None:
    world = make(tasksMax=4)
    pods = {p.name for p in world.facts().pods.tasks}
    for limits in ({"min": 3, "max": 2}, {"min": 1, "max": 6}):
        world.change(autoscaling={**TERMS, **limits})
        world.settle()
        assert world.status["autoscaling"]["tasks"] == 4
    assert {p.name for p in world.facts().pods.tasks} == pods


def test_lost_status_restarts_no_task() -> None:
    world = make()
    lasts(world, 6, **BEHIND)
    pods = set(world.facts().pods.tasks)
    assert len(pods) >= 4
    world.status = {}
    world.settle()
    assert {p.name for p in world.facts().pods.tasks} == {p.name for p in pods}
    assert world.status["autoscaling"]["tasks"] == 4


def test_operator_that_is_killed_anywhere_changes_the_number_once() -> None:
    for writes in range(0, 24, 2):
        world = make()
        lasts(world, 2, **BEHIND)
        loaded(world, **BEHIND)
        world.writes, world.kill_after = 0, writes
        with suppress(Killed):
            world.settle(0)
        world.kill_after = None
        world.settle(0)
        assert count(world) == 2, writes
        assert [e.reason for e in world.events].count(Reason.AUTOSCALED) <= 1


def test_metrics_have_the_number_also_while_nothing_can_be_decided() -> None:
    world = make()
    lasts(world, 3, **BEHIND)
    assert figures(world.facts(), world.decide()).desired_tasks == 2
    assert undecided(world.document, "OperatorFault").desired_tasks == 2
