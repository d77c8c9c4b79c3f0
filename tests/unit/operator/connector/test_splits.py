"""A source whose tasks get other properties: a part may become another task's, which never begins beside the old one.

Kafka Connect fences for each new set of task configurations, too (KIP-618); a version that splits otherwise is one.
"""

import json
from dataclasses import replace
from typing import Any

import pytest

from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.resources.connector import Connector
from penstock_operator import names
from penstock_operator.connector.model.plan_config_map import config_map_of, plan_of
from penstock_operator.connector.model.pod_status import Phase, TaskPod
from penstock_operator.kubernetes.kinds import CONFIG_MAP

from .world.cluster import KEY
from .world.plugins import Plugin, tasks_of
from .world.world import World


def plugin(kind: str = "source") -> Plugin:
    """It splits by the property `own`, and by nothing else."""

    def answer(connector: Connector) -> JobAnswer | list[str]:
        config = dict(connector.spec.config)
        found = tasks_of(connector.spec.tasks_max, **config)
        tasks = tuple(TaskSpec(**{**t.model_dump(), "kind": kind}) for t in found.tasks)
        found = found.model_copy(update={"kind": kind, "tasks": tasks, "split": f"by {config.get('own')}"})
        return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=found)

    return answer


def running(kind: str = "source", **spec: Any) -> World:
    world = World(spec={"tasksMax": 2, "config": {"own": "a", "x": "1"}, **spec}, plugin=plugin(kind))
    world.settle()
    assert world.condition("Ready").startswith("True")
    return world


def change(world: World, **config: str) -> list[set[str]]:
    """Change the configuration, and let all go its way; the names of living tasks' pods, each time another set lives."""
    world.change(config=config)
    seen: list[set[str]] = []
    for _ in range(100):
        world.reconcile()
        world.tick()
        living = {p.name for p in world.pods.values() if isinstance(p, TaskPod) and p.phase is not Phase.ENDED}
        if living not in seen:
            seen.append(living)
    assert world.condition("Ready").startswith("True")
    return seen


@pytest.mark.parametrize(
    ("tasks", "because"),
    [(1, "restarts for a change of configuration"), (2, "restarts together with the other tasks")],
)
def test_a_task_restarts_together_with_others_only_if_there_are_others(tasks: int, because: str) -> None:
    world = running(tasksMax=tasks)
    world.plugin = plugin("sink")
    world.change(config={"own": "b"})
    said = set()
    for _ in range(100):
        world.reconcile()
        said |= {t.get("message") for t in world.status["tasks"] if t["state"] == "Restarting"}
        world.tick()
    assert because in said
    assert any("restarted together" in e.message for e in world.events) is (tasks > 1)
    assert any("the task is restarted; waiting for" in e.message for e in world.events) is (tasks == 1)


def prepared(world: World) -> int:
    return sum(r.action is Action.PREPARE for r in world.requests.values())


def test_tasks_of_another_split_begin_when_all_old_ones_have_ended_and_are_fenced() -> None:
    world = running()
    seen = change(world, own="b", x="1")
    assert set() in seen
    assert not any({"orders-in-0-1", "orders-in-1-1"} & s and {"orders-in-0-2", "orders-in-1-2"} & s for s in seen)
    assert prepared(world) == 1


@pytest.mark.parametrize(
    ("kind", "most", "config"),
    [
        ("source", 2, {"own": "a", "x": "2"}),
        ("source", 1, {"own": "b", "x": "1"}),
        ("sink", 2, {"own": "b", "x": "1"}),
    ],
    ids=["the same split", "one task, which has no other beside it", "a sink, whose group assigns partitions"],
)
def test_others_replace_each_other_one_by_one_without_a_gap_for_all(
    kind: str, most: int, config: dict[str, str]
) -> None:
    world = running(kind, tasksMax=most)
    change(world, **config)
    assert prepared(world) == 0
    assert len(world.lives) == 2 * most


def test_the_split_is_kept_with_the_plan_and_one_that_was_kept_without_it_has_the_fence_that_it_had() -> None:
    world = running()
    (plan,) = world.plans
    kept = config_map_of(plan, {"name": "x"})
    assert getattr(plan_of(kept), "split", None) == "by a"
    before = kept["data"]["plan.json"].replace('"split": "by a", ', "")
    old = plan_of({**kept, "data": {**kept["data"], "plan.json": before}})
    assert old is not None
    assert (old.split, old.hash) == ("", plan.hash)
    assert old.fence("x") == names.digest("x", "source", plan.class_name, 2) != plan.fence("x")


def test_plans_that_were_stored_without_what_plugins_were_chosen_by_continue_to_be_used() -> None:
    world = World(spec={"tasksMax": 2})
    world.settle()

    def without(document: dict[str, Any]) -> None:
        header = json.loads(document["data"]["plan.json"])
        del header["pluginRequests"], header["split"]
        document["data"]["plan.json"] = json.dumps(header)

    lives, fence = list(world.lives), replace(world.plans[-1], split="").fence(world.connect_name)
    own = world.status["operatorState"]
    world.status = {**world.status, "operatorState": {**own, "plan": {**own["plan"], "fence": fence}}}
    for document in world.server.list(CONFIG_MAP, KEY.namespace):
        if "plan.json" in document["data"]:
            world.server.edit(CONFIG_MAP, KEY.namespace, document["metadata"]["name"], without)
    world.start_operator()
    world.settle()
    assert world.lives == lives
