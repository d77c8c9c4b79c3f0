"""References to Secrets: how many are looked at, what a text full of them costs, and what comes of the way they are seen."""

from typing import Any

import pytest

from penstock_operator.connector.model.plan_hashes import is_own_change
from penstock_operator.connector.model.secrets import references, too_many, with_namespace
from penstock_operator.rollout.progress import GRANTED, Permission

from .world.world import World


def naming(secrets: int) -> dict[str, str]:
    return {"a": "".join(f"${{secret:s{n}:key}}" for n in range(secrets)), "b": "${secret:s0:other}"}


def test_a_configuration_that_names_more_secrets_than_are_looked_at_is_refused() -> None:
    assert too_many(naming(256)) == []
    assert too_many(naming(257)) == [
        "config refers to 257 Secrets, but the maximum is 256; put more keys into fewer Secrets"
    ]
    world = World(spec={"config": naming(257)})
    world.settle()
    assert world.pods == {}
    assert "refers to 257 Secrets" in world.condition("ConfigValid")


def test_a_text_full_of_beginnings_is_read_in_time() -> None:
    text = "${secret:a:" * 100_000 + "${secret:b:key}"  # in the square of its length this would take minutes
    assert with_namespace({"a": text}) == []
    assert len(references({"a": text}, {})) <= 1


def test_names_and_keys_as_long_as_kubernetes_has_them_are_found() -> None:
    name, key = "n" * 253, "k" * 253
    assert [(r.name, r.key) for r in references({"a": f"${{secret:{name}:{key}}}"}, {})] == [(name, key)]


WITH_SECRET = {"config": {"file": "/data/a", "topic": "orders", "password": "${secret:db:password}"}}
WITHOUT_SECRET = {"config": {"file": "/data/a", "topic": "orders"}}
DB, OTHER = {"db": {"password": "1"}}, {"db": {"password": "2"}, "other": {"password": "1"}}
UNSEEN = {"secrets": {"watch": False}}
TAKEN = Permission(False, "RolloutQueued", "waiting for its turn")


def running(values: dict[str, Any] | None = None, spec: dict[str, Any] = WITH_SECRET) -> World:
    """A connector under a release that has no place for a restart."""
    world = World(spec=spec, secrets=DB, values=values)
    world.settle()
    world.permission = TAKEN
    return world


@pytest.mark.parametrize(("before", "key"), [(UNSEEN, b"one"), ({}, b"two")], ids=["looks-now", "another-key"])
def test_the_way_in_which_a_release_looks_at_secrets_restarts_connectors_in_turn(
    before: dict[str, Any], key: bytes
) -> None:
    world = running(before)
    world.values, world.hmac_key = {}, key
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.condition("UpdatePending").startswith("True RolloutQueued")
    world.permission = GRANTED
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_a_release_that_looks_at_secrets_no_more_restarts_nothing_and_nothing_when_it_looks_again() -> None:
    world = running()
    world.permission = GRANTED
    for values in (UNSEEN, {}, UNSEEN):
        world.values = values
        world.settle()
    assert world.lives == ["orders-in-0-1"]
    world.permission = TAKEN
    world.values = {**UNSEEN, "images": {"runtime": "runtime:2"}}
    world.settle()
    assert world.lives == ["orders-in-0-1"]


def test_another_key_is_nothing_to_a_connector_that_names_no_secret() -> None:
    world = running(spec=WITHOUT_SECRET)
    world.permission = GRANTED
    world.hmac_key = b"two"
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert len(world.plans) == 1


@pytest.mark.parametrize("name", ["db", "other"])
def test_a_change_of_a_connectors_own_waits_for_nobody_whatever_the_release_does(name: str) -> None:
    world = running()
    world.secrets = OTHER
    if name == "other":
        world.hmac_key = b"two"
        world.change(config={"file": "/data/b", "topic": "orders", "password": "${secret:other:password}"})
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_a_connector_that_was_never_planned_is_changed_and_one_that_is_as_it_was_is_not() -> None:
    now = "0123456789abcdef:k.one"
    assert is_own_change("", now)
    assert not is_own_change(now, now)
