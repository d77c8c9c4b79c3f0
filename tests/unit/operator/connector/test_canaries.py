"""`spec.rollout`: some tasks run other plugin versions first, and the others follow once those ran without a failure."""

from typing import Any

import pytest

from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_operator.connector.model.pod_status import Phase, TaskPod
from penstock_operator.kubernetes.kinds import PLUGIN_VERSION

from .test_plugin_places import apply, running
from .test_plugin_versions import image, mounted
from .world.cluster import KEY
from .world.world import World

ONE, TWO = "1.0.0", "2.0.0"
TIMEOUT = 300.0


def four(canary: int = 1, tasks: int = 4, **spec: Any) -> World:
    """Four tasks of version 1.0.0, of a plugin that has a version 2.0.0, too."""
    world = running(
        ("ticker", ONE),
        ("ticker", TWO),
        version=ONE,
        tasksMax=tasks,
        rollout={"canaryTasks": canary, "canaryDuration": "5m"},
        **spec,
    )
    assert versions(world) == [ONE] * tasks
    return world


def versions(world: World) -> list[str]:
    """Of the tasks, where status and pods agree."""
    found = [t["versions"]["connector"] for t in world.status["tasks"]]
    for t in world.status["tasks"]:
        if t["state"] in ("Running", "Paused"):
            assert mounted(world, t["pod"]) == [image(t["versions"]["connector"])]
    return found


def pending(world: World) -> str:
    return world.condition("UpdatePending")


def go(world: World, seconds: float) -> None:
    """Let so much time pass, and all happen that follows in it."""
    end, step = world.now + seconds, max(10.0, seconds / 60)
    while world.now < end:
        world.settle(min(step, end - world.now))
        world.advance(min(step, end - world.now))
    world.settle(1.0)


def fail(world: World, number: int = 0) -> None:
    world.end(world.task(number).name, 1, message="2.x is bad")
    world.settle(1.0)


def test_the_others_follow_when_the_canary_has_run_for_its_duration_without_a_failure() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert pending(world) == (
        "True CanaryRunning: task 0 runs ticker-2.0.0; the other 3 stay as before, and follow after 300 s without a failure"
    )
    assert world.condition("Ready").startswith("True")
    assert world.status["pluginVersions"] == ["ticker-1.0.0", "ticker-2.0.0"]
    go(world, TIMEOUT - 60)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    go(world, 90)
    assert versions(world) == [TWO] * 4
    assert pending(world) == "absent"
    assert "canary" not in world.status["operatorState"]
    assert world.status["connector"]["version"] == TWO
    assert [name for name in world.lives if name.startswith("orders-in-0")] == ["orders-in-0-1", "orders-in-0-2"]


def test_a_canary_that_fails_keeps_the_others_on_their_version_and_going_back_ends_it() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    for _ in range(11):  # as often as it may be started again, and then it stays failed
        fail(world)
        while world.task(0).ended is not None and "retryAt" in world.status["tasks"][0]:
            go(world, 30)
            assert pending(world).startswith("True CanaryFailed")
    assert world.condition("Stalled").startswith("True TasksFailed")
    go(world, 3600)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert "2.x is bad" in pending(world)
    assert pending(world).startswith(
        "True CanaryFailed: task 0 runs ticker-2.0.0; the other 3 stay as before, because a "
    )
    assert pending(world).endswith("or another. They follow after 300 s without a failure")
    assert world.condition("Ready").startswith("False")
    jobs = len(world.requests)
    world.change(version=ONE)
    world.settle()
    assert versions(world) == [ONE] * 4
    assert pending(world) == "absent"
    assert world.condition("Ready").startswith("True")
    assert len(world.requests) == jobs
    assert {n for n in world.lives if not n.startswith("orders-in-0-")} == {f"orders-in-{n}-1" for n in (1, 2, 3)}


def test_after_a_failure_the_time_starts_again() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    go(world, TIMEOUT - 30)
    fail(world)
    assert pending(world).startswith("True CanaryFailed")
    go(world, TIMEOUT - 60)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert pending(world).startswith("True CanaryFailed")
    go(world, 120)
    assert versions(world) == [TWO] * 4
    assert pending(world) == "absent"


def test_a_failure_after_its_duration_is_one_of_a_task() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    go(world, TIMEOUT + 20)
    fail(world)
    assert versions(world) == [TWO] * 4
    assert pending(world) == "absent"
    assert "2.x is bad" in world.condition("Ready")


def test_a_failure_at_the_very_moment_of_its_duration_counts() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    world.advance(TIMEOUT)  # nobody looks meanwhile
    world.end(world.task(0).name, 1, message="2.x is bad")
    world.settle(1.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert pending(world).startswith("True CanaryFailed")


def test_an_operator_that_starts_midway_continues_where_it_was() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    go(world, TIMEOUT / 2)
    world.start_operator()
    go(world, TIMEOUT / 2 - 40)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    go(world, 60)
    assert versions(world) == [TWO] * 4


def test_what_is_lost_comes_back_on_its_own_version_also_without_the_plugin_versions() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    for version in (ONE, TWO):
        world.server.remove(PLUGIN_VERSION, KEY.namespace, f"ticker-{version}")
    for number in (0, 2):
        world.vanish(world.task(number).name)
    world.start_operator()
    world.settle(60.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert world.condition("Ready").startswith("True")
    assert pending(world).startswith("True CanaryRunning")


def test_another_configuration_midway_goes_to_the_canary_first() -> None:
    world = four(config={"file": "/a"})
    world.plugin = _same_split(world)
    world.change(version=TWO)
    world.settle(20.0)
    go(world, TIMEOUT - 60)
    world.change(config={"file": "/b"})
    world.settle(20.0)
    go(world, TIMEOUT - 60)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert len([n for n in world.lives if n.startswith("orders-in-1-")]) == 1
    go(world, 120)
    assert versions(world) == [TWO] * 4


def test_a_configuration_that_is_wrong_midway_changes_nothing() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    lives = list(world.lives)
    good, world.plugin = world.plugin, lambda _: ["file"]
    world.change(config={"file": "/wrong"})
    go(world, TIMEOUT + 60)
    assert world.condition("ConfigValid").startswith("False")
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert world.lives == lives
    world.plugin = good
    world.change(config={})
    world.settle(60.0)
    assert versions(world) == [TWO] * 4


@pytest.mark.parametrize("tasks", [2, 6])
def test_another_number_of_tasks_waits_for_the_canary(tasks: int) -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    world.change(tasksMax=tasks)
    world.settle(20.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert "with all other changes, after 300 s" in pending(world)
    fail(world)
    go(world, 60)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    world.change(version=ONE)
    world.settle(60.0)
    assert versions(world) == [ONE] * tasks
    world.change(version=TWO)
    world.settle(20.0)
    assert versions(world) == [TWO, *[ONE] * (tasks - 1)]
    world.change(tasksMax=4)
    go(world, TIMEOUT + 60)
    assert versions(world) == [TWO] * 4


def test_a_pause_midway_stops_the_clock() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    go(world, TIMEOUT / 2)
    world.change(state="Paused")
    go(world, 2 * TIMEOUT)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert "once all canaries run" in pending(world)
    world.change(state="Running")
    go(world, TIMEOUT - 60)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    go(world, 90)
    assert versions(world) == [TWO] * 4


def test_a_stop_midway_and_a_start_continue_with_the_canary() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    world.change(state="Stopped")
    go(world, 2 * TIMEOUT)
    world.change(state="Running")
    world.settle(60.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert pending(world).startswith("True CanaryRunning")
    go(world, TIMEOUT + 30)
    assert versions(world) == [TWO] * 4


def test_a_version_that_is_changed_while_nothing_runs_starts_in_all_tasks_and_the_old_one_in_none() -> None:
    world = four()
    world.change(state="Stopped")
    world.settle(60.0)
    assert world.status["state"] == "Stopped"
    lives = len(world.lives)
    world.change(version=TWO, state="Running")
    for _ in range(40):
        world.reconcile()
        living = [p for p in world.pods.values() if isinstance(p, TaskPod) and p.phase is not Phase.ENDED]
        assert all(p.plugin_versions == ("ticker-2.0.0",) for p in living)
        world.tick()
    assert versions(world) == [TWO] * 4
    assert len(world.lives) == lives + 4
    assert pending(world) == "absent"


def test_a_version_that_is_refused_while_nothing_runs_leaves_the_last_good_one() -> None:
    world = four()
    world.change(state="Stopped")
    world.settle(60.0)
    world.plugin = lambda _: ["file"]
    world.change(version=TWO, state="Running")
    world.settle(60.0)
    assert world.condition("ConfigValid").startswith("False")
    assert versions(world) == [ONE] * 4


def test_a_restart_midway_restarts_all_together_each_on_its_own_version_and_not_again_when_the_others_follow() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    go(world, TIMEOUT / 2)
    lives = len(world.lives)
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle(60.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert len(world.lives) == lives + 4
    go(world, TIMEOUT + 30)
    assert versions(world) == [TWO] * 4
    assert len(world.lives) == lives + 4 + 3


def test_a_restart_starts_a_canary_again_that_has_failed_for_good_and_the_way_back_ends_nothing_else() -> None:
    world = four(restart={"maxRestarts": 0})
    world.change(version=TWO)
    world.settle(20.0)
    fail(world)
    go(world, 60)
    assert world.condition("Stalled").startswith("True TasksFailed")
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle(60.0)
    assert world.condition("Ready").startswith("True")
    assert versions(world) == [TWO, ONE, ONE, ONE]
    lives = len(world.lives)
    world.change(version=ONE)
    world.settle(60.0)
    assert versions(world) == [ONE] * 4
    assert len(world.lives) == lives + 1


def test_a_version_and_a_restart_that_come_together_have_a_canary_also_when_its_plan_is_there() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    world.change(version=ONE)
    go(world, 3600)
    world.change(version=TWO)
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle(100.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert pending(world).startswith("True CanaryRunning")
    go(world, TIMEOUT)
    assert versions(world) == [TWO] * 4


def test_going_back_waits_for_no_plan_of_a_release() -> None:
    world = four(restart={"maxRestarts": 0})
    world.change(version=TWO)
    world.settle(20.0)
    fail(world)
    go(world, 30)
    world.slot = False
    world.values = {"images": {"runtime": "runtime:2"}}
    world.start_operator()
    world.change(version=ONE)
    go(world, 120)
    assert versions(world) == [ONE] * 4
    assert "canary" not in world.status["operatorState"]
    assert "Canary" not in pending(world)


@pytest.mark.parametrize("first", [{"restart": "a"}, None], ids=["a restart", "another number of tasks"])
def test_a_version_that_is_changed_while_the_tasks_restart_has_a_canary_where_there_can_be_one(
    first: dict[str, str] | None,
) -> None:
    world = four()
    if first is None:
        world.change(tasksMax=6)
    else:
        world.annotations = {f"penstock.dev/{name}": token for name, token in first.items()}
    while not any(t["state"] == "Restarting" for t in world.status["tasks"]):
        world.reconcile()
        world.tick()
    world.change(version=TWO)
    world.settle(60.0)
    assert versions(world) == [TWO, *[ONE] * (3 if first else 5)]
    assert pending(world).startswith("True CanaryRunning")


def test_midway_neither_a_newer_nor_a_deleted_plugin_version_changes_what_runs() -> None:
    world = running(("ticker", ONE), version="[1,3)", tasksMax=4, rollout={"canaryTasks": 1, "canaryDuration": "5m"})
    apply(world, "ticker", TWO)
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle(60.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    lives = len(world.lives)
    apply(world, "ticker", "2.5.0")
    world.settle(30.0)
    for version in (TWO, "2.5.0"):
        world.server.remove(PLUGIN_VERSION, KEY.namespace, f"ticker-{version}")
    world.settle(30.0)
    world.plugin = _same_split(world)
    world.change(config={"transforms": "t", "transforms.t.type": "HoistField$Value"})
    world.settle(30.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert world.condition("ConfigValid").startswith("True")
    assert len(world.lives) == lives + 1  # the canary has the transform
    go(world, TIMEOUT + 30)
    assert versions(world) == [TWO] * 4


def test_another_class_waits_for_no_canary_of_the_class_before() -> None:
    world = four(restart={"maxRestarts": 0})
    world.change(version=TWO)
    world.settle(20.0)
    fail(world)
    spec = {"plugin": "tocker", "version": "7.0.0", "image": image("7.0.0")}
    document = {"apiVersion": PLUGIN_VERSION.api_version, "kind": PLUGIN_VERSION.kind}
    classes = [{"alias": "Tocker", "type": "source"}]
    metadata = {"name": "tocker-7.0.0", "namespace": KEY.namespace}
    world.server.add({**document, "metadata": metadata, "spec": {**spec, "classes": classes}})
    world.change(**{"class": "Tocker", "version": "7.0.0"})
    world.settle(60.0)
    assert versions(world) == ["7.0.0"] * 4
    assert pending(world) == "absent"
    assert "rollout" not in world.condition("ConfigValid")


def test_tasks_that_are_prepared_again_midway_keep_their_versions() -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    world.prepare()  # a job pod of its own that came late has shut out all
    for number in range(4):
        world.end(world.task(number).name, 6)
    world.settle(120.0)
    assert world.condition("Ready").startswith("True")
    assert versions(world) == [TWO, ONE, ONE, ONE]


def test_a_source_that_the_new_version_splits_otherwise_gets_no_canary_and_is_reported() -> None:
    world = four()
    before = world.plugin

    def plugin(connector: Any) -> JobAnswer | list[str]:
        answer = before(connector)
        assert isinstance(answer, JobAnswer)
        assert answer.plan is not None
        split = f"of {answer.plan.version}"
        return answer.model_copy(update={"plan": answer.plan.model_copy(update={"split": split})})

    world.plugin = plugin
    world.change(version=TWO)
    world.settle(60.0)
    assert versions(world) == [TWO] * 4
    assert world.condition("ConfigValid").endswith(
        "spec.rollout: the change to ticker-2.0.0 had no canary, because it distributes the source among the tasks "
        "differently, and two tasks must never read the same part at the same time"
    )
    world.change(version=ONE)
    world.settle(60.0)
    assert versions(world) == [ONE] * 4


@pytest.mark.parametrize(("canary", "tasks"), [(0, 4), (4, 4), (9, 2), (1, 1)])
def test_without_a_canary_all_change_together(canary: int, tasks: int) -> None:
    world = four(canary, tasks)
    world.change(version=TWO)
    world.settle(20.0)
    assert versions(world) == [TWO] * tasks
    assert pending(world) == "absent"
    assert "rollout" not in world.condition("ConfigValid")


def test_several_canaries_must_all_do_well_and_a_change_of_their_number_counts_immediately() -> None:
    world = four(2)
    world.change(version=TWO)
    world.settle(20.0)
    assert versions(world) == [TWO, TWO, ONE, ONE]
    assert "tasks 0 to 1 run" in pending(world)
    go(world, TIMEOUT - 60)
    fail(world, 1)
    go(world, 120)
    assert versions(world) == [TWO, TWO, ONE, ONE]
    world.change(rollout={"canaryTasks": 3, "canaryDuration": "5m"})
    world.settle(20.0)
    assert versions(world) == [TWO, TWO, TWO, ONE]
    world.change(rollout={"canaryTasks": 0})
    world.settle(20.0)
    assert versions(world) == [TWO] * 4


@pytest.mark.parametrize("canary", [0, 4])
def test_a_wrong_configuration_with_no_canary_any_more_leaves_the_canaries_that_there_are(canary: int) -> None:
    world = four()
    world.change(version=TWO)
    world.settle(20.0)
    lives, world.plugin = list(world.lives), lambda _: ["file"]
    world.change(config={"file": "/wrong"}, rollout={"canaryTasks": canary})
    world.settle(60.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]
    assert world.lives == lives


def test_another_version_after_a_stop_midway_comes_to_all() -> None:
    world = four()
    apply(world, "ticker", "3.0.0")
    world.change(version=TWO)
    world.settle(20.0)
    world.change(state="Stopped")
    world.settle(60.0)
    world.change(version="3.0.0", state="Running")
    world.settle(60.0)
    assert versions(world) == ["3.0.0"] * 4


def test_the_way_back_from_a_version_that_has_failed_in_all_tasks_has_no_canary() -> None:
    world = four(0, restart={"maxRestarts": 0})
    world.change(version=TWO)
    world.settle(20.0)
    for number in range(4):
        fail(world, number)
    world.change(version=ONE, rollout={"canaryTasks": 1})
    world.settle(30.0)
    assert versions(world) == [ONE] * 4
    assert world.condition("Ready").startswith("True")


def test_another_spelling_of_the_class_is_no_other_plugin() -> None:
    world = four()
    world.change(**{"class": "TickerConnector"}, version=TWO)
    world.settle(30.0)
    assert versions(world) == [TWO, ONE, ONE, ONE]


def test_a_third_version_replaces_the_canary() -> None:
    world = four()
    apply(world, "ticker", "3.0.0")
    world.change(version=TWO)
    world.settle(20.0)
    fail(world)
    world.change(version="3.0.0")
    world.settle(30.0)
    assert versions(world) == ["3.0.0", ONE, ONE, ONE]
    assert pending(world).startswith("True CanaryRunning")
    go(world, TIMEOUT + 30)
    assert versions(world) == ["3.0.0"] * 4


def test_a_change_without_other_versions_reaches_all_together() -> None:
    world = four(config={"file": "/a"})
    world.change(config={"file": "/b"})
    world.settle(30.0)
    assert {n for n in world.lives if n.endswith("-2")} == {f"orders-in-{n}-2" for n in range(4)}
    assert pending(world) == "absent"


def _same_split(world: World) -> Any:
    """Its plugin, which from now on splits whatever configuration as the present one."""
    plugin, split = world.plugin, world.plans[-1].split

    def answer(connector: Any) -> JobAnswer | list[str]:
        found = plugin(connector)
        assert isinstance(found, JobAnswer)
        assert found.plan is not None
        plan = found.plan.model_copy(update={"split": split})
        return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=plan)

    return answer


def test_two_versions_are_never_in_the_pods_of_one_task() -> None:
    world = four()
    world.change(version=TWO)
    for _ in range(60):
        world.reconcile()
        living = [p for p in world.pods.values() if isinstance(p, TaskPod) and p.phase is not Phase.ENDED]
        assert len({p.task for p in living}) == len(living)
        assert all(p.plugin_versions == ("ticker-1.0.0",) for p in living if p.task)
        assert {v for p in living for v in p.plugin_versions} <= {*world.status["pluginVersions"]}
        world.tick()
