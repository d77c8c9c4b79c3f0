"""Connectors that TopicCreationPolicies select: what applies, what is refused, and what never stops for it (KIP-158)."""

from typing import Any

import pytest

from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.resources.connector import Connector
from penstock_operator.kubernetes.kinds import CONNECTOR, POLICY
from penstock_operator.rollout.progress import Permission

from .test_topic_policies import document, stamped
from .world.cluster import KEY
from .world.plugins import tasks_of
from .world.world import World

RULES: dict[str, Any] = {"default": {"replicationFactor": 1, "partitions": 2}}
EVERY: dict[str, Any] = {"connectorSelector": {}}
RAILS: dict[str, Any] = {"limits": {"maxPartitions": 3}, **EVERY}
SHOP: dict[str, Any] = {**RULES, "connectorSelector": {"matchLabels": {"team": "shop"}}}
INLINE = {"topic.creation.default.partitions": "2", "topic.creation.default.replication.factor": "1"}
CONFIG = {"file": "/data/orders", "topic": "orders"}


def apply(world: World, name: str, spec: dict[str, Any]) -> None:
    if world.server.get(POLICY, KEY.namespace, name) is not None:
        world.server.edit(POLICY, KEY.namespace, name, lambda d: d.update(spec=spec))
        return
    whole = document(spec)
    whole["metadata"]["name"] = name
    world.server.add(whole)


def remove(world: World, name: str) -> None:
    world.server.remove(POLICY, KEY.namespace, name)


def label(world: World, **labels: str) -> None:
    world.server.edit(CONNECTOR, *KEY, lambda d: d["metadata"].update(labels=labels))


def running(
    config: dict[str, str] | None = None, policies: dict[str, dict[str, Any]] | None = None, **more: Any
) -> World:
    world = World(spec={"tasksMax": 2, "config": {**CONFIG, **(config or {})}}, **more)
    for name, spec in (policies or {}).items():
        apply(world, name, spec)
    world.settle()
    assert world.condition("Ready").startswith("True Running"), world.status
    return world


def sources(world: World) -> list[frozenset[str]]:
    """The policies that the specs of the running tasks come from."""
    return [frozenset() if p is None else p.policies for p in stamped(world)]


def a_sink(connector: Connector) -> JobAnswer:
    answer = tasks_of(1)
    tasks = tuple(t.model_copy(update={"kind": "sink"}) for t in answer.tasks)
    plan = answer.model_copy(update={"kind": "sink", "tasks": tasks})
    return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=plan)


def test_a_policy_that_comes_to_select_a_running_connector_restarts_its_tasks_without_a_plan_pod() -> None:
    world = running()
    lives, jobs = len(world.lives), list(world.requests)
    apply(world, "rails", RAILS)
    world.settle()
    assert sources(world) == [{"rails"}] * 2
    assert (len(world.lives), list(world.requests)) == (lives + 2, jobs)
    apply(world, "rails", {**RAILS, "connectorSelector": None})  # the selector is removed
    world.settle()
    assert sources(world) == [frozenset()] * 2
    assert (len(world.lives), list(world.requests)) == (lives + 4, jobs)
    assert world.condition("UpdatePending") == "absent"


def test_a_label_that_a_selector_asks_for_brings_the_rules_and_its_removal_takes_them() -> None:
    world = running(policies={"rails": RAILS, "shop": SHOP})
    assert sources(world) == [{"rails"}] * 2
    label(world, team="shop")
    world.settle()
    assert sources(world) == [{"rails", "shop"}] * 2
    label(world, team="stock")
    world.settle()
    assert sources(world) == [{"rails"}] * 2


def test_a_change_that_others_make_by_policies_waits_for_its_turn() -> None:
    world = running()
    world.permission = Permission(False, "RolloutQueued", "waiting for its turn")
    apply(world, "rails", RAILS)
    world.settle()
    assert world.condition("UpdatePending") == "True RolloutQueued: waiting for its turn"
    assert sources(world) == [frozenset()] * 2


@pytest.mark.parametrize("first", [True, False], ids=["under the first", "under none"])
def test_a_second_policy_with_rules_that_selects_what_runs_stops_nothing_and_both_names_are_reported(
    first: bool,
) -> None:
    world = running(policies={"first": {**RULES, **EVERY}} if first else {})
    lives, before = list(world.lives), sources(world)
    if not first:
        apply(world, "first", {**RULES, **EVERY})
    apply(world, "second", {**RULES, **EVERY})
    world.settle()
    assert (world.lives, sources(world)) == (lives, before)
    assert world.condition("Ready").startswith("True Running")
    assert world.condition("UpdatePending").startswith(
        "True PolicyConflict: the TopicCreationPolicies first and second select this connector, and each has rules"
    )
    assert world.condition("UpdatePending").endswith("the last good rules stay in use")
    world.vanish("orders-in-0-1")
    world.change(config={**CONFIG, "file": "/data/b"})  # lost pods come back, and its own changes reach it
    world.settle()
    assert sources(world) == before
    assert world.condition("Ready").startswith("True Running")
    remove(world, "second")
    world.settle()
    assert sources(world) == [{"first"}] * 2
    assert world.condition("UpdatePending") == "absent"


def test_a_new_source_that_two_policies_with_rules_select_does_not_start_and_naming_one_ends_that() -> None:
    world = World(spec={"tasksMax": 2})
    apply(world, "one", {**RULES, **EVERY})
    apply(world, "two", {**RULES, **EVERY})
    world.settle()
    assert world.condition("Stalled").startswith(
        "True PolicyConflict: the TopicCreationPolicies one and two select this"
    )
    assert world.condition("ConfigValid").startswith("Unknown NotChecked")
    assert not world.lives
    world.change(topicCreationPolicyRef={"name": "two"})
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert sources(world) == [{"two"}] * 2


def test_a_sink_creates_no_topics_so_that_no_policy_keeps_it_from_starting_or_restarts_it() -> None:
    world = World(plugin=a_sink)
    apply(world, "one", {**RULES, **EVERY})
    apply(world, "two", {**RULES, **EVERY})
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    lives = list(world.lives)
    remove(world, "one")
    world.settle()
    remove(world, "two")
    world.settle()
    assert (world.lives, stamped(world)) == (lives, [None])
    assert world.condition("UpdatePending") == "absent"


def test_a_policy_that_is_deleted_and_created_again_restarts_nothing_and_its_rules_hold_meanwhile() -> None:
    world = running(policies={"rails": RAILS})
    lives = list(world.lives)
    remove(world, "rails")
    world.settle()
    assert (world.lives, sources(world)) == (lives, [frozenset({"rails"})] * 2)
    assert world.condition("Ready").startswith("True Running")
    assert world.condition("UpdatePending").startswith(
        "True PolicyMissing: the TopicCreationPolicy rails, which its tasks follow, is no longer in this namespace"
    )
    world.vanish("orders-in-0-1")
    world.settle()
    assert sources(world) == [{"rails"}] * 2
    lives = list(world.lives)
    apply(world, "rails", RAILS)
    world.settle()
    assert world.lives == lives
    assert world.condition("UpdatePending") == "absent"


def test_another_policy_replaces_one_that_is_gone_and_limits_that_are_gone_hold_in_addition() -> None:
    world = running(policies={"old": {**RULES, **EVERY}})
    apply(world, "new", {**RULES, **EVERY})
    remove(world, "old")
    world.settle()
    assert sources(world) == [{"new"}] * 2
    assert world.condition("UpdatePending") == "absent"
    apply(world, "rails", RAILS)
    world.settle()
    remove(world, "rails")
    apply(world, "new", {**RULES, **EVERY, "limits": {"maxPartitions": 9}})
    world.settle()
    (policy, _) = stamped(world)
    assert policy is not None
    assert [(each.policy, each.max_partitions) for each in policy.limits] == [("new", 9), ("rails", 3)]
    assert world.condition("UpdatePending").startswith(
        "True PolicyMissing: the TopicCreationPolicy rails, which its tasks"
    )


def test_without_a_policy_that_is_gone_for_good_a_connector_continues_when_it_is_restarted() -> None:
    world = running(policies={"rails": RAILS})
    remove(world, "rails")
    world.settle()
    world.annotations = {"penstock.dev/restart": "on without rails"}
    world.settle()
    assert sources(world) == [frozenset()] * 2
    assert world.condition("UpdatePending") == "absent"
    assert world.condition("Ready").startswith("True Running")


def test_a_policy_that_comes_broken_stops_nothing_that_runs_and_keeps_new_sources_waiting() -> None:
    broken = {"limits": {"topics": ["a("]}, **EVERY}
    world = running()
    lives = list(world.lives)
    apply(world, "rails", broken)
    world.settle()
    assert world.lives == lives
    assert world.condition("Ready").startswith("True Running")
    assert world.condition("UpdatePending").startswith(
        "True PolicyInvalid: the TopicCreationPolicy rails cannot be appl"
    )
    new = World()
    apply(new, "rails", broken)
    new.settle()
    assert new.condition("Stalled").startswith(
        "True PolicyInvalid: the TopicCreationPolicy rails cannot be applied: spec."
    )
    assert not new.lives


def test_own_rules_beyond_the_limits_are_refused_when_they_are_applied_and_the_last_good_ones_continue() -> None:
    world = running(INLINE, {"rails": RAILS})
    assert sources(world) == [{"rails"}] * 2
    lives = list(world.lives)
    world.change(config={**CONFIG, **INLINE, "topic.creation.default.partitions": "5"})
    world.settle()
    assert world.condition("ConfigValid").startswith(
        "False ConfigInvalid: topic.creation.default: limits.maxPartitions of the TopicCreationPolicy rails is 3, but "
        "topic.creation.default requests 5"
    )
    assert world.condition("Stalled").startswith("True ConfigInvalid")
    assert world.lives == lives
    world.change(config={**CONFIG, **INLINE, "topic.creation.default.partitions": "3"})
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_limits_that_come_later_stop_nothing_that_runs_with_rules_of_its_own_beyond_them() -> None:
    world = running(INLINE)
    lives = list(world.lives)
    apply(world, "rails", {"limits": {"maxPartitions": 1}, **EVERY})
    world.settle()
    assert world.lives == lives
    assert world.condition("Ready").startswith("True Running")
    assert world.condition("ConfigValid").startswith("True Valid")
    assert world.condition("UpdatePending").startswith(
        "True PolicyConflict: topic.creation.default: limits.maxPartitions of the TopicCreationPolicy rails is 1, but "
        "topic.creation.default requests 2"
    )


def test_own_rules_replace_those_of_a_policy_that_allows_it_within_its_limits() -> None:
    lax = {**RULES, **RAILS, "overridePolicy": "Allow"}
    world = running(INLINE, {"lax": lax})
    (policy, _) = stamped(world)
    assert policy is not None
    assert (policy.rules, [each.policy for each in policy.limits]) == (None, ["lax"])
    apply(world, "lax", {**lax, "overridePolicy": "Forbid"})
    lives = list(world.lives)
    world.settle()
    assert world.lives == lives
    assert world.condition("UpdatePending").startswith(
        "True PolicyConflict: the TopicCreationPolicy lax has rules for this"
    )


def test_a_plan_pod_is_asked_where_the_topics_are_created_by_a_principal_of_the_connectors_own() -> None:
    world = running({"admin.override.sasl.jaas.config": "the teams own"})
    assert [r.selected for r in world.requests.values()] == [False]
    apply(world, "rails", RAILS)
    world.settle()
    assert [r.selected for r in world.requests.values()] == [False, True]
    assert sources(world) == [{"rails"}] * 2


def test_a_plan_pod_is_asked_where_the_worker_creates_no_topics() -> None:
    world = running(values={"worker": {"bootstrap.servers": "kafka:9092", "topic.creation.enable": "false"}})
    apply(world, "rails", RAILS)
    world.settle()
    assert [r.selected for r in world.requests.values()] == [False, True]
