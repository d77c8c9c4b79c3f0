"""What each field of a Connector's spec leads to when it is changed: a plan, other pods, both, or nothing."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from penstock_model.contracts.job import Action, JobAnswer
from penstock_model.resources.connector import Connector, ConnectorSpec
from penstock_operator.connector.model.plans import Plan

from .world.plugins import good, tasks_of
from .world.world import World


@dataclass(frozen=True)
class Change:
    """Of fields of the spec, under the names that users write; `beside` is the spec that it begins with."""

    plans: bool
    restarts: int
    spec: dict[str, Any]
    beside: dict[str, Any] | None = None


CONFIG: dict[str, Any] = {"file": "/data/a", "topic": "orders", "password": "${secret:db:password}"}
CHANGES = {
    "class": Change(True, 0, {"class": "org.apache.kafka.connect.file.FileStreamSourceConnector"}),
    "version, which comes to the same one": Change(True, 0, {"version": "[1.0,2.0)"}),
    "tasksMax": Change(True, 1, {"tasksMax": 2}),
    "state": Change(False, 0, {"state": "Paused"}),
    "config": Change(True, 1, {"config": {**CONFIG, "topic": "others"}}),
    "config, in another order": Change(False, 0, {"config": dict(reversed(CONFIG.items()))}),
    "config, a number in place of its text": Change(
        False, 0, {"config": {**CONFIG, "n": 1}}, {"config": {**CONFIG, "n": "1"}}
    ),
    "restart": Change(False, 0, {"restart": {"maxRestarts": 3}}),
    "rollout": Change(False, 0, {"rollout": {"canaryTasks": 3, "canaryDuration": "1m"}}),
    "deletion": Change(False, 0, {"deletion": {"offsets": "Reset"}}),
    "onSecretChange": Change(False, 0, {"onSecretChange": "Ignore"}),
    "onSecretChange, back": Change(False, 0, {"onSecretChange": "Restart"}, {"onSecretChange": "Ignore"}),
    "spark": Change(True, 0, {"spark": {"start": "Eager"}}),  # where its tasks come to the same
    "autoscaling": Change(False, 0, {"autoscaling": {"targetLagSeconds": 60, "min": 1, "max": 3}}),
    "autoscaling, with more tasks": Change(True, 1, {"autoscaling": {"targetLagSeconds": 60, "min": 2, "max": 3}}),
    "limits": Change(True, 0, {"limits": {"recordsPerSecond": 500}}),  # likewise
    "java": Change(True, 0, {"java": {"heapPercent": 60}}),  # likewise: they have no JVM
    "java, its defaults": Change(False, 0, {"java": {"heapPercent": 50, "options": []}}),
    "topicCreationPolicyRef": Change(True, 1, {"topicCreationPolicyRef": {"name": "shop-topics"}}),
    "template": Change(False, 1, {"template": {"nodeSelector": {"disk": "ssd"}}}),
    "template, empty": Change(False, 0, {"template": {}}),
    "template, as the release has it": Change(False, 0, {"template": {"resources": {}}}),
    "template and config": Change(
        True, 1, {"template": {"nodeSelector": {"disk": "ssd"}}, "config": {**CONFIG, "topic": "others"}}
    ),
    "template and tasksMax": Change(True, 1, {"template": {"nodeSelector": {"disk": "ssd"}}, "tasksMax": 2}),
}
"""By `not_yet`: the tasks keep the last good configuration."""
FIXED = {"connectName"}
"""By a rule of the definition, once the Connector is there."""
POLICY: dict[str, Any] = {
    "apiVersion": "penstock.dev/v1alpha1",
    "kind": "TopicCreationPolicy",
    "metadata": {"name": "shop-topics", "namespace": "shop"},
    "spec": {"default": {"replicationFactor": 1, "partitions": 2}},
}
SECRETS, CHANGED = {"db": {"password": "1"}}, {"db": {"password": "2"}}


def running(**spec: Any) -> World:
    world = World(spec={"config": CONFIG, **spec}, secrets=SECRETS)
    world.server.add(POLICY)
    world.settle()
    return world


def plans(world: World) -> int:
    return sum(name.startswith("orders-in-plan-") for name in world.requests)


def test_every_field_of_the_spec_is_in_the_table() -> None:
    fields = {field.alias or name for name, field in ConnectorSpec.model_fields.items()}
    assert {name for change in CHANGES.values() for name in change.spec} == fields - FIXED


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_does_what_the_table_says(change: Change) -> None:
    world = running(**(change.beside or {}))
    before, lives = plans(world), len(world.lives)
    world.change(**change.spec)
    world.settle()
    assert plans(world) - before == change.plans
    assert len([name for name in world.lives[lives:] if name.startswith("orders-in-0-")]) == change.restarts
    assert world.condition("Ready").startswith("True")


@pytest.mark.parametrize("spec", [{}, {"config": {**CONFIG, "topic": "others"}}], ids=["alone", "with-config"])
def test_a_template_that_is_changed_together_with_a_restart_restarts_once(spec: dict[str, Any]) -> None:
    world = running()
    lives = len(world.lives)
    world.change(template={"nodeSelector": {"disk": "ssd"}}, **spec)
    world.annotations["penstock.dev/restart"] = "a"
    world.settle()
    assert world.lives[lives:] == ["orders-in-0-2"]
    assert world.task(0).pod_hash == world.pod_hash(world.plans[-1], 0)


def test_a_template_does_not_wait_for_a_plan_that_cannot_be_made() -> None:
    world = running()
    pod = world.task(0).uid
    world.change(template={"nodeSelector": {"disk": "ssd"}}, config={**CONFIG, "topic": "others"})
    world.unpullable = ("runtime:1",)
    world.settle(seconds=300)
    assert world.task(0).uid != pod


@pytest.mark.parametrize("first", ["Restart", "Ignore"])
def test_toggling_what_follows_from_secrets_restarts_nothing(first: str) -> None:
    world = running(onSecretChange=first)
    before, lives = plans(world), list(world.lives)
    for value in ("Ignore", "Restart", "Ignore", "Restart"):
        world.change(onSecretChange=value)
        world.settle()
    assert (plans(world), world.lives) == (before, lives)


def test_a_secret_that_changed_while_it_was_ignored_is_taken_up_once_it_counts() -> None:
    world = running(onSecretChange="Ignore")
    lives = len(world.lives)
    world.secrets = CHANGED
    world.settle()
    world.change(config={**CONFIG, "topic": "others"})
    world.settle()
    assert world.lives[lives:] == ["orders-in-0-2"]
    world.change(onSecretChange="Restart")
    world.settle()
    assert world.lives[lives:] == ["orders-in-0-2", "orders-in-0-3"]


def test_a_restart_takes_up_secrets_that_are_ignored() -> None:
    world = running(onSecretChange="Ignore")
    lives = len(world.lives)
    world.secrets = CHANGED
    world.annotations["penstock.dev/restart"] = "a"
    world.settle()
    world.change(onSecretChange="Restart")
    world.settle()
    assert world.lives[lives:] == ["orders-in-0-2"]


def test_offsets_of_another_kind_that_stay_are_reported_while_it_lives_and_when_they_are_reset() -> None:
    world = running(deletion={"offsets": "Reset"})

    def sink(connector: Connector) -> JobAnswer | list[str]:
        answer = good(connector)
        assert isinstance(answer, JobAnswer)
        assert answer.plan is not None
        return answer.model_copy(update={"plan": answer.plan.model_copy(update={"kind": "sink"})})

    world.plugin = sink
    world.change(**{"class": "FileStreamSink"})
    world.settle()
    left = "those of its time as a source (records in the offsets topic) stay"
    assert left in world.condition("ConfigValid")
    for topic in ("a", "b", "c"):
        world.change(config={**CONFIG, "topic": topic})
        world.settle()
    assert left in world.condition("ConfigValid")
    world.delete()
    world.settle()
    assert {note.message for note in world.events if note.reason == "OffsetsKept"} == {
        "its offsets have been reset, but those of its time as a source (records in the offsets topic) are kept"
    }


def test_a_connector_that_becomes_what_it_was_leaves_only_the_other_kind() -> None:
    last = running().plans[-1]
    as_sink = replace(last, kind="sink", earlier_kinds=("source",))
    answer = tasks_of(1)
    assert last.pod_settings is not None
    assert Plan.of("a", last.pod_settings, answer, (), None, last=as_sink).earlier_kinds == ("sink",)
    assert Plan.of("a", last.pod_settings, answer, (), None, last=last).earlier_kinds == ()


@pytest.mark.parametrize("trouble", [None, "Kafka does not answer"], ids=["for-a-moment", "lasting"])
def test_a_fresh_connector_is_checked_and_waits_while_its_name_may_be_anothers(trouble: str | None) -> None:
    world = World()
    world.topic.caught_up, world.topic.trouble = False, trouble
    world.settle()
    reason = "Waiting" if trouble is None else "KafkaUnavailable"
    assert world.condition("Ready").startswith(f"False {reason}: starts once it is known that no other connector has")
    assert world.condition("ConfigValid").startswith("True")
    assert world.lives == []
    assert not [wish for wish in world.requests.values() if wish.prepare or wish.action is Action.PREPARE]
    world.topic.caught_up, world.topic.trouble = True, None
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert world.lives == ["orders-in-0-1"]
