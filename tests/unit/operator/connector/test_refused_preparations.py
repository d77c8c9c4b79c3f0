"""A preparation that is answered Invalid is told, and tried again more and more seldom until it succeeds."""

import pytest

from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome
from penstock_model.contracts.task_spec import TaskState
from penstock_operator.connector.model.decision import CreateJob
from penstock_operator.connector.model.pod_status import JobPod
from penstock_operator.names import plan_name

from .world.world import World

REFUSED = JobAnswer(
    id="",
    action=Action.PREPARE,
    outcome=Outcome.INVALID,
    problems=(JobProblem(property="offset.storage.topic", message="is not compacted"),),
)
TOLD = "PrepareFailed: offset.storage.topic"


def running() -> World:
    config = {"file": "/data/a", "topic": "orders", "password": "${secret:db:password}"}
    world = World(spec={"config": config}, secrets={"db": {"password": "1"}})
    world.settle()
    return world


def refused() -> World:
    world = running()
    world.preparing = REFUSED
    world.change(tasksMax=2)
    tries(world, 1_000)
    return world


def tries(world: World, seconds: float) -> int:
    """Preparations that begin in that time; the cause stands in status from the first answer on."""
    until, found, told = world.now + seconds, 0, False
    for _ in range(2_000):
        decision = world.reconcile()
        found += any(isinstance(w, CreateJob) and w.action is Action.PREPARE for w in decision.create)
        told = told or world.condition("Stalled").startswith("True")
        if told:
            assert world.condition("Stalled").startswith(f"True {TOLD}"), world.status
            assert world.status["state"] == "Failed"
        if decision.requeue_after == 0.0 or world.tick():
            continue
        if decision.requeue_after is None or world.now + decision.requeue_after > until:
            return found
        world.advance(decision.requeue_after)
    raise AssertionError("it does not pause")


def test_it_is_tried_seldom_and_reported_all_the_while() -> None:
    world = refused()
    assert 3 <= tries(world, 1_200) <= 5


def test_a_restart_of_the_operator_does_not_make_it_try_more_often() -> None:
    world = refused()
    assert world.status["operatorState"]["job"]["attempts"] >= 7
    assert tries(world, 200) <= 1


def test_it_continues_when_what_was_wrong_is_mended() -> None:
    world = refused()
    world.preparing = None
    world.settle()
    assert world.condition("Ready") == "True Running: all 2 tasks are Running"
    assert world.condition("Stalled") == "False NotStalled: "
    assert "job" not in world.status


def test_a_pod_of_a_further_try_that_does_not_start_does_not_hide_the_cause() -> None:
    world = refused()
    world.unpullable = ("runtime:1",)
    world.advance(300)
    world.reconcile()
    world.reconcile()
    assert world.condition("Stalled").startswith(f"True {TOLD}")


@pytest.mark.parametrize("change", ["spec", "secret", "worker"])
def test_a_change_is_tried_immediately(change: str) -> None:
    world = refused()
    world.preparing = None
    before = world.now
    if change == "spec":
        world.change(tasksMax=3)
    elif change == "secret":
        world.secrets = {"db": {"password": "2"}}
    else:
        world.values = {"worker": {"bootstrap.servers": "kafka:9092", "offset.storage.topic": "other"}}
    for _ in range(40):
        world.reconcile()
        world.tick()
    assert world.now == before
    assert world.condition("Ready").startswith("True Running"), world.status


def with_a_plan_that_is_refused() -> World:
    """Edited, and what the plugin answers to it may not be kept."""
    world = running()
    world.change(config={"rate": 7})
    world.keeps_plans = False
    return world


def test_while_a_plan_may_not_be_kept_what_runs_continues_and_is_replaced_and_paused() -> None:
    world = with_a_plan_that_is_refused()
    (pod,) = (n for n in world.pods if n.startswith("orders-in-0"))
    world.vanish(pod)  # its node is gone
    world.settle()
    assert [n for n in world.pods if n.startswith("orders-in-0")] != [pod]
    assert world.condition("Ready").startswith("False QuotaExceeded: cannot save its plan")
    assert not any(isinstance(p, JobPod) for p in world.pods.values())  # nobody is asked again meanwhile
    world.change(state="Paused", config={"rate": 7})
    world.reconcile()
    assert world.control is not None
    assert world.control.state is TaskState.PAUSED


def test_a_plan_that_may_not_be_kept_is_made_again_when_it_is_time() -> None:
    world = with_a_plan_that_is_refused()
    world.settle()
    world.keeps_plans = True
    world.settle()
    assert world.condition("Ready").startswith("True")
    assert world.status["operatorState"]["plan"]["hash"] == world.facts().requested.hash


def test_a_job_pod_that_is_refused_is_no_plan_that_is_refused_though_both_have_one_name() -> None:
    world = World()
    (name,) = (w.name for w in world.decide().create if isinstance(w, CreateJob))
    assert name == plan_name("orders-in", world.facts().requested.hash)
    world.admits_jobs = False
    found = []
    for _ in range(3):
        decision = world.reconcile()
        found.append([world.condition(kind) for kind in ("ConfigValid", "Ready")])
        world.advance(decision.requeue_after or 0.0)
    assert "denied the request" in found[0][1]
    assert found[0] == found[1] == found[2]  # nothing is written while it is tried again and again
