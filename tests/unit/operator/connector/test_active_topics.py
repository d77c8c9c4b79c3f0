"""The active topics of a Connector in its status and in the metrics (KIP-558): only another set of names is news."""

from typing import Any

import pytest

from penstock_model.connect.status_records import topic_status
from penstock_operator.connector.render.metrics import figures

from .world.world import World

NAME = "shop.orders-in"
AT = 1_790_000_000


def use(world: World, *topics: str, task: int = 0, at: int = AT) -> None:
    """A task tells that it has used topics."""
    for topic in topics:
        world.topic.put(*topic_status(topic, NAME, task, at * 1000))
    world.settle()


def told(world: World) -> list[tuple[str, int, str]]:
    return [(t["name"], t["task"], t["since"]) for t in world.status.get("activeTopics", ())]


def running(**more: Any) -> World:
    world = World(**more)
    world.settle()
    return world


def restart_operator(world: World) -> None:
    world.start_operator()
    world.settle()


def test_the_topics_that_a_connector_has_used_are_reported_by_name_with_since_when_and_by_which_task_first() -> None:
    world = running()
    assert world.status["activeTopicCount"] == 0
    use(world, "orders", "items")
    assert told(world) == [("items", 0, "2026-09-21T14:13:20Z"), ("orders", 0, "2026-09-21T14:13:20Z")]
    assert world.status["activeTopicCount"] == 2


def test_what_is_recorded_again_by_other_tasks_lives_or_operators_changes_no_status() -> None:
    world = running()
    use(world, "orders")
    before, writes = told(world), world.status_writes
    use(world, "orders", task=1, at=AT + 500)
    restart_operator(world)
    # The topic was compacted meanwhile: the earlier record is gone, and the status alone knows of it.
    world.topic.put(f"status-topic-orders:connector-{NAME}".encode(), None)
    world.topic.put(*topic_status("orders", NAME, 3, (AT + 900) * 1000))
    world.settle()
    assert (told(world), world.status_writes) == (before, writes)
    use(world, "items", at=AT + 1000)
    assert [name for name, _, _ in told(world)] == ["items", "orders"]
    assert told(world)[1] == before[0]


@pytest.mark.parametrize("state", ["Paused", "Stopped"])
def test_pause_stop_restart_and_another_configuration_keep_them(state: str) -> None:
    world = running()
    use(world, "orders")
    before = told(world)
    world.change(state=state)
    world.settle()
    assert told(world) == before
    world.change(state="Running", config={"file": "/data/b", "topic": "others"})
    world.settle()
    world.annotations = {"penstock.dev/restart": "again"}
    world.settle()
    assert told(world) == before


def test_while_topics_are_not_tracked_nothing_is_shown_and_what_was_recorded_comes_back_with_tracking() -> None:
    world = running()
    use(world, "orders")
    before = told(world)
    usual = world.values
    world.values = {"worker": {"bootstrap.servers": "kafka:9092", "topic.tracking.enable": "false"}}
    restart_operator(world)
    assert ("activeTopics" in world.status, "activeTopicCount" in world.status) == (False, False)
    assert figures(world.facts(), world.decide()).active_topics is None
    world.values = usual
    restart_operator(world)
    assert told(world) == before
    assert figures(world.facts(), world.decide()).active_topics == 1


def test_an_operator_that_has_not_read_them_yet_leaves_what_is_reported_as_it_is() -> None:
    world = running()
    use(world, *(f"t-{n:03}" for n in range(300)))
    before, count = told(world), world.status["activeTopicCount"]
    assert (len(before), count) == (200, 300)
    world.topic.caught_up = False
    world.topic.put(f"status-topic-t-000:connector-{NAME}".encode(), None)
    restart_operator(world)
    assert (told(world), world.status["activeTopicCount"]) == (before, 300)


def test_a_connector_that_is_recreated_begins_without_those_of_the_one_before() -> None:
    world = running()
    use(world, "orders")
    world.delete()
    world.settle()
    assert world.topic.active_topics(NAME) == []
