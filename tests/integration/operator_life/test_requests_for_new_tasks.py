"""A source whose streams are found when it is planned reads new ones by itself, with real tasks and an operator."""

import functools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ..journal import Journal
from ..lab import STRING, Lab
from ..running import Processes, until
from .world.answers import real
from .world.real_tasks import RealTasks
from .world.site import Site, is_settled

pytestmark = pytest.mark.slow

SOON = 240.0
"""Seconds: a task looks for streams once a minute, and asks once a minute at most."""


def test_a_new_stream_is_read_by_a_task_of_its_own_without_anybodys_doing(
    make_site: Callable[..., Site], processes: Processes, journal: Journal, tmp_path: Path
) -> None:
    node = functools.partial(RealTasks, processes=processes, folder=tmp_path)
    life = make_site(answers=real, workers=8, node=node)
    life.operator().start()
    lab = Lab(life.servers, processes, journal)
    topic, names = lab.topic(), tmp_path / "names"
    names.write_text("a b")

    def has_tasks(count: int) -> Callable[[Any], bool]:
        return lambda body: is_settled(body) and len(body["status"]["tasks"]) == count

    config = {**STRING, "topic": topic, "list": str(names)}
    connector: dict[str, Any] = {"class": "function_plugins:listed"}
    life.create("orders", **connector, tasksMax=4, config=config)
    life.until("orders", has_tasks(2), "two streams")
    names.write_text("a b c")
    body = life.until("orders", has_tasks(3), "three streams", SOON)
    assert sorted(lab.values(topic)) == ["a", "b", "c"]
    assert body["status"]["operatorState"]["plan"]["asked"]
    events = life.api.list("events.k8s.io/v1", "Event", life.namespace)
    assert any(e["reason"] == "ReconfigurationRequested" for e in events)
    life.check()


def test_a_table_that_is_dropped_stops_no_task_and_is_in_the_status_until_it_is_back(
    make_site: Callable[..., Site], processes: Processes, journal: Journal, tmp_path: Path
) -> None:
    node = functools.partial(RealTasks, processes=processes, folder=tmp_path)
    life = make_site(answers=real, workers=8, node=node)
    life.operator().start()
    lab = Lab(life.servers, processes, journal)
    prefix, shop = lab.topic(), tmp_path / "shop.db"

    def run(statement: str) -> None:
        with closing(sqlite3.connect(shop, isolation_level=None)) as database:
            database.execute(statement)

    for name in ("a", "b"):
        run(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY)")
    config = {
        **STRING, "connection.url": f"jdbc:sqlite:{shop}", "mode": "incrementing", "incrementing.column.name": "id",
        "topic.prefix": prefix, "table.whitelist": "a,b", "poll.interval.ms": "100", "table.poll.interval.ms": "1000",
        "topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "1",
    }  # fmt: skip
    life.create("orders", **{"class": "SqlSource"}, tasksMax=1, config=config)
    life.until("orders", is_settled, "two tables")
    pods = {task["pod"] for task in life.get("orders")["status"]["tasks"]}
    run("DROP TABLE a")

    def names_a(body: Any) -> bool:
        told = {each["type"]: each for each in body["status"]["conditions"]}["ConfigValid"]
        return told["status"] == "False" and "table.whitelist names a, which" in told["message"]

    life.until("orders", names_a, "the missing table in the status", SOON)
    run("INSERT INTO b VALUES (1)")
    until(lambda: len(lab.values(f"{prefix}b")) == 1, what=lambda: "rows of the other table")
    run("CREATE TABLE a (id INTEGER PRIMARY KEY)")
    run("INSERT INTO a VALUES (1)")
    until(lambda: len(lab.values(f"{prefix}a")) == 1, what=lambda: "rows of the table that is back")
    body = life.until("orders", is_settled, "all as before", SOON)
    assert {task["pod"] for task in body["status"]["tasks"]} == pods, "no task was replaced"
    life.check()
