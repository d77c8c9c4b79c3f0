"""A pod whose container does not start, or that is evicted: the status names the cause, also where only an Event has it."""

from typing import Any

import pytest

from penstock_operator.connector.model.pod_status import JobPod, Phase
from penstock_operator.kubernetes.times import timestamp

from .world.world import World

MISSING = 'MountVolume.SetUp failed for volume "rules" : configmap "rules" not found'
PLAN = "orders-in-plan-"


@pytest.fixture
def world() -> World:
    """A connector whose job pod waits for a volume."""
    world = World()
    world.reconcile()
    world.hinder(plan_pod(world), "ContainerCreating", "")
    world.edit_pod(plan_pod(world), lambda pod: pod["spec"].update(nodeName="node-1"))
    return world


def plan_pod(world: World) -> str:
    (name,) = (name for name in world.pods if name.startswith(PLAN))
    return name


def warn(
    world: World, reason: str, note: str, *, at: float | None = None, name: str = "first", pod: str | None = None
) -> None:
    when = timestamp(world.now if at is None else at)
    regarding = {"uid": world.manifest(pod or plan_pod(world))["metadata"]["uid"]}
    kind = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": "shop"}}
    own = {"type": "Warning", "regarding": regarding, "deprecatedLastTimestamp": when, "reason": reason, "note": note}
    world.server.add({**kind, **own})


def test_a_pod_that_waits_is_looked_at_again_after_ten_seconds_and_then_twice_a_minute(world: World) -> None:
    assert world.reconcile().requeue_after == 10
    world.advance(10)
    assert world.reconcile().requeue_after == 30
    assert world.condition("Ready").startswith("False PodNotStarting: ContainerCreating for more than 10 s; kubectl")


def test_the_last_warning_about_it_names_the_cause(world: World) -> None:
    warn(world, "FailedScheduling", "0/1 nodes are available", name="scheduler")
    warn(world, "FailedMount", "an earlier cause", at=world.now - 60, name="earlier")
    warn(world, "FailedMount", MISSING)
    world.advance(10)
    world.reconcile()
    assert world.condition("Ready") == f"False PodNotStarting: FailedMount: {MISSING}"


def test_a_warning_that_is_not_repeated_any_more_counts_for_nothing(world: World) -> None:
    warn(world, "FailedMount", MISSING, at=world.now - 200)
    world.advance(10)
    world.reconcile()
    assert "ContainerCreating for more than 10 s" in world.condition("Ready")


def test_a_job_pod_that_ends_before_its_container_starts_is_not_asked_for_a_log(world: World) -> None:
    def fail(pod: Any) -> None:
        init = {"name": "fetch", "state": {"terminated": {"exitCode": 1}}}
        waiting = {"name": "job", "state": {"waiting": {"reason": "PodInitializing"}}}
        pod["status"] = {"phase": "Failed", "initContainerStatuses": [init], "containerStatuses": [waiting]}

    world.edit_pod(plan_pod(world), fail)
    pod = world.pods[plan_pod(world)]
    assert isinstance(pod, JobPod)
    assert pod.phase is Phase.ENDED
    world.reconcile()
    message = "False InitContainerFailed: init container fetch ended with exit code 1"
    assert world.condition("Ready") == message


def test_an_eviction_that_only_an_event_names_is_named() -> None:
    world = World(spec={"tasksMax": 1})
    world.settle()
    (task,) = world.pods
    world.end(task, 0, "Completed")
    warn(world, "Evicted", 'Usage of EmptyDir volume "work" exceeds the limit "1Mi". ', pod=task)
    world.reconcile()
    assert 'Evicted: Usage of EmptyDir volume "work" exceeds the limit "1Mi".; lost' in world.condition("Ready")
