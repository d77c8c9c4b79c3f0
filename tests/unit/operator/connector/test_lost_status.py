"""A status that is lost, or replaced by an older one, restarts no task and repeats no action."""

import copy
from typing import Any

import pytest

from penstock_model.contracts.job import Action
from penstock_operator import names
from penstock_operator.connector.model.pod_status import TaskPod
from penstock_operator.kubernetes.kinds import CONFIG_MAP
from penstock_operator.names import plan_name
from penstock_operator.rollout.progress import GRANTED, Permission

from .world.cluster import KEY
from .world.world import World

NOTHING = {"observedGeneration": -1}


def pods(world: World) -> dict[str, str]:
    return {p.name: p.uid for p in world.pods.values() if isinstance(p, TaskPod) and p.leaving is None}


def restarts(world: World) -> list[tuple[str, str, str]]:
    return [(a["action"], a["token"], a["result"]) for a in world.status.get("restartActions", ())]


def actions(world: World) -> list[tuple[str, str, str]]:
    return [(a["action"], a["token"], a["result"]) for a in world.status.get("offsetsActions", ())]


def stable(world: World) -> dict[str, Any]:
    """The parts of the status that the operator reads back, without times."""
    tasks = [(t["id"], t["state"], t["incarnation"], t["pod"]) for t in world.status["tasks"]]
    own = {name: world.status["operatorState"][name] for name in ("plan", "tasks")}
    return {"own": own, "tasks": tasks, "state": world.status["state"]}


@pytest.mark.parametrize("state", ["Running", "Paused"])
def test_a_wiped_status_is_made_again_from_the_pods(state: str) -> None:
    world = World({"tasksMax": 3})
    world.settle()
    world.annotations = {"penstock.dev/restart": "r1", "penstock.dev/restart-tasks": "t1 1"}
    world.settle()
    world.change(state=state)
    world.settle()
    before, known, jobs = pods(world), stable(world), len(world.requests)
    world.status = dict(NOTHING)
    world.advance(60)
    world.settle()
    assert pods(world) == before
    assert stable(world) == known
    assert len(world.requests) == jobs
    assert restarts(world) == [("restart", "r1", "Succeeded"), ("restart-tasks", "t1", "Refused")]


def test_the_operators_own_state_is_made_again_from_the_pods_and_ends_no_task() -> None:
    world = World({"tasksMax": 2})
    world.settle()
    world.annotations = {"penstock.dev/restart": "r1"}
    world.settle()
    before, known, jobs = pods(world), stable(world), len(world.requests)
    world.status = {name: value for name, value in world.status.items() if name != "operatorState"}
    world.advance(60)
    world.settle()
    assert pods(world) == before
    assert stable(world) == known
    assert len(world.requests) == jobs


def test_a_status_of_before_a_restart_restarts_nothing_again() -> None:
    world = World({"tasksMax": 2})
    world.settle()
    world.annotations = {"penstock.dev/restart": "r1"}
    world.settle()
    backup = copy.deepcopy(world.status)
    world.annotations = {"penstock.dev/restart": "r2", "penstock.dev/restart-tasks": "t1 1"}
    world.settle()
    world.change(config={"file": "/data/b"})
    world.settle()
    before, known = pods(world), stable(world)
    world.status = backup
    world.advance(60)
    world.settle()
    assert pods(world) == before
    assert stable(world) == known
    assert restarts(world)[-2:] == [("restart", "r2", "Succeeded"), ("restart-tasks", "t1", "Refused")]


def test_a_new_token_restarts_after_the_status_was_lost() -> None:
    world = World()
    world.settle()
    before = pods(world)
    world.status = dict(NOTHING)
    world.settle()
    world.annotations = {"penstock.dev/restart": "r1"}
    world.settle()
    assert len(pods(world)) == 1
    assert not pods(world).keys() & before.keys()


@pytest.mark.parametrize("action", ["reset-offsets", "reset-topics"])
@pytest.mark.parametrize("lost", ["wiped", "older"])
def test_an_action_is_not_repeated_after_the_status_was_lost(action: str, lost: str) -> None:
    world = World()
    world.settle()
    world.change(state="Stopped")
    world.settle()
    backup = dict(NOTHING) if lost == "wiped" else copy.deepcopy(world.status)
    world.advance(60)
    world.annotations = {f"penstock.dev/{action}": "a1"}
    world.settle()
    ((name, *_),) = actions(world)
    jobs, written = len(world.requests), len(world.topic.written)
    world.status = backup
    world.advance(60)
    world.settle()
    assert actions(world) == [(name, "a1", "Refused")]
    assert "this Connector has already used this token" in str(world.status["offsetsActions"])
    assert len(world.requests) == jobs
    assert len(world.topic.written) == written


def test_a_pod_at_the_offsets_finishes_its_action_although_the_status_is_lost() -> None:
    world = World()
    world.settle()
    world.change(state="Stopped")
    world.settle()
    world.annotations = {"penstock.dev/reset-offsets": "a1"}
    while not any(r.action is Action.OFFSETS for r in world.requests.values()):
        world.reconcile()
    world.status = dict(NOTHING)
    world.advance(5)
    world.settle()
    assert actions(world) == [("reset", "a1", "Succeeded")]
    assert [r.action for r in world.requests.values()].count(Action.OFFSETS) == 1


def test_a_list_is_not_made_again_after_the_status_was_lost() -> None:
    world = World(annotations={"penstock.dev/list-offsets": "l1"})
    world.settle()
    assert actions(world) == [("list", "l1", "Succeeded")]
    jobs = len(world.requests)
    world.status = dict(NOTHING)
    world.settle()
    assert actions(world) == [("list", "l1", "Succeeded")]
    assert len(world.requests) == jobs


def unreadable(world: World) -> list[str]:
    """Replace the plans by some that no operator of this release reads; their names."""
    maps = [m for m in world.server.list(CONFIG_MAP, KEY.namespace) if names.label(m, names.ROLE_LABEL) == "plan"]
    for found in maps:
        meta = {k: found["metadata"][k] for k in ("name", "namespace", "labels", "ownerReferences")}
        world.server.remove(CONFIG_MAP, KEY.namespace, meta["name"])
        world.server.add({**found, "metadata": meta, "data": {"plan.json": '{"form": "of another release"}'}})
    return [m["metadata"]["name"] for m in maps]


def test_a_plan_that_cannot_be_read_is_made_again_and_its_tasks_continue() -> None:
    world = World({"tasksMax": 2})
    world.settle()
    before, known, jobs = pods(world), stable(world), len(world.requests)
    names_before = unreadable(world)
    world.start_operator()
    world.settle()
    assert [plan_name(KEY.name, p.hash) for p in world.plans] == names_before
    assert len(world.requests) - jobs <= 1
    assert pods(world) == before
    assert stable(world) == known


@pytest.mark.parametrize("lost", ["wiped", "older"])
def test_a_task_without_a_pod_starts_after_its_last_incarnation_in_kafka(lost: str) -> None:
    world = World({"tasksMax": 2})
    world.settle()
    backup = dict(NOTHING) if lost == "wiped" else copy.deepcopy(world.status)
    for _ in range(3):
        world.vanish(world.task(0).name)
        world.settle()
    world.end(world.task(0).name, 1, message="no such file")
    before = world.task(1).uid
    assert world.task(0).incarnation == 4
    world.vanish(world.task(0).name)
    world.status = backup
    world.settle()
    assert (world.task(0).name, world.task(1).uid) == ("orders-in-0-5", before)
    assert [t[:3] for t in stable(world)["tasks"]] == [(0, "Running", 5), (1, "Running", 1)]


@pytest.mark.parametrize("lost", ["wiped", "older", "of another plan"])
def test_a_recovered_connector_waits_for_its_turn_to_take_up_a_release(lost: str) -> None:
    world = World({"tasksMax": 2})
    world.settle()
    backup = dict(NOTHING) if lost == "wiped" else copy.deepcopy(world.status)
    world.annotations = {"penstock.dev/restart": "r1"} if lost == "of another plan" else {}
    world.settle()
    world.vanish(world.task(0).name)
    world.settle()
    before = pods(world)
    world.permission = Permission(False, "RolloutQueued", "waiting for its turn")
    world.values = {"images": {"runtime": "runtime:2"}}
    world.status = backup
    world.settle()
    assert pods(world) == before
    assert world.condition("UpdatePending") == "True RolloutQueued: waiting for its turn"
    world.permission = GRANTED
    world.settle()
    assert {p.image for p in world.pods.values() if isinstance(p, TaskPod)} == {"runtime:2"}


def test_a_later_change_of_a_recovered_connector_waits_for_nobody() -> None:
    world = World()
    world.settle()
    before = pods(world)
    world.permission = Permission(False, "RolloutQueued", "waiting for its turn")
    world.values = {"images": {"runtime": "runtime:2"}}
    world.status = dict(NOTHING)
    world.settle()
    assert pods(world) == before
    world.change(config={"file": "/data/b", "topic": "orders"})
    world.settle()
    assert not pods(world).keys() & before.keys()
    assert world.condition("UpdatePending") == "absent"


def test_an_action_is_done_although_the_clock_of_the_operator_before_was_ahead() -> None:
    world = World()
    world.settle()
    world.topic.caught_up = False
    world.annotations = {"penstock.dev/reset-topics": "a1"}
    world.reconcile()
    assert actions(world) == [("reset-topics", "a1", "Pending")]
    world.advance(-30)
    world.start_operator()
    world.topic.caught_up = True
    world.settle()
    assert actions(world) == [("reset-topics", "a1", "Succeeded")]


def test_a_token_that_arrives_with_a_restore_is_refused_and_the_next_one_restarts() -> None:
    world = World()
    world.settle()
    before = pods(world)
    world.status = dict(NOTHING)
    world.annotations = {"penstock.dev/restart": "r1"}
    world.settle()
    assert pods(world) == before
    assert restarts(world) == [("restart", "r1", "Refused")]
    world.annotations = {"penstock.dev/restart": "r2"}
    world.settle()
    assert not pods(world).keys() & before.keys()
    assert restarts(world)[-1] == ("restart", "r2", "Succeeded")
