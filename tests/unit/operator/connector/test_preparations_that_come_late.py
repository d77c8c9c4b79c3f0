"""A preparation that nobody waits for any more shuts out the tasks that run: whose it is decides what follows."""

import itertools

import pytest

from penstock_model.contracts.job import Action
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_operator.connector.model.pod_status import JobPod, Phase
from penstock_operator.key import Key
from penstock_operator.name_ownership import owner_mark
from penstock_operator.settings import Release

from .world.plugins import good
from .world.world import World


def running(**spec: object) -> World:
    world = World(spec=spec)
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    return world


def preparations(world: World) -> int:
    return sum(w.prepare or w.action is Action.PREPARE for w in world.requests.values())


def preparing(world: World) -> JobPod:
    """Its job pod that prepares, as soon as it runs."""
    for _ in range(40):
        world.reconcile()
        jobs = [p for p in world.pods.values() if isinstance(p, JobPod) and p.action == Action.PREPARE]
        if jobs and jobs[0].phase is Phase.RUNNING:
            return jobs[0]
        world.tick()
    raise AssertionError("nobody prepares")


def test_tasks_that_a_late_job_pod_of_their_own_has_shut_out_are_prepared_again_and_run() -> None:
    world = running(tasksMax=3)
    world.prepare()
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert preparations(world) == 2
    assert sorted(world.lives[3:]) == ["orders-in-0-2", "orders-in-1-2", "orders-in-2-2"]
    assert world.status["operatorState"]["plan"]["epoch"]["generation"] == 3
    told = [e.message for e in world.events if e.reason == "TaskLost"]
    assert told
    assert "a late job pod of this Connector has fenced this task, and it is prepared again" in told[0]


@pytest.mark.parametrize("owner", ["", "another"])
def test_tasks_that_somebody_else_has_shut_out_stay_away_and_say_what_to_do(owner: str) -> None:
    world = running(tasksMax=2)
    world.prepare(owner)
    world.settle(seconds=3_600)
    assert preparations(world) == 1
    assert not world.condition("Ready").startswith("True")
    assert "has started a connector with the name shop.orders-in in Kafka" in world.condition("Ready")
    assert {t["reason"] for t in world.status["tasks"]} <= {"Superseded", "Starting"}
    world.annotations = {"penstock.dev/restart": "now"}  # as it says, once the other one has ended
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_two_that_shut_out_each_other_do_so_more_and_more_seldom() -> None:
    world = running()
    times = []
    for _ in range(14):
        before = preparations(world)
        world.prepare()
        for _ in range(2_000):
            decision = world.reconcile()
            if preparations(world) > before:
                break
            if decision.requeue_after != 0.0 and not world.tick():
                world.now += decision.requeue_after or 0.0
        times.append(world.now)
        world.settle(seconds=0)
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert pauses[:6] == [1, 2, 4, 8, 16, 32]
    assert pauses[-1] == 300


def test_a_long_life_ends_the_row() -> None:
    world = running()
    for _ in range(6):
        world.prepare()
        world.settle()
    world.advance(3_600)
    before = world.now
    world.prepare()
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert world.now == before


def test_a_record_that_cannot_be_seen_yet_is_found_by_and_by() -> None:
    world = running()
    world.topic.fall_behind()
    world.prepare()
    pod = world.task(0)
    world.end(pod.name, 3, message="was taken over")
    world.reconcile()
    world.topic.catch_up()
    world.settle()
    assert preparations(world) == 2
    assert world.condition("Ready").startswith("True Running")


def test_a_late_job_pod_changes_nothing_for_one_that_is_stopped_and_it_starts_again() -> None:
    world = running()
    world.change(state="Stopped")
    world.settle()
    world.prepare()
    world.settle()
    assert world.condition("Ready").startswith("True Stopped")
    world.change(state="Running")
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_it_is_prepared_again_although_an_edit_that_is_refused_waits_to_be_mended() -> None:
    world = running()
    world.plugin = lambda connector: ["file"]
    world.change(config={"file": "/wrong"})
    world.settle()
    assert world.condition("ConfigValid").startswith("False")
    world.prepare()
    world.settle()
    assert preparations(world) == 2
    assert world.task(0).phase is Phase.RUNNING
    assert world.task(0).name == world.lives[-1]
    assert world.status["state"] == "Running"


def test_a_task_that_has_failed_for_good_is_not_started_by_it() -> None:
    world = running(tasksMax=2, restart={"policy": "Never"})
    world.end("orders-in-1-1", 1, message="bad")
    world.settle()
    world.prepare()
    world.settle()
    assert world.lives[2:] == ["orders-in-0-2"]
    assert world.condition("Stalled").startswith("True TasksFailed: task 1: bad")


def test_a_change_that_is_reverted_while_it_is_prepared_is_prepared_again() -> None:
    world = running()
    world.change(tasksMax=2)
    preparing(world)
    world.tick()  # it has written its records
    world.change(tasksMax=1)
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert not any(e.reason == "TaskLost" for e in world.events)


def test_so_is_one_that_is_reverted_while_another_is_planned_and_prepared_together() -> None:
    world = running()
    world.change(tasksMax=2)
    while world.status["tasks"][0]["state"] != "Restarting" or world.pods:
        if world.pods and world.tick():
            continue
        world.reconcile()
    world.change(tasksMax=3)
    world.reconcile()
    (planning,) = world.pods
    assert world.requests[planning].prepare
    world.tick()
    world.tick()  # it has written its records
    world.change(tasksMax=1)
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert not any(e.reason == "TaskLost" for e in world.events)


@pytest.mark.parametrize("kill", range(14))
def test_the_last_good_configuration_is_prepared_although_the_next_edit_is_refused(kill: int) -> None:
    world = running()
    world.change(tasksMax=2)
    preparing(world)
    world.plugin = lambda connector: ["file"]
    world.change(config={"file": "/wrong"})
    world.kill_after = world.writes + kill
    world.settle()
    assert not any(isinstance(p, JobPod) for p in world.pods.values())
    assert world.status["state"] == "Running"
    assert len(world.status["tasks"]) == 2
    assert world.condition("ConfigValid").startswith("False")
    world.plugin = good
    world.change(config={"file": "/data/b"})
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert not any(isinstance(p, JobPod) for p in world.pods.values())


def test_a_connectors_mark_is_its_own_among_all_clusters_releases_namespaces_and_lives() -> None:
    here = Release(name="penstock", namespace="system", cluster="one")
    marks = [
        owner_mark(Key("shop", "orders"), "uid-1", here),
        owner_mark(Key("shop", "orders"), "uid-2", here),
        owner_mark(Key("other", "orders"), "uid-1", here),
        owner_mark(Key("shop", "orders"), "uid-1", here.model_copy(update={"cluster": "two"})),
        owner_mark(Key("shop", "orders"), "uid-1", here.model_copy(update={"name": "second"})),
    ]
    assert len(set(marks)) == len(marks)
    assert PlanEpoch.of_owner(7, marks[0]).owner == marks[0]
    assert PlanEpoch.of_owner(7).owner == ""
    assert PlanEpoch(generation=1, plan="0123456789abcdef").owner == ""


def test_of_two_plans_of_one_generation_one_is_after_the_other() -> None:
    one, other = PlanEpoch.of_owner(7, "a"), PlanEpoch.of_owner(7, "b")
    assert one.is_after(other) != other.is_after(one)
    assert not one.is_after(one)
    assert PlanEpoch.of_owner(8).is_after(one)
