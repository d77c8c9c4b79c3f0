"""A source whose streams are found when it is planned reads new ones by itself, with real tasks and an operator."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..journal import Journal
from ..lab import STRING, Lab
from ..running import Processes
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
    assert body["status"]["plan"]["asked"]
    events = life.api.list("events.k8s.io/v1", "Event", life.namespace)
    assert any(e["reason"] == "ReconfigurationRequested" for e in events)
    life.check()
