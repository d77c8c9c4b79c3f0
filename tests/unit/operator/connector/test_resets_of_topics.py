"""A reset of the active topics that an annotation asks for: in any state, once, done only when Kafka has it (KIP-558)."""

from typing import Any

import pytest

from penstock_model.connect.status_records import topic_status
from penstock_model.contracts.task_reports import Control, control_key
from penstock_model.contracts.task_spec import TaskState
from penstock_operator.key import Key

from .test_active_topics import NAME, running, told, use
from .world.cluster import UID
from .world.world import Killed, World

RESET = "penstock.dev/reset-topics"
DONE = "the active topics have been reset; topics in use reappear with their next record"


def ask(world: World, token: str = "r1") -> None:
    world.annotations = {**world.annotations, RESET: token}


def results(world: World) -> list[tuple[str, str, str]]:
    return [(a["token"], a["result"], a["message"]) for a in world.status.get("offsetsActions", ())]


def mark(world: World) -> str | None:
    control = world.topic.control(NAME)
    return None if control is None else control.topics_reset


@pytest.mark.parametrize("state", ["Running", "Paused", "Stopped"])
def test_topics_are_forgotten_once_per_token_in_any_state_and_used_ones_come_back_with_a_new_since(state: str) -> None:
    world = running()
    use(world, "orders", "unused")
    world.change(state=state)
    world.settle()
    lives = list(world.lives)
    ask(world)
    world.settle()
    assert results(world) == [("r1", "Succeeded", DONE)]
    assert (told(world), world.status["activeTopicCount"], world.topic.active_topics(NAME)) == ([], 0, [])
    first = mark(world)
    assert first
    assert world.lives == lives
    use(world, "orders", at=int(world.now) + 5)  # as tasks do that are told of the reset
    assert [name for name, _, _ in told(world)] == ["orders"]
    world.advance(600)
    world.settle()
    assert (mark(world), [name for name, _, _ in told(world)]) == (first, ["orders"])
    ask(world, "r2")
    world.settle()
    assert [r[:2] for r in results(world)] == [("r1", "Succeeded"), ("r2", "Succeeded")]
    assert mark(world) not in (first, None)
    assert told(world) == []


def test_a_topic_that_comes_back_before_the_status_was_written_has_its_new_since_all_the_same() -> None:
    world = running()
    use(world, "orders")
    write, (key, value) = world.topic.reset_topics, topic_status("orders", NAME, 0, int(world.now + 1) * 1000)

    def and_used(connector: str, control: Control) -> None:
        write(connector, control)
        world.advance(1)
        world.topic.put(key, value)

    world.topic.reset_topics = and_used  # type: ignore[method-assign]
    ask(world)
    world.settle()
    ((_, _, since),) = told(world)
    assert since != "2026-09-21T14:13:20Z"


@pytest.mark.parametrize(
    ("worker", "sentence"),
    [
        ({"topic.tracking.allow.reset": "false"}, "Topic tracking reset is disabled."),
        ({"topic.tracking.enable": "false"}, "Topic tracking is disabled."),
    ],
)
def test_where_the_worker_does_not_allow_it_it_is_refused_in_connects_words(
    worker: dict[str, Any], sentence: str
) -> None:
    world = running(values={"worker": {"bootstrap.servers": "kafka:9092", **worker}})
    use(world, "orders")
    ask(world)
    world.settle()
    assert results(world) == [("r1", "Refused", sentence)]
    assert [t.name for t in world.topic.active_topics(NAME)] == ["orders"]
    assert mark(world) is None
    assert [e.reason for e in world.events].count("OffsetsActionRefused") == 1


def test_what_is_no_token_is_refused() -> None:
    world = running()
    ask(world, "two words")
    world.settle()
    assert results(world)[0][1] == "Refused"
    assert "the value is not a token" in results(world)[0][2]


def test_while_kafka_is_unavailable_it_is_not_marked_as_done_and_is_done_when_kafka_is_back() -> None:
    world = running()
    use(world, "orders")
    world.topic.trouble = "Kafka at kafka:9092 does not answer"
    ask(world)
    world.settle(60)
    ((token, result, message),) = results(world)
    assert (token, result) == ("r1", "Pending")
    assert "the status topic has not been read yet" in message or "does not answer" in message
    world.topic.trouble = None
    world.settle()
    assert results(world) == [("r1", "Succeeded", DONE)]
    assert told(world) == []


@pytest.mark.parametrize("writes", range(8))
def test_an_operator_that_is_killed_anywhere_does_it_to_the_end(writes: int) -> None:
    world = running()
    use(world, "orders", "items")
    ask(world)
    world.kill_after = world.writes + writes
    for _ in range(20):
        try:
            world.settle()
        except Killed:
            continue
        break
    assert results(world) == [("r1", "Succeeded", DONE)]
    assert (told(world), world.topic.active_topics(NAME)) == ([], [])
    assert mark(world)


def test_a_pause_right_after_a_reset_keeps_it_for_tasks_that_have_not_seen_it() -> None:
    world = running()
    use(world, "orders")
    ask(world)
    world.change(state="Paused")
    world.settle()
    assert world.condition("Ready").startswith("True Paused")
    assert results(world) == [("r1", "Succeeded", DONE)]
    first = mark(world)
    world.change(state="Running")
    world.settle()
    control = world.topic.control(NAME)
    assert control is not None
    assert (control.state, control.topics_reset) == (TaskState.RUNNING, first)


def test_a_reset_changes_no_state_that_tasks_were_sent() -> None:
    world = running()
    ask(world)
    world.settle()
    assert world.topic.control(NAME) == Control(
        connector_uid=UID, generation=0, state=TaskState.RUNNING, topics_reset=mark(world)
    )
    assert world.condition("Ready").startswith("True Running")
    world.change(state="Paused")
    world.settle()
    before = world.topic.control(NAME)
    assert before is not None
    ask(world, "r2")
    world.settle()
    after = world.topic.control(NAME)
    assert after is not None
    assert after == before.model_copy(update={"topics_reset": mark(world)})


def test_the_topics_of_another_connector_that_has_the_name_are_left_untouched() -> None:
    world = running()
    use(world, "orders")
    world.rival = Key("shop", "older")
    ask(world)
    world.settle()
    ((_, result, message),) = results(world)
    assert (result, message.startswith("waiting: ")) == ("Pending", True)
    assert [t.name for t in world.topic.active_topics(NAME)] == ["orders"]
    assert mark(world) is None


def test_a_control_record_of_an_earlier_connector_of_the_name_is_no_sign_that_it_was_done() -> None:
    world = running()
    use(world, "orders")
    earlier = Control(connector_uid="earlier", generation=9, state=TaskState.PAUSED, topics_reset="mark")
    world.topic.put(control_key(NAME), earlier.to_value())
    ask(world)
    world.settle()
    assert results(world) == [("r1", "Succeeded", DONE)]
    control = world.topic.control(NAME)
    assert control is not None
    assert (control.connector_uid, control.state) == (UID, TaskState.RUNNING)
