"""References to Secrets: how many are looked at, what a text full of them costs, and what comes of the way they are seen."""

from dataclasses import replace

import pytest

from penstock_operator.connector.observe.secrets import Secrets, examine, references, too_many, with_namespace
from penstock_operator.connector.plans import is_other
from penstock_operator.rollout.progress import GRANTED, Permission

from .world import World


def naming(secrets: int) -> dict[str, str]:
    return {"a": "".join(f"${{secret:s{n}:key}}" for n in range(secrets)), "b": "${secret:s0:other}"}


def test_a_configuration_that_names_more_secrets_than_are_looked_at_is_refused() -> None:
    assert too_many(naming(256)) == []
    assert too_many(naming(257)) == ["config names 257 Secrets, and 256 are the most; have more keys in fewer Secrets"]
    world = World(spec={"config": naming(257)})
    world.settle()
    assert world.pods == {}
    assert "names 257 Secrets" in world.condition("ConfigValid")


def test_a_text_full_of_beginnings_is_read_in_time() -> None:
    text = "${secret:a:" * 100_000 + "${secret:b:key}"  # in the square of its length this would take minutes
    assert with_namespace({"a": text}) == []
    assert len(references({"a": text}, {})) <= 1


def test_names_and_keys_as_long_as_kubernetes_has_them_are_found() -> None:
    name, key = "n" * 253, "k" * 253
    assert [(r.name, r.key) for r in references({"a": f"${{secret:{name}:{key}}}"}, {})] == [(name, key)]


SEEN = Secrets(("db",), hash="one", key="a")
UNSEEN = Secrets(("db",))
OTHER_KEY = Secrets(("db",), hash="two", key="b")
TAKEN = Permission(False, "RolloutQueued", "waits for its turn")


def running(secrets: Secrets) -> World:
    """A connector under a release that has no place for a restart."""
    world = World(secrets=secrets)
    world.settle()
    world.permission = TAKEN
    return world


@pytest.mark.parametrize(("before", "after"), [(UNSEEN, SEEN), (SEEN, OTHER_KEY)], ids=["looks-now", "another-key"])
def test_the_way_in_which_a_release_looks_at_secrets_restarts_connectors_in_turn(
    before: Secrets, after: Secrets
) -> None:
    world = running(before)
    world.secrets = after
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.condition("UpdatePending").startswith("True RolloutQueued")
    world.permission = GRANTED
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_a_release_that_looks_at_secrets_no_more_restarts_nothing_and_nothing_when_it_looks_again() -> None:
    world = running(SEEN)
    world.permission = GRANTED
    for secrets in (UNSEEN, SEEN, UNSEEN):
        world.secrets = secrets
        world.settle()
    assert world.lives == ["orders-in-0-1"]
    world.secrets, world.permission = UNSEEN, TAKEN
    world.values = {"images": {"runtime": "runtime:2"}}
    world.settle()
    assert world.lives == ["orders-in-0-1"]


def test_another_key_is_nothing_to_a_connector_that_names_no_secret() -> None:
    world = running(examine((), {}, b"one"))
    world.permission = GRANTED
    world.secrets = examine((), {}, b"two")
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert len(world.plans) == 1


@pytest.mark.parametrize("secrets", [replace(SEEN, hash="two"), replace(OTHER_KEY, names=("other",))])
def test_a_change_of_a_connectors_own_waits_for_nobody_whatever_the_release_does(secrets: Secrets) -> None:
    world = running(SEEN)
    world.secrets = secrets
    if secrets.key != SEEN.key:
        world.change(config={"file": "/data/b", "topic": "orders"})
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_what_an_earlier_operator_remembered_in_another_form_makes_no_change_of_a_connectors_own() -> None:
    now = "0123456789abcdef:k.one"
    assert not is_other("fedcba9876543210", now)
    assert is_other("", now)
    assert not is_other(now, now)
