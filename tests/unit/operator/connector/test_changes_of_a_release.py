"""A change of the release, or of the configuration, under running tasks: they go by the last plan that was good."""

from pathlib import Path
from typing import Any

import pytest

from penstock_model.contracts.job import JobAnswer
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.pod_status import JobPod, TaskPod
from penstock_operator.rollout.progress import GRANTED, Permission, Phase, Progress, RolloutRestart

from .world.plugins import good
from .world.world import World

TAKEN = Permission(False, "RolloutQueued", "waiting for its turn")
DB: dict[str, dict[str, str]] = {"db": {"pw": "1"}}
NEW_IMAGE = {"images": {"runtime": "runtime:2"}}
MORE_MEMORY = {"task": {"resources": {"limits": {"memory": "4Gi"}}}}


def running(**spec: object) -> World:
    world = World(spec=spec)
    world.settle()
    assert world.condition("Ready").startswith("True Running"), world.status
    return world


def images(world: World) -> list[str]:
    pods = sorted((p for p in world.pods.values() if isinstance(p, TaskPod)), key=lambda p: p.task)
    return [p.image for p in pods if p.ended is None and p.leaving is None]


def upgrade_that_cannot_be_pulled(**spec: object) -> World:
    world = running(tasksMax=2, **spec)
    world.values = NEW_IMAGE
    world.unpullable = ("runtime:2",)
    world.settle(100)
    return world


def test_an_image_that_cannot_be_pulled_ends_no_task_and_is_reported() -> None:
    world = upgrade_that_cannot_be_pulled()
    assert world.lives == ["orders-in-0-1", "orders-in-1-1"]
    assert world.condition("Ready") == "True Running: all 2 tasks are Running"
    assert world.condition("ConfigValid").startswith("True")
    assert world.condition("UpdatePending") == (
        "True ImagePullBackOff: back-off pulling runtime:2; check the image's name, and that its registry is available "
        "and accepts images.pullSecrets (for a plugin's image also spec.template.imagePullSecrets); the last good "
        "configuration stays in use"
    )
    assert [n.reason for n in world.events][-1] == "ImagePullBackOff"


def test_an_image_that_cannot_be_pulled_is_one_event_although_the_reasons_of_the_kubelet_alternate() -> None:
    world = upgrade_that_cannot_be_pulled()
    pod = next(name for name, p in world.pods.items() if p.hindrance is not None)
    for reason in ("ErrImagePull", "ImagePullBackOff") * 3:
        world.hinder(pod, reason, f"{reason}: read udp 10.1.0.2:{world.now % 60_000:.0f}->10.96.0.10:53: timeout")
        world.advance(5)
        world.reconcile()
        assert world.condition("UpdatePending").startswith(f"True {reason}: {reason}: read udp 10.1.0.2->10.96.0.10:53")
    assert sum("ImagePull" in e.reason for e in world.events) == 1


def test_a_task_that_is_lost_meanwhile_comes_back_with_the_old_image() -> None:
    world = upgrade_that_cannot_be_pulled()
    world.vanish("orders-in-1-1")
    world.settle()
    assert world.lives[2:] == ["orders-in-1-2"]
    assert images(world) == ["runtime:1", "runtime:1"]
    assert world.condition("Ready").startswith("True Running")


def test_a_restart_that_is_asked_for_meanwhile_ends_no_task_that_nothing_could_follow() -> None:
    world = upgrade_that_cannot_be_pulled()
    world.annotations = {"penstock.dev/restart": "1"}
    world.settle(300)
    assert images(world) == ["runtime:1", "runtime:1"]
    world.vanish("orders-in-1-1")
    world.settle()
    assert images(world) == ["runtime:1", "runtime:1"]


def test_a_new_image_is_taken_up_once_a_short_pod_has_answered_with_it() -> None:
    world = upgrade_that_cannot_be_pulled()
    world.unpullable = ()
    world.settle()
    assert images(world) == ["runtime:2", "runtime:2"]
    assert world.condition("UpdatePending") == "absent"
    assert world.condition("Ready").startswith("True Running")


def test_the_old_image_once_more_needs_no_short_pod() -> None:
    world = upgrade_that_cannot_be_pulled()
    world.values = {}
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-1-1"]
    assert world.condition("UpdatePending") == "absent"
    assert not [p for p in world.pods.values() if isinstance(p, JobPod)]


def test_a_configuration_that_names_a_missing_secret_ends_no_task() -> None:
    world = running(tasksMax=2)
    world.change(config={"file": "/data/a", "topic": "orders", "password": "${secret:db:pw}"})
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-1-1"]
    assert world.condition("Ready").startswith("False SecretMissing")
    world.vanish("orders-in-0-1")
    world.settle()
    assert images(world) == ["runtime:1", "runtime:1"]
    assert mounted(world) == []
    world.secrets = DB
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def with_secret() -> World:
    world = World(spec={"config": {"file": "/a", "password": "${secret:db:pw}"}}, secrets=DB)
    world.settle()
    return world


def mounted(world: World) -> list[str]:
    plan = next(p for p in world.plans if p.hash == world.status["operatorState"]["plan"]["hash"])
    assert plan.pod_settings is not None
    return list(plan.pod_settings.secrets)


def test_a_secret_that_is_deleted_after_the_plan_ends_no_task() -> None:
    world = with_secret()
    world.secrets = {}
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert mounted(world) == ["db"]
    world.secrets = DB
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.condition("Ready").startswith("True Running")


def test_a_secret_that_is_renamed_is_mounted_by_the_pods_of_the_new_plan_only() -> None:
    world = with_secret()
    world.secrets = {"database": {"pw": "2"}}
    world.change(config={"file": "/a", "password": "${secret:database:pw}"})
    world.reconcile()
    assert mounted(world) == ["db"]
    world.settle()
    assert mounted(world) == ["database"]
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


@pytest.mark.parametrize(
    "values",
    [
        {"task": {"nodeLostSeconds": 300}},
        {"task": {"terminationGracePeriodSeconds": 60}},
        {"task": {"temporarySize": "1Gi"}},
        {"task": {"livenessProbe": False}},
        {"release": {"name": "other", "namespace": "elsewhere"}},
        {"secrets": {"watch": False}},
        {"job": {"deadlineSeconds": 300, "resources": {"limits": {"memory": "1Gi"}}}},
        {"limits": {"jobPods": 3}},
    ],
)
def test_what_a_task_does_not_notice_restarts_nothing_and_plans_nothing(values: dict[str, Any]) -> None:
    world = running()
    world.values = values
    world.permission = TAKEN
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.condition("UpdatePending") == "absent"
    assert len(world.plans) == 1


@pytest.mark.parametrize(
    "images",
    [
        {"runtime": "runtime:1", "pullPolicy": "Always"},
        {"runtime": "runtime:1", "pullSecrets": ["registry"]},
    ],
)
def test_how_an_image_is_pulled_is_taken_up_by_later_pods_once_a_short_pod_has_started_so(
    images: dict[str, Any],
) -> None:
    world = running()
    world.values = {"images": images}
    world.permission = TAKEN
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.condition("UpdatePending") == "absent"
    assert len(world.requests) == 2


def test_other_default_resources_are_taken_up_in_turn_and_need_no_short_pod() -> None:
    world = running()
    world.values = MORE_MEMORY
    world.permission = TAKEN
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.condition("UpdatePending") == "True RolloutQueued: waiting for its turn"
    assert world.condition("Ready").startswith("True Running")
    world.permission = GRANTED
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]
    assert len(world.requests) == 1


def test_other_default_resources_are_nothing_to_a_connector_that_has_its_own() -> None:
    world = running(template={"resources": {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"memory": "4Gi"}}})
    world.values = {"task": {"resources": {"requests": {"cpu": "2"}, "limits": {"memory": "8Gi"}}}}
    world.permission = TAKEN
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.condition("UpdatePending") == "absent"


def waiting(**spec: object) -> World:
    """The new plan is there, and there is no place."""
    world = running(**spec)
    world.values = NEW_IMAGE
    world.permission = TAKEN
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    return world


def test_a_connector_that_waits_for_its_turn_is_ready_and_says_what_it_waits_for() -> None:
    world = waiting()
    assert world.condition("Ready").startswith("True Running")
    assert world.condition("UpdatePending") == "True RolloutQueued: waiting for its turn"
    assert world.decide().rollout == Progress(Phase.RESTING, waits=True)
    writes = world.writes
    world.advance(600)
    world.reconcile()
    assert world.writes == writes


def test_a_connector_that_waits_for_kafka_is_not_reconciled_again_and_again() -> None:
    world = waiting()
    world.topic.trouble = "Kafka at kafka:9092 does not answer"
    world.permission = GRANTED
    world.reconcile()
    world.advance(120)  # from now on the trouble counts as one that lasts
    world.reconcile()
    assert world.condition("UpdatePending").startswith("True RolloutQueued: waiting until the operator can tell")
    before = world.wakes
    for _ in range(3):
        world.reconcile()
    assert world.wakes == before
    world.topic.trouble = None
    world.settle()
    assert images(world) == ["runtime:2"]


OFF = {"worker": {"bootstrap.servers": "kafka:9092", "topic.creation.enable": "false"}}


def test_topic_creation_that_is_switched_off_is_planned_as_a_change_of_a_connector_that_has_run() -> None:
    """A plan pod that refused the connector's rules would leave its tasks creating topics by the last plan."""
    world = running()
    world.values = OFF
    world.settle()
    assert [request.registered for request in world.requests.values()] == [False, True]


def refused_plugin(connector: Connector) -> JobAnswer | list[str]:
    """Refuses the configuration that has no `file`, as a real plugin does."""
    return good(connector) if "file" in connector.spec.config else ["file"]


def refused() -> World:
    """A Connector of two tasks whose change is refused, and which runs with the configuration before that."""
    world = World(spec={"tasksMax": 2}, plugin=refused_plugin)
    world.settle()
    world.change(config={"topic": "orders"})
    world.settle()
    assert world.condition("Stalled").startswith("True ConfigInvalid")
    assert world.lives == ["orders-in-0-1", "orders-in-1-1"]
    return world


def creates_topics(world: World) -> list[bool]:
    """Whether each task that lives may create topics, by the task spec in its pod's plan."""
    plan = next(p for p in world.plans if p.hash == world.status["operatorState"]["plan"]["hash"])
    alive = [p for p in world.pods.values() if isinstance(p, TaskPod) and p.ended is None]
    assert {p.pod_hash for p in alive} == {world.pod_hash(plan, p.task) for p in alive}
    return [t.worker.get("topic.creation.enable") != "false" for t in plan.tasks]


def test_topic_creation_that_is_switched_off_reaches_tasks_whose_configuration_is_refused() -> None:
    world = refused()
    assert creates_topics(world) == [True, True]
    world.values = OFF
    world.settle()
    assert creates_topics(world) == [False, False]
    assert world.lives == ["orders-in-0-1", "orders-in-1-1", "orders-in-0-2", "orders-in-1-2"]
    assert world.condition("Stalled").startswith("True ConfigInvalid")
    assert world.condition("UpdatePending") == "absent"
    assert world.settle().rollout == Progress()
    writes = world.status_writes
    world.settle()
    assert world.status_writes == writes


def test_it_reaches_them_when_the_rollout_permits_it() -> None:
    world = refused()
    world.permission = TAKEN
    world.values = OFF
    world.settle()
    assert creates_topics(world) == [True, True]
    assert world.condition("UpdatePending") == "True RolloutQueued: waiting for its turn"
    world.permission = GRANTED
    world.settle()
    assert creates_topics(world) == [False, False]


def test_topic_creation_that_is_switched_on_again_returns_with_a_configuration_that_is_valid() -> None:
    world = refused()
    world.values = OFF
    world.settle()
    world.values = {}
    world.settle()
    assert creates_topics(world) == [False, False]
    world.change(config={"file": "/data/a", "topic": "orders"})
    world.settle()
    assert creates_topics(world) == [True, True]
    assert world.condition("Ready").startswith("True Running")


def test_a_configuration_that_is_corrected_after_the_switch_waits_for_nobody() -> None:
    world = refused()
    world.values = OFF
    world.settle()
    world.permission = TAKEN
    world.change(config={"file": "/data/b", "topic": "orders"})
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert world.lives[-1] == "orders-in-1-3"


def test_a_template_that_is_refused_too_ends_no_task_that_nothing_could_follow() -> None:
    world = refused()
    world.change(template={"containers": [{"name": "penstock"}]})
    world.values = OFF
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-1-1"]
    world.change(template={})
    world.settle()
    assert creates_topics(world) == [False, False]


def test_a_source_whose_policy_is_missing_gets_the_switch_too() -> None:
    world = running()
    world.change(topicCreationPolicyRef={"name": "absent"})
    world.settle()
    assert world.condition("Ready").startswith("False PolicyMissing")
    world.values = OFF
    world.settle()
    assert creates_topics(world) == [False]


def test_a_change_of_its_own_is_planned_as_one_of_a_connector_that_has_run() -> None:
    world = running()
    world.change(config={"file": "/data/b", "topic": "orders"})
    world.settle()
    assert [request.registered for request in world.requests.values()] == [False, True]


def test_a_task_that_is_lost_while_its_connector_waits_comes_back_with_the_old_image() -> None:
    world = waiting()
    world.vanish("orders-in-0-1")
    world.settle()
    assert images(world) == ["runtime:1"]


def test_a_change_of_its_own_waits_for_nobody() -> None:
    world = waiting()
    world.change(config={"file": "/data/b", "topic": "orders"})
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]
    assert world.condition("UpdatePending") == "absent"
    assert "rollout" not in world.status["operatorState"]


def test_a_change_of_its_pod_template_waits_for_nobody() -> None:
    world = waiting()
    world.template = "x"
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]
    assert images(world) == ["runtime:1"]


def test_a_second_upgrade_takes_the_place_of_one_that_waits() -> None:
    world = waiting()
    world.values = {"images": {"runtime": "runtime:3"}}
    world.settle()
    assert images(world) == ["runtime:1"]
    world.permission = GRANTED
    world.settle()
    assert images(world) == ["runtime:3"]
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_a_restart_in_its_turn_is_written_down_and_followed_until_it_was_ready_for_long_enough() -> None:
    world = waiting()
    world.permission = GRANTED
    decision = world.reconcile()
    assert world.status["operatorState"]["rollout"]["wasReady"] is True
    assert decision.rollout is not None
    assert (decision.rollout.phase, decision.rollout.fails) == (Phase.RESTARTING, True)
    assert decision.rollout.until == world.now + 600
    while not world.condition("Ready").startswith("True"):
        world.tick()
        decision = world.reconcile()
    assert decision.rollout == Progress(Phase.RESTARTING, world.now + 10)
    world.advance(10)
    share = world.reconcile().rollout
    assert share is not None
    assert share.phase is Phase.RESTING
    world.advance(600)
    world.settle()
    assert "rollout" not in world.status["operatorState"]


def failing(**more: Any) -> World:
    """It was restarted with an image whose task fails."""
    world = waiting(restart={"maxRestarts": 1}, **more)
    world.permission = GRANTED
    world.reconcile()
    for _ in range(20):
        world.tick()
        world.reconcile()
        for pod in [p for p in world.pods.values() if isinstance(p, TaskPod) and p.started and p.ended is None]:
            if pod.image == "runtime:2":
                world.end(pod.name, 1, message="it cannot work")
        world.reconcile()
    world.permission = TAKEN
    return world


def test_a_connector_that_does_not_get_ready_holds_its_place_and_has_failed_after_the_deadline() -> None:
    world = failing()
    share = world.reconcile().rollout
    assert share is not None
    assert share.phase is Phase.RESTARTING
    world.advance(600)
    share = world.reconcile().rollout
    assert share is not None
    assert share.phase is Phase.FAILED


@pytest.mark.parametrize("state", ["Paused", "Stopped"])
def test_a_connector_that_is_paused_or_stopped_while_it_restarts_gives_its_place_back(state: str) -> None:
    world = failing()
    world.change(state=state)
    world.settle(60)
    share = world.reconcile().rollout
    assert share is None or share.phase is Phase.RESTING
    assert "rollout" not in world.status["operatorState"] or state == "Stopped"


def test_a_connector_that_is_deleted_while_it_restarts_gives_its_place_back() -> None:
    world = failing()
    world.delete()
    assert world.reconcile().rollout is None


def test_its_own_change_while_it_restarts_gives_its_place_back() -> None:
    world = failing()
    world.change(config={"file": "/data/b", "topic": "orders"})
    world.settle(60)
    share = world.reconcile().rollout
    assert share is not None
    assert share.phase is Phase.RESTING


def test_a_connector_that_was_not_ready_before_holds_a_place_only_while_its_pods_are_replaced() -> None:
    world = running()
    world.report(world.task(0), trouble="Kafka is away")
    world.permission = TAKEN
    world.values = NEW_IMAGE
    world.settle()
    assert world.condition("Ready").startswith("False Hindered")
    world.permission = GRANTED
    share = world.reconcile().rollout
    assert share is not None
    assert (share.phase, share.fails) == (Phase.RESTARTING, False)
    for _ in range(10):
        world.tick()
        if images(world):
            world.report(world.task(0), trouble="Kafka is away")
        world.reconcile()
    share = world.reconcile().rollout
    assert share is not None
    assert share.phase is Phase.RESTING
    assert images(world) == ["runtime:2"]


def test_a_rollback_in_the_middle_takes_back_what_was_restarted_and_its_failure_counts_no_more() -> None:
    world = failing()
    world.values = {}
    world.permission = GRANTED
    share = world.reconcile().rollout
    assert share is not None
    assert share.phase is not Phase.FAILED
    world.settle()
    assert images(world) == ["runtime:1"]
    assert world.condition("Ready").startswith("True Running")
    assert len(world.requests) == 2  # of both images, each once


def test_a_secret_of_the_worker_that_is_put_right_takes_back_the_failure_that_it_caused(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "login").write_text("of the operator itself")
    worker = {"bootstrap.servers": "kafka:9092", "access.key": "${secret:kafka:login}"}
    good, bad = {"kafka": {"login": "good"}}, {"kafka": {"login": "bad"}}
    world = World(spec={"restart": {"maxRestarts": 1}}, secrets=good, values={"worker": worker}, secrets_dir=tmp_path)
    world.settle()
    pod_hash = world.task(0).pod_hash
    world.secrets = bad
    for _ in range(20):
        world.reconcile()
        world.tick()
        for pod in [p for p in world.pods.values() if isinstance(p, TaskPod) and p.started and p.ended is None]:
            if pod.pod_hash != pod_hash:
                world.end(pod.name, 1, message="no such user")
    world.permission = Permission(False, "RolloutStopped", "stopped")
    world.advance(600)
    share = world.reconcile().rollout
    assert share is not None
    assert share.phase is Phase.FAILED
    world.secrets = good
    share = world.reconcile().rollout
    assert share is not None
    assert (share.phase, share.waits) == (Phase.RESTING, True)
    world.permission = GRANTED
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_the_operator_killed_in_the_middle_of_a_restart_finds_it_in_the_status() -> None:
    for kill in range(6):
        world = waiting()
        world.permission = GRANTED
        world.kill_after = world.writes + kill
        world.settle(60)
        assert images(world) == ["runtime:2"], kill
        assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_nobody_is_restarted_while_the_operator_cannot_see_whether_tasks_are_healthy() -> None:
    world = waiting()
    world.topic.trouble = "no broker answers"
    world.reconcile()
    world.advance(30)
    world.permission = GRANTED
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.condition("UpdatePending").startswith("True RolloutQueued: waiting until the operator can tell")


@pytest.mark.parametrize("unread", [{"trouble": "no broker answers"}, {"caught_up": False}], ids=["trouble", "start"])
def test_nobody_is_restarted_by_an_operator_that_does_not_read_the_status_topic_yet(unread: dict[str, Any]) -> None:
    world = waiting()
    vars(world.topic).update(unread)
    world.permission = GRANTED
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    vars(world.topic).update(trouble=None, caught_up=True)
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_a_last_plan_whose_image_is_no_longer_to_be_had_is_given_up_for_one_whose_is() -> None:
    world = waiting()
    world.vanish("orders-in-0-1")
    world.reconcile()
    world.reconcile()
    name = "orders-in-0-2"
    world.hinder(name, "ImagePullBackOff", "runtime:1 is not there")
    world.settle()
    assert images(world) == ["runtime:2"]


def test_a_connector_that_starts_for_the_first_time_waits_for_nobody() -> None:
    world = World(permission=TAKEN)
    world.settle()
    assert world.lives == ["orders-in-0-1"]


def test_the_record_of_a_restart_is_read_as_it_was_written() -> None:
    world = waiting()
    world.permission = GRANTED
    world.reconcile()
    record = world.facts().persisted.rollout
    assert record == RolloutRestart(world.facts().release.hash, world.now, counts=True)
