"""A plugin that requests a task reconfiguration, because new tables appear while it runs (`requestTaskReconfiguration`)."""

from typing import Any

import pytest

from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.contracts.task_reports import Report
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.plan_hashes import latest_request

from .world.plugins import Plugin, tasks_of
from .world.world import World

NOW = 1_800_000_000_000


class Tables:
    """What the outside system has; the plugin splits it over as many tasks as there are tables."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked = 0

    @property
    def plugin(self) -> Plugin:
        def answer(connector: Connector) -> JobAnswer | list[str]:
            self.asked += 1
            found = tasks_of(min(self.count, connector.spec.tasks_max))
            found = found.model_copy(update={"split": f"{self.count} tables"})
            return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=found)

        return answer


def running(tables: Tables, **more: Any) -> World:
    world = World(spec={"tasksMax": 4}, plugin=tables.plugin, **more)
    world.settle()
    assert world.condition("Ready").startswith("True")
    return world


def ask(world: World, what: str, *, task: int = 0, at: int = NOW) -> None:
    """The plugin of a task asks."""
    reports = dict(world.reports)
    reports[task] = reports[task].model_copy(update={"asked": f"{at} {what}"})
    world.reports = reports
    world.settle()


def requests(world: World) -> int:
    """Events about requests; equal ones are one."""
    return sum(e.reason == "ReconfigurationRequested" for e in world.events)


def test_new_tables_become_new_tasks_and_the_same_request_acts_once() -> None:
    tables = Tables(2)
    world = running(tables)
    tables.count = 3
    ask(world, "aa")
    assert world.condition("Ready").startswith("True")
    assert len(world.status["tasks"]) == 3
    assert (tables.asked, requests(world)) == (2, 1)
    ask(world, "aa", at=NOW + 60_000)
    world.start_operator()
    world.settle()
    assert (tables.asked, requests(world)) == (2, 1)


def test_a_request_that_changes_no_task_restarts_none() -> None:
    tables = Tables(2)
    world = running(tables)
    lives = list(world.lives)
    ask(world, "aa")
    assert tables.asked == 2
    assert world.lives == lives
    assert world.condition("Ready").startswith("True")


def test_a_task_that_was_replaced_and_asks_no_more_takes_nothing_back() -> None:
    tables = Tables(1)
    world = running(tables)
    tables.count = 2
    ask(world, "aa")
    asked = tables.asked
    world.delete_pod(world.task(0).name)
    world.settle()
    assert world.reports[0].asked is None
    assert tables.asked == asked
    assert len(world.status["tasks"]) == 2


def test_requests_of_several_tasks_and_back_and_forth_each_count_once() -> None:
    tables = Tables(2)
    world = running(tables)
    for task, what in ((0, "aa"), (1, "bb"), (0, "aa")):
        at = NOW + tables.asked
        ask(world, what, task=task, at=at)
        assert world.status["operatorState"]["plan"]["asked"] == f"{at} {what}"
    assert tables.asked == 4
    assert world.condition("Ready").startswith("True")


def test_a_request_waits_for_no_release_and_stays_when_the_spec_changes() -> None:
    tables = Tables(2)
    world = running(tables)
    tables.count = 3
    ask(world, "aa")
    world.change(config={"x": "2"})
    world.settle()
    assert len(world.status["tasks"]) == 3
    assert world.status["operatorState"]["plan"]["asked"] == f"{NOW} aa"


def test_a_refusal_after_a_request_leaves_the_tasks_as_they_are() -> None:
    tables = Tables(2)
    refusing = [False]

    def answer(connector: Connector) -> JobAnswer | list[str]:
        return ["table: the database is away"] if refusing[0] else tables.plugin(connector)

    world = World(spec={"tasksMax": 4}, plugin=answer)
    world.settle()
    lives = list(world.lives)
    refusing[0] = True
    ask(world, "aa")
    assert "the database is away" in world.condition("ConfigValid")
    assert world.lives == lives
    refusing[0] = False
    tables.count = 3
    ask(world, "aa", at=NOW + 600_000)  # the task goes on asking
    assert world.condition("Ready").startswith("True")
    assert len(world.status["tasks"]) == 3


@pytest.mark.parametrize(
    ("before", "asked", "latest"),
    [
        ("", [None, None], ""),
        ("", [f"{NOW} aa", None], f"{NOW} aa"),
        (f"{NOW} aa", [None], f"{NOW} aa"),
        (f"{NOW} aa", [f"{NOW + 5} aa"], f"{NOW} aa"),
        (f"{NOW + 9} bb", [f"{NOW} aa"], f"{NOW + 9} bb"),
        (f"{NOW} aa", [f"{NOW + 1} bb", f"{NOW + 2} cc"], f"{NOW + 2} cc"),
        (f"{NOW} aa", [f"{NOW + 1} bb", f"{NOW + 2} aa"], f"{NOW + 1} bb"),
    ],
)
def test_the_latest_request_counts_unless_it_asks_for_the_same(
    before: str, asked: list[str | None], latest: str
) -> None:
    epoch = {"generation": 1, "plan": "p"}
    reports = [
        Report.model_validate(
            {
                "connector": "c",
                "connectorUid": "u",
                "podUid": "p",
                "task": n,
                "epoch": epoch,
                "incarnation": 1,
                "state": "RUNNING",
                "acted": 1,
                "since": 1,
                "asked": a,
            }
        )
        for n, a in enumerate(asked)
    ]
    assert latest_request(before, reports) == latest
