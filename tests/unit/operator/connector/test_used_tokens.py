"""A token of an annotation works once under a Connect name, also for a Connector that is made again from a backup."""

import json
from typing import Any

import pytest

from penstock_model.contracts.job import Action
from penstock_model.contracts.task_reports import UsedTokens, used_tokens_key
from penstock_operator.kubernetes.times import instant

from .world.world import World

NAME = "shop.orders-in"
POSITIONS = json.dumps({"offsets": [{"partition": {"filename": "/data/a"}, "offset": {"position": 7}}]})
RESET = {"penstock.dev/reset-offsets": "r1"}
ALTER = {"penstock.dev/alter-offsets": f"a1 {POSITIONS}"}
RESET_TOPICS = {"penstock.dev/reset-topics": "t1"}


def stopped(annotations: dict[str, str]) -> World:
    """A Connector that has run, is stopped, and has done what its annotations ask for."""
    world = World()
    world.settle()
    world.change(state="Stopped")
    world.settle()
    world.annotations = annotations
    world.settle()
    return world


def restored(before: World, annotations: dict[str, str] | None = None, *, seen: bool = True) -> World:
    """The Connector from its backup: the annotations of before, another uid, no status, and the same Kafka."""
    world = World(spec={"state": "Stopped"})
    world.annotations = before.annotations if annotations is None else annotations
    tokens = before.topic.used_tokens(NAME).tokens
    earlier = UsedTokens(tokens=tuple(t.model_copy(update={"connector_uid": "earlier"}) for t in tokens))
    if not seen:
        world.topic.caught_up = False
        world.topic.fall_behind()
    world.topic.put(used_tokens_key(NAME), earlier.to_value())
    world.settle()
    return world


def actions(world: World) -> list[tuple[str, str, str]]:
    return [(a["action"], a["token"], a["result"]) for a in world.status.get("offsetsActions", ())]


def jobs(world: World) -> list[Any]:
    return [r for r in world.requests.values() if r.action is Action.OFFSETS]


@pytest.mark.parametrize(
    ("annotations", "action"), [(RESET, "reset"), (ALTER, "alter"), (RESET_TOPICS, "reset-topics")]
)
def test_what_was_done_once_is_not_done_again_after_a_restore_without_status(
    annotations: dict[str, str], action: str
) -> None:
    before = stopped(annotations)
    ((name, token, result),) = actions(before)
    assert (name, result) == (action, "Succeeded")
    world = restored(before)
    assert actions(world) == [(action, token, "Refused")]
    (told,) = world.status["offsetsActions"]
    assert told["message"].startswith("nothing was done: an earlier Connector of this name has already used this token")
    assert jobs(world) == []
    assert used_tokens_key(NAME) not in [key for key, _ in world.topic.written]


def test_a_new_token_works_after_a_restore() -> None:
    world = restored(stopped(RESET))
    world.annotations = {"penstock.dev/reset-offsets": "r2"}
    world.settle()
    assert actions(world)[-1] == ("reset", "r2", "Succeeded")
    assert [t.token for t in world.topic.used_tokens(NAME).tokens] == ["r1", "r2"]


def test_a_used_token_with_other_positions_is_refused_after_a_restore() -> None:
    other = {"penstock.dev/alter-offsets": f"a1 {POSITIONS.replace('7', '8')}"}
    world = restored(stopped(ALTER), other)
    assert actions(world) == [("alter", "a1", "Refused")]
    assert "this token was used with other JSON" in world.status["offsetsActions"][0]["message"]


def test_a_restored_connector_waits_until_the_tokens_of_before_are_read() -> None:
    world = restored(stopped(RESET), seen=False)
    assert actions(world) == [("reset", "r1", "Pending")]
    world.topic.catch_up()
    world.topic.caught_up = True
    world.settle()
    assert actions(world) == [("reset", "r1", "Refused")]
    assert jobs(world) == []


def test_a_token_is_recorded_before_its_pod_is_created_and_outlives_the_connector() -> None:
    world = stopped({})
    world.annotations = RESET
    jobs_at_write: list[int] = []
    world.topic.before_write = lambda: jobs_at_write.append(len(jobs(world)))
    world.settle()
    assert jobs_at_write[0] == 0
    world.topic.forget(NAME)  # as when a Connector is deleted
    assert [t.token for t in world.topic.used_tokens(NAME).tokens] == ["r1"]


def test_a_token_that_is_recorded_late_keeps_the_time_of_its_use() -> None:
    world = stopped(RESET)
    (used,) = world.topic.used_tokens(NAME).tokens
    world.topic.put(used_tokens_key(NAME), None)  # as after an upgrade from a release that kept no record
    at = instant(world.status["offsetsActions"][0]["at"])
    world.advance(86_400)
    world.settle()
    (late,) = world.topic.used_tokens(NAME).tokens
    assert (late.token, late.at) == (used.token, at)


def test_a_list_is_made_again_after_a_restore() -> None:
    assert stopped({"penstock.dev/list-offsets": "l1"}).topic.used_tokens(NAME).tokens == ()
