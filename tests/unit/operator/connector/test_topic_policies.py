"""A Connector whose topics are created by a TopicCreationPolicy (KIP-158): what it waits for, and what an edit does."""

import json
from http import HTTPStatus
from typing import Any

import pytest

from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.contracts.topic_policy import TopicPolicy
from penstock_model.resources.connector import Connector
from penstock_model.resources.effective_topic_policy import effective_policy
from penstock_operator.connector.model.plan_config_map import config_map_of, plan_of
from penstock_operator.connector.model.plan_hashes import inputs_hash, own_hash, release_hash
from penstock_operator.connector.model.plans import Plan, PodSettings
from penstock_operator.connector.model.secrets import Secrets
from penstock_operator.connector.render.pod_manifests import PodManifests
from penstock_operator.kubernetes.kinds import CONFIG_MAP, POLICY
from penstock_operator.names import plan_name
from penstock_operator.rollout.progress import Permission
from penstock_operator.settings import Settings

from ..fake_api_answers import failure
from .world.cluster import KEY
from .world.plugins import tasks_of
from .world.world import Killed, World

NAMED: dict[str, Any] = {"topicCreationPolicyRef": {"name": "shop-topics"}}
SPEC: dict[str, Any] = {"default": {"replicationFactor": 1, "partitions": 2}}
WIDER: dict[str, Any] = {**SPEC, "limits": {"topics": [".*"]}}
BAD: dict[str, Any] = {**SPEC, "limits": {"topics": ["a("]}}


def document(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": POLICY.api_version,
        "kind": POLICY.kind,
        "spec": spec,
        "metadata": {"name": "shop-topics", "namespace": KEY.namespace},
    }


def apply(world: World, spec: dict[str, Any]) -> None:
    if world.server.get(POLICY, KEY.namespace, "shop-topics") is None:
        world.server.add(document(spec))
    else:
        world.server.edit(POLICY, KEY.namespace, "shop-topics", lambda d: d.update(spec=spec))


def governed(policy: dict[str, Any] = SPEC, **spec: Any) -> World:
    world = World(spec={**NAMED, "tasksMax": 2, **spec})
    apply(world, policy)
    world.settle()
    assert world.condition("Ready").startswith("True Running"), world.status
    return world


def stamped(world: World) -> list[TopicPolicy | None]:
    """The policies in the specs of the tasks that run, as their pods have them."""
    kept = world.server.get(
        CONFIG_MAP, KEY.namespace, plan_name(KEY.name, world.status["operatorState"]["plan"]["hash"])
    )
    assert kept is not None
    specs = [json.loads(text) for name, text in sorted(kept["data"].items()) if name.startswith("task-")]
    return [TopicPolicy.model_validate(s["topicPolicy"]) if "topicPolicy" in s else None for s in specs]


def test_a_connector_that_comes_before_its_policy_is_in_progress_and_follows_automatically() -> None:
    world = World(spec=NAMED)
    world.settle()
    assert world.condition("Ready").startswith(
        "False PolicyMissing: the TopicCreationPolicy shop-topics is not in this "
    )
    assert world.condition("Stalled") == "False NotStalled: "
    assert world.condition("Reconciling").startswith("True PolicyMissing")
    assert world.condition("ConfigValid").startswith("Unknown NotChecked")
    assert not world.pods
    apply(world, SPEC)
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert stamped(world) == [effective_policy(document(SPEC))]


def test_a_connector_whose_policy_was_never_good_needs_a_person() -> None:
    world = World(spec=NAMED)
    apply(world, BAD)
    world.settle()
    assert world.condition("Stalled").startswith(
        "True PolicyInvalid: the TopicCreationPolicy shop-topics cannot be applied"
    )
    assert "spec.limits.topics.0" in world.condition("Ready")
    apply(world, SPEC)
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_every_task_of_a_source_has_the_policy_and_an_edit_restarts_them_without_a_plan_pod() -> None:
    world = governed()
    lives = len(world.lives)
    before = stamped(world)
    assert before == [effective_policy(document(SPEC))] * 2
    jobs = list(world.requests)
    apply(world, WIDER)
    world.settle()
    assert stamped(world) == [effective_policy(document(WIDER))] * 2
    assert len(world.lives) == lives + 2
    assert list(world.requests) == jobs
    assert world.condition("Ready").startswith("True Running")


def test_an_edit_that_changes_nothing_of_rules_and_limits_restarts_nothing() -> None:
    world = governed()
    lives, plan = list(world.lives), world.status["operatorState"]["plan"]["hash"]
    apply(world, {**SPEC, "overridePolicy": "Forbid", "groups": []})
    world.settle()
    assert (world.lives, world.status["operatorState"]["plan"]["hash"]) == (lives, plan)


def test_an_edit_waits_for_its_turn_and_lost_tasks_come_back_by_the_old_rules_meanwhile() -> None:
    world = governed()
    world.permission = Permission(False, "RolloutQueued", "waiting for its turn")
    apply(world, WIDER)
    world.settle()
    assert world.condition("UpdatePending") == "True RolloutQueued: waiting for its turn"
    world.vanish("orders-in-1-1")
    world.settle()
    assert stamped(world) == [effective_policy(document(SPEC))] * 2
    world.permission = None
    world.settle()
    assert stamped(world) == [effective_policy(document(WIDER))] * 2
    assert world.condition("UpdatePending") == "absent"


def test_naming_another_policy_is_a_change_of_the_connector_and_waits_for_nobody() -> None:
    world = governed()
    other = document(WIDER)
    other["metadata"]["name"] = "other"
    world.server.add(other)
    world.permission = Permission(False, "RolloutQueued", "waiting for its turn")
    world.change(topicCreationPolicyRef={"name": "other"})
    world.settle()
    (first, _) = stamped(world)
    assert first is not None
    assert first.policies == {"other"}
    world.spec.pop("topicCreationPolicyRef")
    world.settle()
    assert stamped(world) == [None, None]


@pytest.mark.parametrize(
    ("spec", "reason"), [(None, "PolicyMissing"), (BAD, "PolicyInvalid")], ids=["deleted", "a bad edit"]
)
def test_a_policy_that_is_deleted_or_broken_stops_nothing_and_its_last_good_rules_continue(
    spec: dict[str, Any] | None, reason: str
) -> None:
    world = governed()
    lives = list(world.lives)
    if spec is None:
        world.server.remove(POLICY, KEY.namespace, "shop-topics")
    else:
        apply(world, spec)
    world.settle()
    assert world.lives == lives
    assert world.condition("Ready").startswith("True Running")
    assert world.condition("UpdatePending").startswith(f"True {reason}: the TopicCreationPolicy shop-topics ")
    assert world.condition("UpdatePending").endswith("the last good rules stay in use")
    world.vanish("orders-in-0-1")
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    world.change(config={"file": "/data/b", "topic": "orders"})  # other changes reach it all the same
    world.settle()
    assert stamped(world) == [effective_policy(document(SPEC))] * 2
    apply(world, SPEC)
    lives = list(world.lives)
    world.settle()
    assert world.condition("UpdatePending") == "absent"
    assert world.lives == lives


def test_rules_of_another_policy_never_replace_one_that_is_missing() -> None:
    world = governed()
    world.change(topicCreationPolicyRef={"name": "missing"})
    lives = list(world.lives)
    world.settle()
    assert world.condition("Ready").startswith("False PolicyMissing: the TopicCreationPolicy missing")
    assert world.lives == lives
    assert stamped(world) == [effective_policy(document(SPEC))] * 2


def test_a_plugin_that_answers_with_a_policy_of_its_own_is_overruled() -> None:
    lax = effective_policy(document(WIDER))

    def forging(connector: Connector) -> JobAnswer:
        answer = tasks_of(2)
        forged = tuple(t.model_copy(update={"topic_policy": lax}) for t in answer.tasks)
        return JobAnswer(
            id="", action=Action.PLAN, outcome=Outcome.DONE, plan=answer.model_copy(update={"tasks": forged})
        )

    world = World(spec={**NAMED, "tasksMax": 2}, plugin=forging)
    apply(world, SPEC)
    world.settle()
    assert stamped(world) == [effective_policy(document(SPEC))] * 2
    world = World(spec={"tasksMax": 2}, plugin=forging)
    world.settle()
    assert stamped(world) == [None, None]


def test_a_sink_is_planned_with_its_policy_and_not_restarted_for_an_edit() -> None:
    def sink(connector: Connector) -> JobAnswer:
        answer = tasks_of(1)
        tasks = tuple(t.model_copy(update={"kind": "sink"}) for t in answer.tasks)
        plan = answer.model_copy(update={"kind": "sink", "tasks": tasks})
        return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=plan)

    world = World(spec=NAMED, plugin=sink)
    apply(world, SPEC)
    world.settle()
    lives = list(world.lives)
    assert stamped(world) == [None]
    apply(world, WIDER)
    world.settle()
    assert world.lives == lives
    assert world.condition("Ready").startswith("True Running")


def test_inline_rules_next_to_a_policy_are_refused_without_a_plan_pod() -> None:
    world = World(spec={**NAMED, "config": {"topic": "t", "topic.creation.default.partitions": "1"}})
    apply(world, SPEC)
    world.settle()
    assert world.condition("ConfigValid").startswith(
        "False ConfigInvalid: the TopicCreationPolicy shop-topics has rules for this connector, but spec.config has "
        "topic.creation.default.partitions: only one of them can apply"
    )
    assert not world.pods


def test_a_policy_that_makes_the_plan_too_large_for_the_api_server_is_reported_and_stops_nothing() -> None:
    world = governed()
    usual, lives = world.server.admit, list(world.lives)
    too_long = failure(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Invalid",
        "ConfigMap is invalid: []: Too long: may not be more than 1048576 bytes",
    )
    world.server.admit = lambda r: too_long if r.kind is CONFIG_MAP and r.method == "POST" else usual(r)
    apply(world, WIDER)
    world.settle()
    assert world.lives == lives
    assert world.condition("Ready").startswith("True Running")
    pending = world.condition("UpdatePending")
    assert pending.startswith("True Invalid: ")
    assert "Too long" in pending
    assert pending.endswith("; the last good configuration stays in use")


@pytest.mark.parametrize("writes", range(12))
def test_an_operator_that_is_killed_anywhere_under_an_edit_ends_at_the_same_tasks(writes: int) -> None:
    world = governed()
    apply(world, WIDER)
    world.kill_after = world.writes + writes
    for _ in range(50):
        try:
            world.settle()
        except Killed:
            continue
        break
    assert stamped(world) == [effective_policy(document(WIDER))] * 2
    assert len({name.rpartition("-")[0] for name in world.lives}) == 2
    assert world.condition("Ready").startswith("True Running")


def test_a_config_map_that_loosens_a_policy_is_no_plan() -> None:
    policy, lax = effective_policy(document(BAD | {"limits": {"topics": ["t"]}})), effective_policy(document(WIDER))
    answer = tasks_of(1)
    plan = Plan.of("inputs", PodSettings("runtime:1"), answer, (), "", policy=policy)
    kept = config_map_of(plan, {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"})
    found = plan_of(kept)
    assert found is not None
    assert (found.policy, found.tasks, found.hash) == (policy, plan.tasks, plan.hash)
    task = plan.tasks[0].model_copy(update={"topic_policy": lax}).to_json()
    assert plan_of({**kept, "data": {**kept["data"], "task-0.json": task}}) is None
    header = json.loads(kept["data"]["plan.json"])
    for forged in ({**header, "policy": lax.model_dump(mode="json", by_alias=True)}, {**header, "policy": None}):
        assert plan_of({**kept, "data": {"plan.json": json.dumps(forged), "task-0.json": task}}) is None
    header.pop("policy")
    assert plan_of({**kept, "data": {"plan.json": json.dumps(header), "task-0.json": task}}) is None


def test_connectors_without_a_policy_keep_every_hash_so_that_an_upgrade_of_the_operator_restarts_nothing() -> None:
    """The hashes of settings of tasks that are left out where they have their defaults."""
    connector = Connector.read(
        {
            "metadata": {"name": "orders-in", "namespace": "shop", "uid": "u-1", "generation": 7},
            "spec": {"class": "FileStreamSource", "tasksMax": 2, "config": {"file": "/data/orders", "topic": "orders"}},
        }
    )
    settings = Settings.of(
        {
            "release": {"name": "penstock", "namespace": "penstock-system"},
            "worker": {"bootstrap.servers": "kafka:9092"},
            "images": {"runtime": "runtime:1"},
        }
    )
    pod_settings, inputs = PodSettings.of(settings, ()), inputs_hash(connector, settings.worker, "runtime:1", Secrets())
    assert (inputs, own_hash(connector, Secrets())) == ("722995ee2a0d158b", "dc69924d98ed5985:unseen")
    answer = tasks_of(2)
    tasks = tuple(
        t.model_copy(update={"config": {"topic": "orders"}, "connector": "shop.orders-in"}) for t in answer.tasks
    )
    plan = Plan.of(inputs, pod_settings, answer.model_copy(update={"tasks": tasks}), (), "")
    assert (plan.hash, plan.digests) == ("a6956ba688866a89", ("0f4991887b472289", "1af7090c6632f1b0"))
    assert PodManifests(connector, settings, pod_settings).pod_hash(plan, 1) == "2.a923c07583f9c176"
    assert release_hash(settings) == "9987ab685510bdb4"
